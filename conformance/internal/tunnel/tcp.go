package tunnel

import (
	"errors"
	"io"
	"net"
	"sync"
	"syscall"

	"github.com/florete/flor/conformance/internal/trial"
)

// Service is a TCP service that a case looks after itself.
type Service struct {
	Addr string

	t     *trial.T
	conns chan *net.TCPConn
}

// NewService listens on loopback.
func NewService(t *trial.T) *Service {
	l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	t.Check(err, "listen")
	s := &Service{Addr: l.Addr().String(), t: t, conns: make(chan *net.TCPConn, 128)}
	var accepting sync.WaitGroup
	accepting.Go(func() {
		for {
			conn, err := l.AcceptTCP()
			if err != nil {
				return
			}
			s.conns <- conn
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		accepting.Wait()
		close(s.conns)
		for conn := range s.conns {
			_ = conn.Close()
		}
	})
	return s
}

// Next waits for the next client.
func (s *Service) Next() *Conn {
	select {
	case conn := <-s.conns:
		return newConn(s.t, conn)
	case <-s.t.Context().Done():
		s.t.Fatalf("the service was not connected to")
		return nil
	}
}

// Waiting tells how many clients nobody has taken with Next yet.
func (s *Service) Waiting() int { return len(s.conns) }

// Conn is a TCP connection of a case.
type Conn struct {
	*net.TCPConn
	t *trial.T
}

func newConn(t *trial.T, conn *net.TCPConn) *Conn {
	t.Cleanup(func() { _ = conn.Close() })
	if until, ok := t.Context().Deadline(); ok {
		_ = conn.SetDeadline(until)
	}
	return &Conn{conn, t}
}

// Connect connects to an address.
func Connect(t *trial.T, addr string) *Conn {
	conn, err := net.Dial("tcp", addr)
	t.Check(err, "connect to "+addr)
	return Wrap(t, conn)
}

// Wrap makes a connection one of the case.
func Wrap(t *trial.T, conn net.Conn) *Conn { return newConn(t, conn.(*net.TCPConn)) }

// Send writes text.
func (c *Conn) Send(text string) {
	_, err := io.WriteString(c.TCPConn, text)
	c.t.Check(err, "write to a TCP connection")
}

// Expect reads exactly this text.
func (c *Conn) Expect(text string) {
	got := make([]byte, len(text))
	if n, err := io.ReadFull(c.TCPConn, got); err != nil || string(got) != text {
		c.t.Fatalf("a TCP connection brings %q (%v); it must be %q", got[:n], err, text)
	}
}

// ExpectEnd expects EOF with nothing before it.
func (c *Conn) ExpectEnd() {
	if rest, err := io.ReadAll(c.TCPConn); err != nil || len(rest) > 0 {
		c.t.Fatalf("a TCP connection brings %q and %v; it must be EOF", rest, err)
	}
}

// ExpectReset expects the connection to be reset; the words say what for.
func (c *Conn) ExpectReset(words string) {
	if _, err := io.Copy(io.Discard, c.TCPConn); !errors.Is(err, syscall.ECONNRESET) {
		c.t.Fatalf("a TCP connection ends with %v; it must be RST: %s", err, words)
	}
}

// Finish sends FIN, and nothing else.
func (c *Conn) Finish() { c.t.Check(c.CloseWrite(), "send FIN") }

// Abort sends RST.
func (c *Conn) Abort() {
	_ = c.SetLinger(0)
	_ = c.Close()
}
