package vertex

import (
	"context"
	"sync/atomic"
	"time"
)

// outcome is how an attempt to open a stream ended.
type outcome struct {
	leg *streamLeg
	err error
}

// hedge runs an attempt on a pooled connection and, once that connection is
// suspect, one on a fresh connection beside it. Whichever answers first wins;
// the other one is taken back (VTX-5).
type hedge struct {
	suspectIn func() time.Duration
	pooled    func(context.Context) (*streamLeg, error)
	fresh     func(context.Context) (*streamLeg, error)
	won       atomic.Bool
	failed    chan struct{} // closed when the pooled attempt is over without success
}

func newHedge(suspectIn func() time.Duration, pooled, fresh func(context.Context) (*streamLeg, error)) *hedge {
	return &hedge{suspectIn: suspectIn, pooled: pooled, fresh: fresh, failed: make(chan struct{})}
}

// race returns the winner. It waits for everything that it started.
func (h *hedge) race(ctx context.Context, run func(func())) (*streamLeg, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	beside := make(chan outcome, 1)
	timer := time.AfterFunc(h.suspectIn(), func() {
		run(func() { beside <- h.watch(ctx, cancel) })
	})
	leg, err := h.claim(h.pooled(ctx))
	if timer.Stop() {
		return leg, err
	}
	if err == nil {
		cancel()
	} else {
		close(h.failed)
	}
	second := <-beside
	if err != nil && second.leg != nil {
		return second.leg, nil
	}
	return leg, err
}

// watch waits until the pooled connection is suspect and then makes the fresh
// attempt; when that wins, it calls the pooled one off.
func (h *hedge) watch(ctx context.Context, callOff func()) outcome {
	for wait := h.suspectIn(); wait > 0; wait = h.suspectIn() {
		select {
		case <-time.After(wait):
		case <-h.failed:
			return outcome{err: context.Canceled}
		case <-ctx.Done():
			return outcome{err: ctx.Err()}
		}
	}
	leg, err := h.claim(h.fresh(ctx))
	if err == nil {
		callOff()
	}
	return outcome{leg, err}
}

// claim makes an attempt that succeeded the winner, unless there is one.
func (h *hedge) claim(leg *streamLeg, err error) (*streamLeg, error) {
	if err != nil {
		return nil, err
	}
	if h.won.CompareAndSwap(false, true) {
		return leg, nil
	}
	leg.Abort()
	_ = leg.Close()
	return nil, context.Canceled
}
