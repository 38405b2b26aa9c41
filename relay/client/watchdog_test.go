package client

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"
)

// trickle gives one byte after each pause, and then ends.
type trickle struct {
	bytes int
	pause time.Duration
}

func (t *trickle) Read(p []byte) (int, error) {
	if t.bytes == 0 {
		return 0, io.EOF
	}
	time.Sleep(t.pause)
	t.bytes--
	return copy(p, "x"), nil
}

func (*trickle) Close() error { return nil }

// AGT-4.1: what moves may take as long as it needs, in both directions, and the
// last word has a time of its own.
func TestWhatMovesMayTakeLong(t *testing.T) {
	t.Parallel()
	const patience, verdict = 30 * time.Second, 2 * time.Minute
	cases := map[string]struct {
		through func(*watchdog, *trickle) io.Reader
		rest    time.Duration
		while   string
	}{
		"a tree that is sent": {
			func(d *watchdog, from *trickle) io.Reader { return d.upload(from, patience, verdict) },
			verdict, "waiting for the verdict",
		},
		"an answer that is read": {
			func(d *watchdog, from *trickle) io.Reader { return d.body(from, patience) },
			patience, "reading the answer",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, dog := watch(t.Context(), patience, "starting")
				defer dog.stop()
				moving := c.through(dog, &trickle{bytes: 10, pause: patience - time.Second})
				if n, err := io.Copy(io.Discard, moving); n != 10 || err != nil || ctx.Err() != nil {
					t.Fatalf("%d bytes, %v, %v", n, err, context.Cause(ctx))
				}
				ended := time.Now()
				<-ctx.Done()
				var still *stall
				if !errors.As(context.Cause(ctx), &still) || still.while != c.while || time.Since(ended) != c.rest {
					t.Errorf("ended after %v by %v, want %v while %s", time.Since(ended), context.Cause(ctx), c.rest, c.while)
				}
			})
		})
	}
}
