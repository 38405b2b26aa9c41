package vertex

import (
	"context"
	"crypto"
	"crypto/tls"
	"io"
	"runtime"
	"sync"
	"time"
)

const (
	// turnWithin is how long a handshake waits for its turn before it goes on
	// without one: longer than a full queue takes, so that it bounds what
	// somebody can do who keeps turns from others.
	turnWithin = 250 * time.Millisecond
	// turnKept is how long a handshake may keep a turn while it computes. One
	// that takes longer waits, for its peer (HelloRetryRequest) or for a key that
	// is elsewhere.
	turnKept = 10 * time.Millisecond
)

// turns lets the costly steps of handshakes that others began take turns, on
// half of the processors and at least on one: Go's scheduler gives no
// priorities, so of the goroutines that are ready to run no more than these may
// belong to handshakes, or streams would wait behind all of them (VTX-14). It
// refuses nobody, and those who wait are served in the order in which they came.
type turns struct {
	taken chan struct{} // holds one for each turn that somebody has
}

func newTurns(places int) *turns { return &turns{taken: make(chan struct{}, places)} }

// turnPlaces is how many handshakes compute at once.
func turnPlaces() int { return max(1, runtime.GOMAXPROCS(0)/2) }

// take waits for a turn, and gives the function that ends it, which may be
// called more than once.
func (t *turns) take(ctx context.Context) (end func()) {
	if !t.wait(ctx) {
		return func() {}
	}
	return sync.OnceFunc(func() { <-t.taken })
}

func (t *turns) wait(ctx context.Context) bool {
	select {
	case t.taken <- struct{}{}:
		return true
	default:
	}
	timer := time.NewTimer(turnWithin)
	defer timer.Stop()
	select {
	case t.taken <- struct{}{}:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	return false
}

// lend is take for a step whose end may never be told: the turn ends at the
// latest with ctx, or when it has been kept for turnKept.
func (t *turns) lend(ctx context.Context) (end func()) {
	end = t.take(ctx)
	timer := time.AfterFunc(turnKept, end)
	context.AfterFunc(ctx, func() {
		timer.Stop()
		end()
	})
	return end
}

// lastStep is a certificate whose key ends a turn when it has signed, which is
// the last costly thing that an acceptor does before it waits for its peer.
func lastStep(c tls.Certificate, end func()) tls.Certificate {
	if key, ok := c.PrivateKey.(crypto.Signer); ok {
		c.PrivateKey = endingSigner{key, end}
	}
	return c
}

type endingSigner struct {
	crypto.Signer
	end func()
}

func (s endingSigner) Sign(rand io.Reader, digest []byte, opts crypto.SignerOpts) ([]byte, error) {
	defer s.end()
	return s.Signer.Sign(rand, digest, opts)
}
