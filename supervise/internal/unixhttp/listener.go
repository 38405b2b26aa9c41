package unixhttp

import (
	"errors"
	"net"
	"syscall"
)

// Listener tells whether a process listens at a socket, and which one; pid is 0
// where the kernel does not say. The process is not asked.
func Listener(path string) (pid int, found bool) {
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return 0, errors.Is(err, syscall.EAGAIN) // more wait there than it takes
	}
	defer conn.Close()
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, true
	}
	_ = raw.Control(func(fd uintptr) { pid = peer(int(fd)) })
	return pid, true
}
