package peer

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/quic-go/quic-go"

	"github.com/florete/flor/conformance/internal/trial"
)

// Conn is a connection to the vertex under test.
type Conn struct {
	*quic.Conn
	t *trial.T
}

// End waits for the connection to end and returns why.
func (c *Conn) End() error {
	select {
	case <-c.Context().Done():
		return context.Cause(c.Context())
	case <-c.t.Context().Done():
		c.t.Fatalf("the connection was not ended")
		return nil
	}
}

// Ended tells whether the connection has ended.
func (c *Conn) Ended() bool { return c.Context().Err() != nil }

// Close closes the connection with an application code.
func (c *Conn) Close(code int) { _ = c.CloseWithError(quic.ApplicationErrorCode(code), "") }

// Open opens a stream and sends its first bytes.
func (c *Conn) Open(first ...byte) *Stream {
	s, err := c.OpenStreamSync(c.t.Context())
	c.t.Check(err, "open a stream")
	stream := &Stream{s, c.t}
	stream.Send(string(first))
	return stream
}

// Connect opens a stream of flor/2 and expects the answer "connected".
func (c *Conn) Connect() *Stream {
	s := c.Open(0x01)
	if answer := s.Answer(); answer != 0 {
		c.t.Fatalf("the answer byte is %d; it must be 0, connected", answer)
	}
	return s
}

// Next accepts the next stream that the other side opens.
func (c *Conn) Next() *Stream {
	s, err := c.AcceptStream(c.t.Context())
	c.t.Check(err, "wait for a stream of the initiator")
	return &Stream{s, c.t}
}

// NextUnless accepts the next stream, or returns nil once something else is so.
func (c *Conn) NextUnless(so func() bool) *Stream {
	for {
		ctx, cancel := context.WithTimeout(c.t.Context(), 20*time.Millisecond)
		s, err := c.AcceptStream(ctx)
		cancel()
		switch {
		case err == nil:
			return &Stream{s, c.t}
		case so():
			return nil
		case c.t.Context().Err() != nil || c.Ended():
			c.t.Fatalf("waited in vain for a stream of the initiator: %w", err)
		}
	}
}

// Asked accepts the next stream and expects the preamble of flor/2.
func (c *Conn) Asked() *Stream {
	s := c.Next()
	if first := s.Read1(); first != 0x01 {
		c.t.Fatalf("a stream of flor/2 begins with 0x%02x; it must be 0x01", first)
	}
	return s
}

// Control accepts the control stream of the other side.
func (c *Conn) Control() *Control {
	s, err := c.AcceptUniStream(c.t.Context())
	c.t.Check(err, "wait for the control stream")
	return &Control{s, c.t}
}

// SayDraining opens our control stream and says that we drain.
func (c *Conn) SayDraining() {
	s, err := c.OpenUniStreamSync(c.t.Context())
	c.t.Check(err, "open a control stream")
	_, err = s.Write([]byte{0x00, 0x01})
	c.t.Check(err, "write to the control stream")
}

// Control is the other side's control stream.
type Control struct {
	*quic.ReceiveStream
	t *trial.T
}

// Await reads until the byte comes; 0x00 ahead of it means nothing.
func (c *Control) Await(want byte) {
	deadline(c.t, c.SetReadDeadline)
	var b [1]byte
	for {
		if _, err := io.ReadFull(c, b[:]); err != nil {
			c.t.Fatalf("the control stream must bring 0x%02x: %w", want, err)
		}
		if b[0] == want {
			return
		}
		if b[0] != 0 {
			c.t.Fatalf("the control stream brings 0x%02x; it must be 0x00 or 0x01", b[0])
		}
	}
}

// deadline sets the end of the trial as a deadline.
func deadline(t *trial.T, set func(time.Time) error) {
	if until, ok := t.Context().Deadline(); ok {
		_ = set(until)
	}
}

// Stream is a bidirectional stream.
type Stream struct {
	*quic.Stream
	t *trial.T
}

// Send writes text.
func (s *Stream) Send(text string) {
	deadline(s.t, s.SetWriteDeadline)
	_, err := io.WriteString(s.Stream, text)
	s.t.Check(err, "write to a stream")
}

// Finish sends FIN, and nothing else.
func (s *Stream) Finish() { s.t.Check(s.Stream.Close(), "send FIN") }

// Abort resets the stream and asks the other side to stop, both with code 1.
func (s *Stream) Abort() {
	s.CancelWrite(1)
	s.CancelRead(1)
}

// Read1 reads one byte.
func (s *Stream) Read1() byte {
	deadline(s.t, s.SetReadDeadline)
	var b [1]byte
	_, err := io.ReadFull(s.Stream, b[:])
	s.t.Check(err, "read one byte of a stream")
	return b[0]
}

// Answer reads the answer byte.
func (s *Stream) Answer() byte { return s.Read1() }

// Expect reads exactly this text.
func (s *Stream) Expect(text string) {
	deadline(s.t, s.SetReadDeadline)
	got := make([]byte, len(text))
	if n, err := io.ReadFull(s.Stream, got); err != nil || string(got) != text {
		s.t.Fatalf("a stream brings %q (%v); it must be %q", got[:n], err, text)
	}
}

// Rest reads until FIN and returns how much came, and the error in its place.
func (s *Stream) Rest() (int64, error) {
	deadline(s.t, s.SetReadDeadline)
	return io.Copy(io.Discard, s.Stream)
}

// ExpectEnd expects FIN with nothing before it.
func (s *Stream) ExpectEnd() {
	if n, err := s.Rest(); n != 0 || err != nil {
		s.t.Fatalf("a stream brings %d bytes and %v; it must be FIN", n, err)
	}
}

// ResetCode waits for the other side to reset what it sends, with nothing before,
// and returns the code, -1 where something came or it ended otherwise.
func (s *Stream) ResetCode() int {
	deadline(s.t, s.SetReadDeadline)
	_, err := s.Stream.Read(make([]byte, 1))
	return streamCode(err)
}

// StopCode waits for the other side to ask for no more bytes, and returns the
// code, -1 where it was something else.
func (s *Stream) StopCode() int {
	select {
	case <-s.Context().Done():
		return streamCode(context.Cause(s.Context()))
	case <-s.t.Context().Done():
		s.t.Fatalf("the other side sent no STOP_SENDING")
		return -1
	}
}

func streamCode(err error) int {
	var stream *quic.StreamError
	if errors.As(err, &stream) && stream.Remote {
		return int(stream.ErrorCode)
	}
	return -1
}
