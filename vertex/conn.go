package vertex

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"

	"github.com/spiffe/go-spiffe/v2/spiffeid"
)

// Conn is a connection of a program that embeds a vertex (VTX-17). It is a
// net.Conn with the ends of TCP: CloseWrite is FIN, Abort is RST. Like any
// net.Conn it may be used by several goroutines at once, and must be closed: a
// vertex waits for the connections that were dialled on it when Run ends.
// Deadlines and addresses are those of net.Conn, too; an address says where the
// packets go, and [Conn.Peer] who is there.
type Conn struct {
	leg
	pair
	own            spiffeid.ID
	sent, received counter
	reason         atomic.Uint32
	done           func(Reason)
	once           sync.Once
}

// counter is what counts bytes; the end that was accepted has none, since the
// flow that leads to it is counted already.
type counter interface{ Add(float64) }

type uncounted struct{}

func (uncounted) Add(float64) {}

// Peer is the proven SPIFFE ID at the other end: the target of a connection
// that was dialled, the initiator of one that was accepted.
func (c *Conn) Peer() spiffeid.ID {
	if c.own == c.initiator {
		return c.target
	}
	return c.initiator
}

// Reason says why the connection ended, as far as Read and Write have found
// out; zero means that it has not.
func (c *Conn) Reason() Reason { return Reason(c.reason.Load()) }

// Read is that of net.Conn. io.EOF means that the peer ended its direction
// cleanly; an abort is another error, and [Conn.Reason] tells which.
func (c *Conn) Read(p []byte) (int, error) {
	n, err := c.leg.Read(p)
	c.received.Add(float64(n))
	c.failed(err)
	return n, err
}

// Write is that of net.Conn.
func (c *Conn) Write(p []byte) (int, error) {
	n, err := c.leg.Write(p)
	c.sent.Add(float64(n))
	c.failed(err)
	return n, err
}

// failed notes why a read or a write found the connection ended. A clean end is
// only one of two, and a deadline that is over is no end at all.
func (c *Conn) failed(err error) {
	if err == nil || err == io.EOF || errors.Is(err, os.ErrDeadlineExceeded) {
		return
	}
	c.note(c.blame(err))
}

// CloseWrite ends this direction cleanly: the peer reads io.EOF after all that
// was written, and may go on sending.
func (c *Conn) CloseWrite() error { return c.leg.CloseWrite() }

func (c *Conn) note(r Reason) { c.reason.CompareAndSwap(0, uint32(r)) }

// Abort ends both directions so that the peer sees a reset.
func (c *Conn) Abort() {
	c.note(ClosedLocally)
	c.leg.Abort()
	_ = c.Close()
}

// Close ends the connection. What the peer has sent and nobody read is lost,
// and a peer that goes on sending sees a reset.
func (c *Conn) Close() error {
	c.note(Completed) // before a reader who is woken by it can blame the peer
	err := c.leg.Close()
	c.once.Do(func() { c.done(c.Reason()) })
	return err
}

// Dial connects a local principal to a target under the same rules as a
// SOCKS5 client's request (VTX-10, VTX-17). It takes at most 10 s, or until ctx
// is done; a connection that has been made does not depend on ctx. The error is
// an *Error: NoTransport before [Vertex.Run], which is why a program calls
// [Vertex.WaitReady] first, VertexStopping once the vertex drains, and ClientLeft
// or NoAnswer, with the error of ctx below it, where ctx was done.
func (v *Vertex) Dial(ctx context.Context, initiator, target spiffeid.ID) (*Conn, error) {
	p := pair{initiator, target}
	leave, ok := v.enter()
	if !ok {
		return nil, v.away(p)
	}
	way, err := v.openFor(ctx, p)
	if err != nil {
		leave()
		return nil, err
	}
	return v.newConn(way, p, leave), nil
}

// openFor opens a way for a caller who may give up.
func (v *Vertex) openFor(ctx context.Context, p pair) (opened, error) {
	if ctx.Err() != nil {
		return opened{}, gaveUp(ctx, p)
	}
	way, err := v.open(ctx, p)
	if err != nil && ctx.Err() != nil {
		return opened{}, gaveUp(ctx, p)
	}
	return way, err
}

// gaveUp is the error for a caller whose context is done.
func gaveUp(ctx context.Context, p pair) *Error {
	e := &Error{Reason: ClientLeft, From: p.initiator, To: p.target, Err: ctx.Err()}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		e.Reason = NoAnswer
	}
	return e
}

