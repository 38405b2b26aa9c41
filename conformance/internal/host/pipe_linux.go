package host

import (
	"os"

	"golang.org/x/sys/unix"
)

// packetPipe makes a pipe in which each write is read by itself.
func (h *Host) packetPipe() (r, w *os.File) {
	var fds [2]int
	h.Check(unix.Pipe2(fds[:], unix.O_DIRECT|unix.O_CLOEXEC|unix.O_NONBLOCK), "make a pipe")
	// The program gets its end as it would get any: blocking.
	h.Check(unix.SetNonblock(fds[1], false), "make a pipe")
	return os.NewFile(uintptr(fds[0]), "pipe"), os.NewFile(uintptr(fds[1]), "pipe")
}
