package vertex

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"
)

// pool keeps the QUIC connections of one pair that this vertex dialled.
type pool struct {
	dial     func() (*session, error) // with a time limit of its own
	run      func(func())             // starts a goroutine that the vertex waits for
	perConn  int
	maxConns int

	mu       sync.Mutex
	sessions []*session // the newest last
	dialling *dialCall
}

// dialCall is a dial that several requests wait for.
type dialCall struct {
	done    chan struct{}
	session *session
	err     error
}

// result is the error of a dial that is done: that of the handshake, or that
// with which the peer closed the connection right after it, as it does to an
// initiator that it does not allow.
func (c *dialCall) result() error {
	if c.err == nil && c.session.closed() {
		return context.Cause(c.session.conn.Context())
	}
	return c.err
}

// spreadOver is over how many connections of a pair streams are spread, where
// they are. The rest of what a peer allows is for connections that replace one
// that is suspect or retired, and a peer that many reach from afar has to hold
// these.
const spreadOver = 4

// pick reserves a stream on a connection that was made after notBefore, or
// gives nil: on the newest one with room, and rather on one that is not busy.
// Where all are busy, another one is dialled for those that come later.
func (p *pool) pick(notBefore time.Time) *session {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pickLocked(notBefore)
}

func (p *pool) pickLocked(notBefore time.Time) *session {
	far := p.far()
	if s := p.newest(notBefore, func(s *session) bool { return !s.busy(far) }); s != nil {
		return s
	}
	s := p.emptiest(notBefore)
	if s != nil && p.dialling == nil && p.madeAfter(notBefore) < min(spreadOver, p.maxConns) {
		p.start()
	}
	return s
}

// far tells whether the path to the peer is a long one. All connections of a
// pair take the same path, so one that has been answered quickly once denies it:
// a machine that is busy delays many answers, but not every one.
func (p *pool) far() bool {
	measured := false
	for _, s := range p.sessions {
		stats := s.conn.ConnectionStats()
		if stats.MinRTT < farFrom {
			return false
		}
		measured = measured || stats.PacketsReceived >= farAfter
	}
	return measured
}

// emptiest reserves a stream on the connection that has fewest of them.
func (p *pool) emptiest(notBefore time.Time) *session {
	byStreams := slices.SortedFunc(slices.Values(p.sessions), func(a, b *session) int {
		return cmp.Compare(a.load(), b.load())
	})
	for _, s := range byStreams {
		if !s.born.Before(notBefore) && s.usable() && s.reserve(p.perConn) {
			return s
		}
	}
	return nil
}

func (p *pool) newest(notBefore time.Time, suits func(*session) bool) *session {
	for _, s := range slices.Backward(p.sessions) {
		if !s.born.Before(notBefore) && s.usable() && suits(s) && s.reserve(p.perConn) {
			return s
		}
	}
	return nil
}

// acquire reserves a stream as pick does, and dials where it has to. Requests
// that come while a dial is under way share it.
func (p *pool) acquire(ctx context.Context, notBefore time.Time) (*session, error) {
	for {
		s, call, err := p.join(notBefore)
		if s != nil || err != nil {
			return s, err
		}
		select {
		case <-call.done:
		case <-ctx.Done():
			return nil, &Error{Reason: NoAnswer, Err: ctx.Err()}
		}
		if err := call.result(); err != nil {
			return nil, err
		}
	}
}

func (p *pool) join(notBefore time.Time) (*session, *dialCall, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.pickLocked(notBefore); s != nil {
		return s, nil, nil
	}
	if p.dialling == nil {
		if p.madeAfter(notBefore) >= p.maxConns {
			return nil, nil, &Error{Reason: TooMany}
		}
		p.start()
	}
	return nil, p.dialling, nil
}

// madeAfter counts connections. Those that a request passes over because they
// may be dead do not keep it from dialling, and neither do those of flor/1,
// which carry one stream each.
func (p *pool) madeAfter(notBefore time.Time) int {
	n := 0
	for _, s := range p.sessions {
		if !s.born.Before(notBefore) && !s.raw {
			n++
		}
	}
	return n
}

// start dials in the background; the caller holds the lock.
func (p *pool) start() {
	call := &dialCall{done: make(chan struct{})}
	p.dialling = call
	p.run(func() {
		call.session, call.err = p.dial()
		p.mu.Lock()
		defer p.mu.Unlock()
		if call.err == nil && call.session.usable() {
			p.sessions = append(p.sessions, call.session)
		}
		p.dialling = nil
		close(call.done)
	})
}

// remove takes a connection out: no new stream goes to it.
func (p *pool) remove(s *session) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.removeLocked(s)
}

func (p *pool) removeLocked(s *session) {
	p.sessions = slices.DeleteFunc(p.sessions, func(have *session) bool { return have == s })
}

// dropIdle takes a connection out if it has carried nothing for d. Taking a
// stream on it and this exclude each other.
func (p *pool) dropIdle(s *session, now time.Time, d time.Duration) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !s.idle(now, d) {
		return false
	}
	p.removeLocked(s)
	return true
}