// away says why a vertex that does not run serves nobody.
func (v *Vertex) away(p pair) *Error {
	v.stateMu.Lock()
	defer v.stateMu.Unlock()
	if v.stopped {
		return &Error{Reason: VertexStopping, From: p.initiator, To: p.target}
	}
	return &Error{Reason: NoTransport, From: p.initiator, To: p.target, Err: errNotRunning}
}

var errNotRunning = errors.New("it does not run yet: call Run, and WaitReady before Dial")

// newConn counts a connection as open until it is closed.
func (v *Vertex) newConn(way opened, p pair, leave func()) *Conn {
	c := &Conn{leg: way.leg, pair: p, own: p.initiator}
	c.sent, c.received = v.meter.open(p)
	forget := func() {}
	if way.local != nil {
		e := &localConn{*way.local, c}
		v.live.add(e)
		forget = func() { v.live.remove(e) }
	}
	c.done = func(r Reason) {
		forget()
		v.meter.close(p, r)
		leave()
	}
	return c
}

// localConn is a Conn that never leaves this vertex, as the guard sees it.
type localConn struct {
	limits bound
	conn   *Conn
}

func (l *localConn) bounds() bound { return l.limits }

func (l *localConn) end(r Reason) {
	l.conn.note(r)
	l.conn.leg.Abort()
}

// Listener gives a program that embeds a vertex the connections to one of its
// principals whose io is "embedded" (VTX-17). It is a net.Listener.
type Listener struct {
	target spiffeid.ID
	conns  chan *Conn
	closed chan struct{}
	once   sync.Once
	forget func()
	mu     sync.Mutex
	ended  bool
}

// backlog is how many connections wait for Accept; more are refused.
const backlog = 128

// Listen serves a principal inside this process, from before [Vertex.Run] if
// need be, until the listener is closed or Run returns. While nobody listens,
// initiators are told that the connection is refused. The error is an *Error:
// UnknownTarget where the payload has no "embedded" io for the principal,
// TooMany while somebody else listens for it.
func (v *Vertex) Listen(target spiffeid.ID) (*Listener, error) {
	v.stateMu.Lock()
	defer v.stateMu.Unlock()
	if v.stopped {
		return nil, &Error{Reason: VertexStopping, To: target}
	}
	if u, ok := v.tables.Load().upstream[target]; !ok || !u.embedded {
		return nil, &Error{Reason: UnknownTarget, To: target, Err: errNotEmbedded}
	}
	l := &Listener{target: target, conns: make(chan *Conn, backlog), closed: make(chan struct{})}
	l.forget = func() { v.listeners.CompareAndDelete(target, l) }
	if _, taken := v.listeners.LoadOrStore(target, l); taken {
		return nil, &Error{Reason: TooMany, To: target, Err: errTaken}
	}
	return l, nil
}

var (
	errNotEmbedded = errors.New(`the payload has no io of kind "embedded" for it`)
	errTaken       = errors.New("somebody else listens for it already")
)

// Accept waits for the next connection, a *Conn whose Peer is the initiator.
// After Close, and when the vertex has ended, it returns net.ErrClosed.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Addr is the name under which the principal is reached.
func (l *Listener) Addr() net.Addr { return principalAddr(l.target.String()) }

// Close refuses what comes and what waits. What was accepted goes on.
func (l *Listener) Close() error {
	l.once.Do(func() {
		l.forget()
		l.mu.Lock()
		l.ended = true
		l.mu.Unlock()
		close(l.closed)
		l.drop()
	})
	return nil
}

// offer puts a connection into the queue for Accept, if the listener is still
// there and has room.
func (l *Listener) offer(c *Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return false
	}
	select {
	case l.conns <- c:
		return true
	default:
		return false
	}
}

func (l *Listener) drop() {
	for {
		select {
		case c := <-l.conns:
			c.Abort()
		default:
			return
		}
	}
}

type principalAddr string

func (principalAddr) Network() string  { return "spiffe" }
func (a principalAddr) String() string { return string(a) }

// connectEmbedded hands one end of a pair to whoever listens in this process.
func (v *Vertex) connectEmbedded(p pair) (leg, error) {
	value, ok := v.listeners.Load(p.target)
	if !ok {
		return nil, &Error{Reason: UpstreamRefused}
	}
	here, there, err := newLocalPair()
	if err != nil {
		return nil, &Error{Reason: UpstreamFailed, Err: err}
	}
	c := &Conn{leg: there, pair: p, own: p.target, sent: uncounted{}, received: uncounted{}, done: func(Reason) {}}
	if !value.(*Listener).offer(c) {
		closeBoth(here, there)
		return nil, &Error{Reason: UpstreamRefused}
	}
	return here, nil
}
