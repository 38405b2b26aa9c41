package vertex

import (
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// flow is one TCP connection's way through this vertex: two legs and what
// became of them.
type flow struct {
	pair
	near, far leg // near is the initiator's side
	cause     atomic.Uint32
	broken    atomic.Uint32      // why what carried a leg has ended
	up, down  prometheus.Counter // bytes from the initiator, and to it
}

// run copies in both directions until both have ended, and tells why (VTX-7).
// It takes one goroutine beside the caller's and returns after it has ended.
func (f *flow) run() Reason {
	defer f.near.onEnd(func(r Reason) { f.interrupt(r, f.far) })()
	defer f.far.onEnd(func(r Reason) { f.interrupt(r, f.near) })()
	var back sync.WaitGroup
	back.Go(func() { f.pump(f.near, f.far, f.down) })
	f.pump(f.far, f.near, f.up)
	back.Wait()
	_ = f.near.Close()
	_ = f.far.Close()
	f.cause.CompareAndSwap(0, uint32(Completed))
	return Reason(f.cause.Load())
}

// end aborts the flow for a reason; the first reason counts.
func (f *flow) end(r Reason) {
	if broken := f.broken.Load(); broken != 0 {
		r = Reason(broken)
	}
	f.cause.CompareAndSwap(0, uint32(r))
	f.near.Abort()
	f.far.Abort()
}

// look ends a flow of which a leg was aborted while nobody was reading it.
func (f *flow) look() {
	for _, l := range []leg{f.near, f.far} {
		if r := l.gone(); r != 0 {
			f.end(r)
			return
		}
	}
}

// interrupt wakes a direction that waits for bytes which could no longer be
// carried anywhere. One that still writes what had arrived is let alone.
func (f *flow) interrupt(r Reason, reading leg) {
	f.broken.CompareAndSwap(0, uint32(r))
	_ = reading.SetReadDeadline(time.Unix(1, 0))
}

// pump copies one direction. EOF becomes FIN and leaves the other direction
// alone; anything else aborts both.
func (f *flow) pump(dst, src leg, count prometheus.Counter) {
	end := transfer(dst, src, count)
	if end == Completed {
		end = finish(dst)
	}
	if end != Completed {
		f.end(end)
	}
}

func finish(l leg) Reason {
	if err := l.CloseWrite(); err != nil {
		return l.blame(err)
	}
	return Completed
}

// transfer copies until EOF, which is Completed, or until something breaks.
func transfer(dst, src leg, count prometheus.Counter) Reason {
	var c chunk
	for {
		if end := step(dst, src, &c, count); end != 0 {
			return end
		}
	}
}

// step is one read, and the write of what it brought.
func step(dst, src leg, c *chunk, count prometheus.Counter) Reason {
	n, err := src.receive(c)
	defer c.give(n)
	if n > 0 {
		count.Add(float64(n))
		if _, werr := dst.Write(c.take()[:n]); werr != nil {
			return dst.blame(werr)
		}
	}
	switch err {
	case nil:
		return 0
	case io.EOF:
		return Completed
	}
	return src.blame(err)
}

// localFlow is a flow that never leaves this vertex. It has no connection
// that the guard could close, so it carries its bound itself (VTX-8, VTX-11).
type localFlow struct {
	limits bound
	flow   *flow
}

func (l *localFlow) bounds() bound { return l.limits }

func (l *localFlow) end(r Reason) { l.flow.end(r) }
