package vertex

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"

	"github.com/quic-go/quic-go"
)

// leg is one of the two sides of a flow: a TCP connection, a QUIC stream, or
// one end of a pair inside this process.
type leg interface {
	net.Conn
	// CloseWrite ends this vertex's direction: FIN, and nothing else (VTX-7).
	CloseWrite() error
	// Abort ends both directions so that it never looks like a clean end. It
	// may be called at any time, from any goroutine, more than once.
	Abort()
	// onEnd calls ended once what carries the leg has ended, which nobody may
	// be reading or writing at that time, until stop is called.
	onEnd(ended func(Reason)) (stop func())
	// blame says what an error of Read or Write stands for.
	blame(error) Reason
}

// tcpLeg is a TCP connection to a program on this machine.
type tcpLeg struct {
	*net.TCPConn
	reset, failed Reason // which side it is, as a reason
	early         []byte // read before the flow began; served first
}

func initiatorLeg(c *net.TCPConn, early []byte) *tcpLeg {
	return &tcpLeg{c, InitiatorReset, InitiatorFailed, early}
}

func targetLeg(c *net.TCPConn) *tcpLeg {
	return &tcpLeg{c, TargetReset, TargetFailed, nil}
}

func (l *tcpLeg) Read(p []byte) (int, error) {
	if len(l.early) == 0 {
		return l.TCPConn.Read(p)
	}
	n := copy(p, l.early)
	l.early = l.early[n:]
	return n, nil
}

// Abort sends RST: with linger 0 the kernel says no goodbye.
func (l *tcpLeg) Abort() {
	_ = l.SetLinger(0)
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
		l.CancelRead(aborted)
		l.session.release()
	})
	return err
}

func (l *streamLeg) onEnd(ended func(Reason)) func() {
	conn := l.session.conn.Context()
	stop := context.AfterFunc(conn, func() { ended(quicReason(context.Cause(conn))) })
	return func() { stop() }
}

func (l *streamLeg) blame(err error) Reason { return quicReason(err) }

func abortStream(s *quic.Stream) {
	s.CancelWrite(aborted)
	s.CancelRead(aborted)
}

// localLeg is one end of a pair inside this process. The kernel carries the
// bytes; what it cannot carry is that an end is an abort, so the pair does.
type localLeg struct {
	*net.UnixConn
	aborted *atomic.Bool
}

var errAborted = errors.New("the other end aborted the connection")

func (l *localLeg) Read(p []byte) (int, error) {
	n, err := l.UnixConn.Read(p)
	if err == io.EOF && l.aborted.Load() {
		return n, errAborted
	}
	return n, err
}

func (l *localLeg) Abort() {
	l.aborted.Store(true)
	_ = l.UnixConn.Close()
}

func (l *localLeg) onEnd(func(Reason)) func() { return func() {} }

func (l *localLeg) blame(error) Reason {
	return TargetReset
}
