package client

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"
)

// stall is the cause of a context that a watchdog ended.
type stall struct {
	while string
	after time.Duration
}

func (s *stall) Error() string { return fmt.Sprintf("nothing moved for %s", s.after) }

// watchdog ends a call that makes no progress: whoever moves a byte grants it
// more time. It counts no total, so that a slow link may take as long as it
// needs (AGT-4.1).
type watchdog struct {
	cancel context.CancelCauseFunc
	timer  *time.Timer

	mu   sync.Mutex
	last stall
}

func watch(parent context.Context, first time.Duration, while string) (context.Context, *watchdog) {
	ctx, cancel := context.WithCancelCause(parent)
	d := &watchdog{cancel: cancel, last: stall{while: while, after: first}}
	d.timer = time.AfterFunc(first, d.bite)
	return ctx, d
}

func (d *watchdog) bite() {
	d.mu.Lock()
	cause := d.last
	d.mu.Unlock()
	d.cancel(&cause)
}

// grant gives the call this much time from now.
func (d *watchdog) grant(patience time.Duration, while string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.last = stall{while: while, after: patience}
	d.timer.Reset(patience)
}

func (d *watchdog) stop() {
	d.timer.Stop()
	d.cancel(nil)
}

// body grants patience anew for each piece of an answer that arrives.
func (d *watchdog) body(r io.ReadCloser, patience time.Duration) io.ReadCloser {
	return struct {
		io.Reader
		io.Closer
	}{&watched{r: r, moved: func() { d.grant(patience, "reading the answer") }}, r}
}

// upload grants patience for each piece that leaves, and verdict for the answer
// once all of it has left.
func (d *watchdog) upload(r io.Reader, patience, verdict time.Duration) io.Reader {
	return &watched{
		r:     r,
		moved: func() { d.grant(patience, "sending the tree") },
		ended: func() { d.grant(verdict, "waiting for the verdict") },
	}
}

type watched struct {
	r            io.Reader
	moved, ended func()
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.r.Read(p)
	if n > 0 {
		w.moved()
	}
	if err == io.EOF && w.ended != nil {
		w.ended()
	}
	return n, err
}
