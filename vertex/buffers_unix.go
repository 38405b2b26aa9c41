//go:build unix

package vertex

import (
	"net"

	"golang.org/x/sys/unix"
)

// wantedBuffer is what quic-go asks the kernel for, in bytes, each way.
const wantedBuffer = 7 << 20

// buffers tells how large the kernel made the socket's buffers, in bytes; zero
// stands for unknown (VTX-9).
func buffers(udp *net.UDPConn) (receive, send int) {
	raw, err := udp.SyscallConn()
	if err != nil {
		return 0, 0
	}
	_ = raw.Control(func(fd uintptr) {
		receive, _ = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF)
		send, _ = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_SNDBUF)
	})
	return receive, send
}

// pendingError takes the error that a socket holds for its next reader or
// writer, such as that of a reset, or nil.
func pendingError(c *net.TCPConn) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return nil
	}
	held := 0
	if raw.Control(func(fd uintptr) { held, err = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_ERROR) }) != nil || err != nil || held == 0 {
		return nil
	}
	return unix.Errno(held)
}
