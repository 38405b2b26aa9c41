//go:build unix

package vertex

import (
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// departures writes to a socket as the net package does, deadlines and all, but
// with system calls that do not wake the runtime. It serves several writers,
// one after the other.
type departures struct {
	raw  syscall.RawConn
	try  func(fd uintptr) bool
	mu   sync.Mutex
	left []byte
	err  error
}

func newDepartures(socket syscall.Conn) (*departures, error) {
	raw, err := socket.SyscallConn()
	if err != nil {
		return nil, err
	}
	d := &departures{raw: raw}
	d.try = d.offer
	return d, nil
}

// send writes all of p, and tells how much of it was written where it fails.
func (d *departures) send(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.left, d.err = p, nil
	err := d.raw.Write(d.try)
	n := len(p) - len(d.left)
	d.left = nil
	if err == nil && d.err != nil {
		err = os.NewSyscallError("write", d.err)
	}
	return n, err
}

// offer writes until nothing is left or something breaks. It asks to be called
// again where the kernel takes no more.
func (d *departures) offer(fd uintptr) (done bool) {
	for len(d.left) > 0 {
		n, err := writeNow(fd, d.left)
		switch err {
		case nil:
			d.left = d.left[n:]
		case unix.EINTR:
		case unix.EAGAIN:
			return false
		default:
			d.err = err
			return true
		}
	}
	return true
}
