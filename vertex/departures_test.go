package vertex

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"testing"
	"time"
)

// tcpPair is a leg and the program at its other end.
func tcpPair(t *testing.T) (*tcpLeg, *net.TCPConn) {
	t.Helper()
	address, conns := parked(t)
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return targetLeg(c.(*net.TCPConn)), <-conns
}

// VTX-7: what is written arrives whole and in order, however seldom it is read.
func TestWriteOfMoreThanTheKernelTakesArrivesWhole(t *testing.T) {
	t.Parallel()
	l, program := tcpPair(t)
	sent := make([]byte, 8<<20)
	_, _ = rand.NewChaCha8(sha256.Sum256(nil)).Read(sent)
	wrote := make(chan error, 1)
	go func() {
		n, err := l.Write(sent)
		if n != len(sent) {
			err = errors.Join(err, io.ErrShortWrite)
		}
		wrote <- errors.Join(err, l.CloseWrite())
	}()
	got, err := io.ReadAll(program)
	if err := errors.Join(err, <-wrote); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, sent) {
		t.Errorf("%d bytes arrived of %d, or others", len(got), len(sent))
	}
}

// A write that is cut off says how much of it was written, which is what arrives.
func TestWriteThatIsCutOffTellsHowMuchWasWritten(t *testing.T) {
	t.Parallel()
	l, program := tcpPair(t)
	type outcome struct {
		n   int
		err error
	}
	wrote := make(chan outcome, 1)
	go func() {
		n, err := l.Write(make([]byte, 64<<20))
		wrote <- outcome{n, err}
	}()
	if _, err := io.ReadFull(program, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	_ = l.SetWriteDeadline(time.Unix(1, 0))
	cut := <-wrote
	if cut.n == 0 || cut.n == 64<<20 || !errors.Is(cut.err, os.ErrDeadlineExceeded) {
		t.Fatalf("wrote %d bytes, %v, want some and that the deadline is over", cut.n, cut.err)
	}
	_ = l.Close()
	if got, err := io.Copy(io.Discard, program); got != int64(cut.n)-1 || err != nil {
		t.Errorf("%d bytes arrived after the first, %v, want %d", got, err, cut.n-1)
	}
}

// VTX-7: a write that waits ends with an abort, from whichever side.
func TestWriteThatWaitsEndsWithAnAbort(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		abort func(*tcpLeg, *net.TCPConn)
		reset bool
	}{
		{"of its own", func(l *tcpLeg, _ *net.TCPConn) { l.Abort() }, false},
		{"of the program", func(_ *tcpLeg, program *net.TCPConn) {
			_ = program.SetLinger(0)
			_ = program.Close()
		}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l, program := tcpPair(t)
			wrote := make(chan error, 1)
			go func() {
				_, err := l.Write(make([]byte, 64<<20))
				wrote <- err
			}()
			if _, err := io.ReadFull(program, make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
			tt.abort(l, program)
			if err := <-wrote; err == nil || isReset(err) != tt.reset {
				t.Errorf("ended with %v, want a reset: %v", err, tt.reset)
			}
		})
	}
}
