package relay_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/florete/flor/relay"
)

// held is a question that is being held in a synctest bubble.
type held struct {
	done   chan struct{}
	status int
	body   string
	took   time.Duration
}

func (h *harness) ask(ctx context.Context, target string) *held {
	q := &held{done: make(chan struct{})}
	begun := time.Now()
	go func() {
		defer close(q.done)
		q.status, q.body = h.get(ctx, target)
		q.took = time.Since(begun)
	}()
	synctest.Wait()
	return q
}

func (q *held) answered() bool {
	synctest.Wait()
	select {
	case <-q.done:
		return true
	default:
		return false
	}
}

// CRD-1: what happens to a held question, by what it asked and what is published
// while it is held.
func TestHeldAnswers(t *testing.T) {
	t.Parallel()
	a := func(version uint64) [][]byte { return nodeSet("alpha", version, "a") }
	b := func(version uint64) [][]byte { return nodeSet("beta", version, "b") }
	type sets = [][][]byte
	cases := map[string]struct {
		before, during sets
		target         string
		status         int
		after          time.Duration // 0: as soon as during is published
	}{
		"a newer version is served at once":                 {sets{a(1), b(1)}, sets{a(2), b(1)}, "alpha?have=1&wait=30", 200, 0},
		"a node that leaves the tree is told at once":       {sets{a(1), b(1)}, sets{b(1)}, "alpha?have=1&wait=30", 404, 0},
		"a node that appears is served at once":             {sets{b(1)}, sets{a(1), b(1)}, "alpha?wait=30", 200, 0},
		"the first publish is served at once":               {nil, sets{a(1)}, "alpha?wait=30", 200, 0},
		"nothing new is told when the time is over":         {sets{a(1)}, nil, "alpha?have=1&wait=30", 304, 30 * time.Second},
		"the time is cut to a minute":                       {sets{a(1)}, nil, "alpha?have=1&wait=4294967296", 304, time.Minute},
		"an unknown node is told when the time is over":     {sets{a(1)}, nil, "beta?wait=7", 404, 7 * time.Second},
		"nothing published is told in the end":              {nil, nil, "beta?wait=7", 503, 7 * time.Second},
		"another node's news are no news":                   {sets{a(1), b(1)}, sets{a(1), b(2)}, "alpha?have=1&wait=30", 304, 30 * time.Second},
		"the first publish without the node is no news":     {nil, sets{b(1)}, "alpha?wait=30", 404, 30 * time.Second},
		"the first publish of what is held is told at once": {nil, sets{a(1)}, "alpha?have=1&wait=30", 304, 0},
		"a node that appears with what it holds is told":    {sets{b(1)}, sets{a(1), b(1)}, "alpha?have=1&wait=30", 304, 0},
		"the same tree again is no news":                    {sets{a(1)}, sets{a(1)}, "alpha?have=1&wait=30", 304, 30 * time.Second},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := newHarness(t, new(relay.Memory))
				if c.before != nil {
					h.mustPost(document(c.before...))
				}
				q := h.ask(t.Context(), "/artifact/mgmt/"+c.target)
				if q.answered() {
					t.Fatalf("answered at once: %d", q.status)
				}
				if c.during != nil {
					h.mustPost(document(c.during...))
				}
				if got := q.answered(); got != (c.after == 0) {
					t.Fatalf("answered after the publish: %v", got)
				}
				<-q.done
				if q.status != c.status || q.took != c.after {
					t.Errorf("%d after %s, want %d after %s", q.status, q.took, c.status, c.after)
				}
			})
		})
	}
}

// CRD-6: at SIGTERM whoever waits is answered at once, and nobody new may wait;
// who need not wait is served on.
func TestDrainAnswersHeldQuestionsAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, new(relay.Memory))
		h.mustPost(document(nodeSet("alpha", 1, "a")))
		current := h.ask(t.Context(), "/artifact/mgmt/alpha?have=1&wait=60")
		unknown := h.ask(t.Context(), "/artifact/mgmt/beta?wait=60")
		h.Drain()
		h.Drain() // twice is once
		late := h.ask(t.Context(), "/artifact/mgmt/alpha?have=1&wait=60")
		poll := h.ask(t.Context(), "/artifact/mgmt/alpha?have=1")
		news := h.ask(t.Context(), "/artifact/mgmt/alpha?wait=60")
		got := map[string]int{}
		for name, q := range map[string]*held{"current": current, "unknown": unknown, "late": late, "poll": poll, "news": news} {
			if !q.answered() || q.took != 0 {
				t.Fatalf("%s is still held", name)
			}
			got[name] = q.status
		}
		want := map[string]int{"current": 304, "unknown": 404, "late": 503, "poll": 304, "news": 200}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if want := `{"error":"draining"}`; late.body != want {
			t.Errorf("%s, want %s", late.body, want)
		}
	})
}

// CRD-6: whoever leaves is forgotten at once; what is written to him is true.
func TestAHeldQuestionEndsWithItsClient(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, new(relay.Memory))
		ctx, leave := context.WithCancel(t.Context())
		q := h.ask(ctx, "/artifact/mgmt/alpha?wait=60")
		leave()
		if !q.answered() || q.took != 0 || q.status != 503 {
			t.Errorf("answered %v after %s with %d", q.answered(), q.took, q.status)
		}
		if held := relay.Watching(h.Relay); held != 0 {
			t.Errorf("%d are held", held)
		}
	})
}

// CRD-1: whoever has nothing more to say and closes his half of the connection
// while he is held reads an answer of the protocol, and no empty 200.
func TestWhoClosesHisHalfIsAnswered(t *testing.T) {
	t.Parallel()
	h := newHarness(t, new(relay.Memory))
	h.mustPost(document(nodeSet("alpha", 1, "a")))
	sync, _ := h.listen()
	for target, want := range map[string]int{"alpha?have=1&wait=60": 304, "beta?wait=60": 404, "alpha?wait=60": 200} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(sync, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprintf(conn, "GET /artifact/mgmt/%s HTTP/1.1\r\nHost: x\r\n\r\n", target)
		if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != want || resp.Header.Get("Flor-Wait") == "" {
			t.Errorf("%s: %d, want %d", target, resp.StatusCode, want)
		}
	}
}

// CRD-6: a publish answers those who watch a node that changed, all of them and
// nobody else.
func TestAPublishWakesAllWatchersOfWhatChanged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const nodes, each = 40, 5
		h := newHarness(t, new(relay.Memory))
		tree := func(moved int) []byte {
			var sets [][][]byte
			for n := range nodes {
				version := uint64(1)
				if n < moved {
					version = 2
				}
				sets = append(sets, nodeSet(fmt.Sprintf("n%d", n), version, "x"))
			}
			return document(sets...)
		}
		h.mustPost(tree(0))
		var group sync.WaitGroup
		results := make([]int, nodes*each)
		for i := range results {
			group.Go(func() {
				results[i], _ = h.get(t.Context(), fmt.Sprintf("/artifact/mgmt/n%d?have=1&wait=60", i/each))
			})
		}
		synctest.Wait()
		h.mustPost(tree(10))
		group.Wait()
		for i, status := range results {
			want := 304
			if i/each < 10 {
				want = 200
			}
			if status != want {
				t.Errorf("watcher %d of n%d: %d, want %d", i%each, i/each, status, want)
			}
		}
	})
}
