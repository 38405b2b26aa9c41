package relay

import (
	"context"
	"net/http"
	"sync"
	"time"
)

// watches knows who waits for which node, so that a publish wakes only those
// whose node changed (CRD-6). The zero value is ready.
type watches struct {
	mu     sync.Mutex
	byNode map[string]map[*watcher]struct{}
	held   int
}

// watcher is one held request. Its channel has room for one wake-up, so that
// waking never waits for a slow one.
type watcher struct{ woken chan struct{} }

func (ws *watches) add(node string) *watcher {
	w := &watcher{woken: make(chan struct{}, 1)}
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if ws.byNode == nil {
		ws.byNode = make(map[string]map[*watcher]struct{})
	}
	if ws.byNode[node] == nil {
		ws.byNode[node] = make(map[*watcher]struct{}, 1)
	}
	ws.byNode[node][w] = struct{}{}
	ws.held++
	return w
}

func (ws *watches) remove(node string, w *watcher) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	delete(ws.byNode[node], w)
	ws.held--
	if len(ws.byNode[node]) == 0 {
		delete(ws.byNode, node)
	}
}

func (ws *watches) count() int {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	return ws.held
}

// wake tells everybody who waits for one of these nodes to look again.
func (ws *watches) wake(nodes []string) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	for _, node := range nodes {
		for w := range ws.byNode[node] {
			select {
			case w.woken <- struct{}{}:
			default:
			}
		}
	}
}

// hold keeps a question open until its answer says something new, its time is
// over, the relay drains or the client leaves (CRD-1, CRD-6). first is the answer
// that is held back: what changes between it and the moment from which changes are
// told is news as well.
func (r *Relay) hold(ctx context.Context, f fetch, first *answer) *answer {
	if r.isDraining() {
		return answerDraining
	}
	w := r.watches.add(f.node)
	defer r.watches.remove(f.node, w)
	timer := time.NewTimer(f.wait)
	defer timer.Stop()
	for {
		now := f.judge(r.now.Load())
		if isNews(first, now) {
			return now
		}
		select {
		case <-w.woken:
		case <-timer.C:
			return f.judge(r.now.Load())
		case <-r.draining:
			return f.judge(r.now.Load())
		case <-ctx.Done():
			return f.judge(r.now.Load()).forWhoLeft()
		}
	}
}

// isNews tells whether a held answer is given now: a set always, and whatever
// else is another answer than the one that was held back. So a node that holds
// what the first publish brings learns it then, and does not report "nothing is
// published" until its wait is over.
func isNews(first, now *answer) bool {
	return now.status == http.StatusOK || now.status != first.status
}
