//go:build unix

package vertex

import (
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// arrivals reads from a socket as the net package does, but into a buffer that
// is taken only while the kernel is asked: not while it has nothing to give. It
// serves one reader.
type arrivals struct {
	raw   syscall.RawConn
	try   func(fd uintptr) bool
	chunk *chunk
	n     int
	err   error
}

func newArrivals(socket syscall.Conn) (*arrivals, error) {
	raw, err := socket.SyscallConn()
	if err != nil {
		return nil, err
	}
	a := &arrivals{raw: raw}
	a.try = a.ask
	return a, nil
}

// receive waits for what can be read, and reads it into the chunk. io.EOF is
// the peer's clean end.
func (a *arrivals) receive(c *chunk) (int, error) {
	a.chunk, a.n, a.err = c, 0, nil
	err := a.raw.Read(a.try)
	switch {
	case err != nil:
		return 0, err
	case a.err != nil:
		return 0, os.NewSyscallError("read", a.err)
	case a.n == 0:
		return 0, io.EOF
	}
	return a.n, nil
}

// ask reads once. It gives the buffer back and asks to be called again where
// nothing has arrived.
func (a *arrivals) ask(fd uintptr) (done bool) {
	for {
		a.n, a.err = readNow(fd, a.chunk.take())
		switch a.err {
		case unix.EINTR:
		case unix.EAGAIN:
			a.chunk.give(0)
			return false
		default:
			return true
		}
	}
}
