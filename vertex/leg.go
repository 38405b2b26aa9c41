package vertex

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/quic-go/quic-go"
)

// leg is one of the two sides of a flow: a TCP connection, a QUIC stream, or
// one end of a pair inside this process.
type leg interface {
	net.Conn
	// receive is Read into the buffer of a chunk, which it takes no sooner than
	// there is something to read.
	receive(*chunk) (int, error)
	// CloseWrite ends this vertex's direction: FIN, and nothing else (VTX-7).
	CloseWrite() error
	// Abort ends both directions so that it never looks like a clean end. It
	// may be called at any time, from any goroutine, more than once.
	Abort()
	// onEnd calls ended once what carries the leg has ended, or the peer has
	// aborted it, which nobody may be reading or writing at that time, until
	// stop is called.
	onEnd(ended func(Reason)) (stop func())
	// gone says why the leg was aborted while nobody was reading it; zero when
	// it was not, as far as that can be told. It is asked once a second.
	gone() Reason
	// blame says what an error of Read or Write stands for.
	blame(error) Reason
}

// tcpLeg is a TCP connection to a program on this machine. From its first
// moment it lingers for no time at all, so that the kernel resets it when this
// process dies: a death must not look like a clean end (VTX-7). Only Close
// takes that back.
type tcpLeg struct {
	*net.TCPConn
	reset, failed Reason // which side it is, as a reason
	early         []byte // read before the flow began; served first
	reading       atomic.Bool
	arrivals      *arrivals   // of the goroutine that receives
	out           *departures // nil: the net package's own way
}

func initiatorLeg(c *net.TCPConn, early []byte) *tcpLeg {
	l := newTCPLeg(c)
	l.reset, l.failed, l.early = InitiatorReset, InitiatorFailed, early
	return l
}

func targetLeg(c *net.TCPConn) *tcpLeg {
	l := newTCPLeg(c)
	l.reset, l.failed = TargetReset, TargetFailed
	return l
}

func newTCPLeg(c *net.TCPConn) *tcpLeg {
	_ = c.SetLinger(resetOnClose)
	out, err := newDepartures(c)
	if err != nil {
		out = nil // the connection is closed, as a write will tell
	}
	return &tcpLeg{TCPConn: c, out: out}
}

func (l *tcpLeg) Read(p []byte) (int, error) {
	if len(l.early) > 0 {
		return l.readEarly(p), nil
	}
	l.reading.Store(true)
	defer l.reading.Store(false)
	return l.TCPConn.Read(p)
}

func (l *tcpLeg) Write(p []byte) (int, error) {
	if l.out == nil {
		return l.TCPConn.Write(p)
	}
	return l.out.send(p)
}

func (l *tcpLeg) readEarly(p []byte) int {
	n := copy(p, l.early)
	if l.early = l.early[n:]; len(l.early) == 0 {
		l.early = nil // and with it the buffer that the client's request was read with
	}
	return n
}

func (l *tcpLeg) receive(c *chunk) (int, error) {
	if len(l.early) > 0 {
		return l.readEarly(c.take()), nil
	}
	l.reading.Store(true)
	defer l.reading.Store(false)
	return receive(l.TCPConn, &l.arrivals, c)
}

// receive reads what arrives at a socket; what serves its reader is made with
// the first call.
func receive(socket syscall.Conn, made **arrivals, c *chunk) (int, error) {
	if *made == nil {
		a, err := newArrivals(socket)
		if err != nil {
			return 0, err
		}
		*made = a
	}
	return (*made).receive(c)
}

// gone asks the kernel for an error that a read would have brought, had there
// been one: after a clean half-close nobody reads any more, and nobody does
// while the other leg takes nothing (VTX-7).
func (l *tcpLeg) gone() Reason {
	if l.reading.Load() {
		return 0
	}
	if err := pendingError(l.TCPConn); err != nil {
		return l.blame(err)
	}
	return 0
}

// What becomes of a TCP connection when it is closed, by this process or by the
// kernel on its behalf: RST, or FIN after all that was written.
const (
	resetOnClose  = 0
	finishOnClose = -1
)

