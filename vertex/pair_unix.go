//go:build unix

package vertex

import (
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"syscall"
)

// newLocalPair makes the two ends of a connection inside this process. Socket
// pairs bring deadlines, half-close and bounded buffers along.
func newLocalPair() (a, b *localLeg, err error) {
	syscall.ForkLock.RLock()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(fds[0])
		syscall.CloseOnExec(fds[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, nil, fmt.Errorf("making a socket pair: %w", err)
	}
	gone := new(atomic.Bool)
	a, errA := adopt(fds[0], gone)
	b, errB := adopt(fds[1], gone)
	if errA != nil || errB != nil {
		closeBoth(a, b)
		return nil, nil, fmt.Errorf("making a socket pair: %w, %w", errA, errB)
	}
	return a, b, nil
}

func adopt(fd int, gone *atomic.Bool) (*localLeg, error) {
	file := os.NewFile(uintptr(fd), "in-process connection")
	defer file.Close()
	conn, err := net.FileConn(file)
	if err != nil {
		return nil, err
	}
	return &localLeg{UnixConn: conn.(*net.UnixConn), aborted: gone}, nil
}

func closeBoth(legs ...*localLeg) {
	for _, l := range legs {
		if l != nil {
			_ = l.Close()
		}
	}
}
