package agent

import (
	"context"
	"slices"
	"sync"

	"github.com/florete/flor/relay/client"
	"github.com/florete/flor/supervise/control"
)

// request is one wish for a sync, with everybody who waits for it.
type request struct {
	trigger string
	dryRun  bool
	// doc is a set document that was handed in (AGT-6); nil means fetch.
	doc []byte
	// reply is the answer of the watch that made this request.
	reply *client.Reply
	// done is closed when result is set.
	done   chan struct{}
	result outcome
}

// finish tells everybody who waits.
func (r *request) finish(result outcome) {
	r.result = result
	close(r.done)
}

// queue holds the requests that no sync has taken up yet. Requests of one sort
// coalesce: all that arrive while a sync runs are served by one more (AGT-4).
// Documents do not coalesce, since each is another set. It is safe for
// concurrent use.
type queue struct {
	mu      sync.Mutex
	pending []*request
	closed  bool
	// arrived has room for one token, put there with each request.
	arrived chan struct{}
	// giveWay ends the fetch that is under way, nil when none is.
	giveWay context.CancelFunc
}

func newQueue() *queue { return &queue{arrived: make(chan struct{}, 1)} }

// add enters a wish, or joins one that is waiting already. On a closed queue
// the request is finished at once.
func (q *queue) add(trigger string, dryRun bool, doc []byte) *request {
	q.mu.Lock()
	defer q.mu.Unlock()
	if doc == nil {
		for _, r := range q.pending {
			if r.doc == nil && r.dryRun == dryRun {
				return r
			}
		}
	}
	r := &request{trigger: trigger, dryRun: dryRun, doc: doc, done: make(chan struct{})}
	if q.closed {
		r.finish(stopping(r))
		return r
	}
	q.pending = append(q.pending, r)
	if doc != nil && q.giveWay != nil {
		q.giveWay()
	}
	q.signal()
	return r
}

// again enters a request that has given way; on a closed queue it is finished.
func (q *queue) again(r *request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		r.finish(stopping(r))
		return
	}
	q.pending = append(q.pending, r)
	q.signal()
}

// fetching gives a context for a fetch, which ends when a document is handed
// in: a relay that takes its time must not keep the way in closed (AGT-6). The
// caller calls fetched after the fetch, and is told whether it gave way.
func (q *queue) fetching(ctx context.Context) (_ context.Context, fetched func() (gaveWay bool)) {
	held, cancel := context.WithCancel(ctx)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.giveWay = cancel
	if slices.ContainsFunc(q.pending, func(r *request) bool { return r.doc != nil }) {
		cancel()
	}
	return held, func() bool {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.giveWay = nil
		gaveWay := held.Err() != nil && ctx.Err() == nil
		cancel()
		return gaveWay
	}
}

func (q *queue) signal() {
	select {
	case q.arrived <- struct{}{}:
	default:
	}
}

// take gives the oldest request, nil when there is none.
func (q *queue) take() *request {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.pending) == 0 {
		return nil
	}
	r := q.pending[0]
	q.pending = q.pending[1:]
	if len(q.pending) > 0 {
		q.signal()
	}
	return r
}

// close finishes what waits and refuses what comes.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	for _, r := range q.pending {
		r.finish(stopping(r))
	}
	q.pending = nil
}

func stopping(r *request) outcome {
	o := outcome{SyncResult: control.SyncResult{Trigger: r.trigger, DryRun: r.dryRun}}
	return o.fail(control.Failed, refuse(Stopping, "the agent is stopping, this sync was not done"))
}
