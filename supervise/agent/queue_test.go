package agent

import "testing"

// AGT-4: requests during one sync coalesce into one more.
func TestRequestsOfOneSortCoalesce(t *testing.T) {
	t.Parallel()
	q := newQueue()
	first := q.add("request", false, nil)
	if q.add("request", false, nil) != first {
		t.Error("two plain requests did not coalesce")
	}
	dry := q.add("request", true, nil)
	if dry == first {
		t.Error("a dry run coalesced with a sync")
	}
	doc := q.add("file", false, []byte("{}"))
	if doc == first || q.add("file", false, []byte("{}")) == doc {
		t.Error("documents coalesced")
	}
	if q.take() != first || q.take() != dry || q.take() != doc {
		t.Error("requests are not taken in order")
	}
	if q.add("request", false, nil) == first {
		t.Error("a request joined one that is being served")
	}
}

func TestAClosedQueueAnswersEverybody(t *testing.T) {
	t.Parallel()
	q := newQueue()
	waiting := q.add("request", false, nil)
	q.close()
	<-waiting.done
	late := q.add("request", false, nil)
	<-late.done
	if waiting.result.Reason != string(Stopping) || late.result.Reason != string(Stopping) {
		t.Errorf("results: %q, %q", waiting.result.Reason, late.result.Reason)
	}
}