// Close ends the connection cleanly: what was written is still delivered.
func (l *tcpLeg) Close() error {
	_ = l.SetLinger(finishOnClose)
	return l.TCPConn.Close()
}

// Abort sends RST.
func (l *tcpLeg) Abort() {
	_ = l.SetLinger(resetOnClose)
	_ = l.TCPConn.Close()
}

func (l *tcpLeg) onEnd(func(Reason)) func() { return func() {} }

func (l *tcpLeg) blame(err error) Reason {
	if isReset(err) {
		return l.reset
	}
	return l.failed
}

// streamLeg is a QUIC stream whose opening has been answered.
type streamLeg struct {
	*quic.Stream
	session *session
	closed  sync.Once
}

func (l *streamLeg) LocalAddr() net.Addr  { return l.session.conn.LocalAddr() }
func (l *streamLeg) RemoteAddr() net.Addr { return l.session.conn.RemoteAddr() }

func (l *streamLeg) receive(c *chunk) (int, error) {
	var first [1]byte
	_, _ = l.Peek(first[:]) // only waits: Read tells what else there is
	return l.Read(c.take())
}

// Write counts what quic-go has taken, for those who wonder whether anything is
// still taken at all (VTX-9).
func (l *streamLeg) Write(p []byte) (int, error) {
	n, err := l.Stream.Write(p)
	l.session.writes.Add(1)
	return n, err
}

func (l *streamLeg) CloseWrite() error { return l.Stream.Close() }

func (l *streamLeg) Abort() { abortStream(l.Stream) }

// Close gives the stream back to its connection. What has not been read is
// turned down, as a kernel does it.
func (l *streamLeg) Close() error {
	err := l.Stream.Close()
	l.closed.Do(func() {
		l.CancelRead(unwanted)
		l.session.release()
	})
	return err
}

func (l *streamLeg) onEnd(ended func(Reason)) func() {
	conn := l.session.conn.Context()
	stopConn := context.AfterFunc(conn, func() { ended(quicReason(context.Cause(conn))) })
	write := l.Stream.Context()
	stopWrite := context.AfterFunc(write, func() {
		if isAbort(context.Cause(write)) {
			ended(PeerReset)
		}
	})
	return func() {
		stopConn()
		stopWrite()
	}
}

func (l *streamLeg) gone() Reason { return 0 }

// isAbort tells whether the peer has aborted a stream in both directions, as
// its STOP_SENDING says, and not only lost interest in what is sent to it.
func isAbort(err error) bool {
	stream, ok := errors.AsType[*quic.StreamError](err)
	return ok && stream.Remote && stream.ErrorCode == aborted
}

func (l *streamLeg) blame(err error) Reason { return l.session.blame(err) }

func abortStream(s *quic.Stream) {
	s.CancelWrite(aborted)
	s.CancelRead(aborted)
}

// localLeg is one end of a pair inside this process. The kernel carries the
// bytes; what it cannot carry is that an end is an abort, so the pair does.
type localLeg struct {
	*net.UnixConn
	aborted  *atomic.Bool
	arrivals *arrivals // of the goroutine that receives
}

var errAborted = errors.New("the other end aborted the connection")

func (l *localLeg) Read(p []byte) (int, error) {
	n, err := l.UnixConn.Read(p)
	return n, l.endOf(err)
}

func (l *localLeg) receive(c *chunk) (int, error) {
	n, err := receive(l.UnixConn, &l.arrivals, c)
	return n, l.endOf(err)
}

func (l *localLeg) endOf(err error) error {
	if err == io.EOF && l.aborted.Load() {
		return errAborted
	}
	return err
}

func (l *localLeg) Abort() {
	l.aborted.Store(true)
	_ = l.UnixConn.Close()
}

func (l *localLeg) gone() Reason { return 0 }

func (l *localLeg) onEnd(func(Reason)) func() { return func() {} }

func (l *localLeg) blame(error) Reason {
	return TargetReset
}
