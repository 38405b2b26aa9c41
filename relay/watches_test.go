package relay

import (
	"context"
	"net/http"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// CRD-6: a publish wakes those who wait for a node that changed and no one else:
// whoever is woken for nothing finds that nothing is new and shows nobody that he
// was.
func TestOnlyWatchersOfWhatChangedAreWoken(t *testing.T) {
	t.Parallel()
	r, err := New(context.Background(), new(Memory), Options{})
	if err != nil {
		t.Fatal(err)
	}
	mustPublish(t, r, treeAt(t, map[string]uint64{"altered": 1, "removed": 1, "kept": 1}))
	woken := map[string]*watcher{}
	for _, node := range []string{"altered", "removed", "added", "kept", "absent"} {
		woken[node] = r.watches.add(node)
	}
	mustPublish(t, r, treeAt(t, map[string]uint64{"altered": 2, "added": 1, "kept": 1}))
	for node, w := range woken {
		want := 1
		if node == "kept" || node == "absent" {
			want = 0
		}
		if got := len(w.woken); got != want {
			t.Errorf("the watcher of the node that was %s was woken %d times, want %d", node, got, want)
		}
	}
}

// CRD-6: whoever is woken looks at the new tree, because it is visible before the
// first is told. Here nobody can be told until it is.
func TestATreeIsVisibleBeforeAnybodyIsWoken(t *testing.T) {
	t.Parallel()
	r, err := New(context.Background(), new(Memory), Options{})
	if err != nil {
		t.Fatal(err)
	}
	next := &snapshot{tree: treeAt(t, map[string]uint64{"alpha": 1})}
	r.watches.mu.Lock()
	var publisher sync.WaitGroup
	publisher.Go(func() { r.show(next, []string{"alpha"}) })
	for end := time.Now().Add(10 * time.Second); r.now.Load() != next; runtime.Gosched() {
		if time.Now().After(end) {
			t.Error("it wakes before it shows")
			break
		}
	}
	r.watches.mu.Unlock()
	publisher.Wait()
}

// CRD-1: a node that leaves the tree after the question was judged and before its
// watch begins is news: the answer that was held back counts, and not the first
// one that the watch sees.
func TestAChangeBeforeTheWatchBeginsIsNews(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, err := New(context.Background(), new(Memory), Options{})
		if err != nil {
			t.Fatal(err)
		}
		mustPublish(t, r, treeAt(t, map[string]uint64{"alpha": 1, "beta": 1}))
		question := fetch{node: "alpha", have: 1, wait: time.Minute}
		heldBack := question.judge(r.now.Load())
		mustPublish(t, r, treeAt(t, map[string]uint64{"beta": 1}))
		begun := time.Now()
		got := r.hold(t.Context(), question, heldBack)
		if got.status != http.StatusNotFound || time.Since(begun) != 0 {
			t.Errorf("%d after %s", got.status, time.Since(begun))
		}
	})
}

// CRD-1, CRD-6: however a watch ends, it is told what is true then, and not what was
// held back: a publish may be visible whose wake-up has not come yet.
func TestTheEndOfAWatchTellsWhatIsTrueThen(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(r *Relay, leave func()){
		"the relay drains": func(r *Relay, _ func()) { r.Drain() },
		"its client left":  func(_ *Relay, leave func()) { leave() },
		"its time is over": func(*Relay, func()) {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r, err := New(context.Background(), new(Memory), Options{})
				if err != nil {
					t.Fatal(err)
				}
				mustPublish(t, r, treeAt(t, map[string]uint64{"alpha": 1}))
				question := fetch{node: "alpha", have: 1, wait: time.Minute}
				ctx, leave := context.WithCancel(t.Context())
				defer leave()
				var told *answer
				var watch sync.WaitGroup
				watch.Go(func() { told = r.hold(ctx, question, answerNotModified) })
				synctest.Wait()
				r.now.Store(&snapshot{tree: treeAt(t, map[string]uint64{"alpha": 2})})
				end(r, leave)
				watch.Wait()
				if told.status != http.StatusOK {
					t.Errorf("%d, want the set that is published", told.status)
				}
			})
		})
	}
}

// CRD-6: names that were asked for once, whatever they are, leave nothing behind.
func TestNoTraceOfAWatchIsLeft(t *testing.T) {
	t.Parallel()
	var ws watches
	one, two := ws.add("alpha"), ws.add("alpha")
	ws.remove("alpha", one)
	if len(ws.byNode["alpha"]) != 1 {
		t.Error("with one watcher the other went, too")
	}
	ws.remove("alpha", two)
	if len(ws.byNode) != 0 || ws.count() != 0 {
		t.Errorf("%d nodes and %d watchers are left", len(ws.byNode), ws.count())
	}
}

// CRD-10: what another relay has stored wakes here whom it would have woken there:
// of a node that has left the tree, too.
func TestTheDifferenceOfTreesIsWhatAPublishChanges(t *testing.T) {
	t.Parallel()
	before := treeAt(t, map[string]uint64{"altered": 1, "removed": 1, "kept": 1})
	after := treeAt(t, map[string]uint64{"altered": 2, "added": 1, "kept": 1})
	got := difference(before, after)
	slices.Sort(got)
	if want := []string{"added", "altered", "removed"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
