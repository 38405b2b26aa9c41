package vertex

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// System calls on sockets that do not block. The net package makes them as it
// makes calls that may block: it announces them to the Go scheduler, which in
// a process that was idle, as a vertex is between any two messages of a quiet
// connection, wakes the runtime's monitor thread for each (futex), which sleeps
// for 20 µs (nanosleep) and goes back to sleep (futex). These here are not
// announced; a processor waits for them as it does for any function.

// readNow reads what a socket has, or gives EAGAIN. p must not be empty.
func readNow(fd uintptr, p []byte) (int, error) {
	n, _, errno := syscall.RawSyscall(unix.SYS_READ, fd, uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
	return result(n, errno)
}

// writeNow writes what a socket takes, or gives EAGAIN.
func writeNow(fd uintptr, p []byte) (int, error) {
	n, _, errno := syscall.RawSyscall(unix.SYS_WRITE, fd, uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
	return result(n, errno)
}

// receiveNow takes as many datagrams as there are, and room is for.
func receiveNow(fd uintptr, into []unix.Mmsghdr) (int, error) {
	n, _, errno := syscall.RawSyscall6(unix.SYS_RECVMMSG, fd, uintptr(unsafe.Pointer(unsafe.SliceData(into))), uintptr(len(into)), 0, 0, 0)
	return result(n, errno)
}

// sendNow sends one datagram, or several that the kernel makes of it (GSO).
func sendNow(fd uintptr, m *unix.Msghdr) (int, error) {
	n, _, errno := syscall.RawSyscall(unix.SYS_SENDMSG, fd, uintptr(unsafe.Pointer(m)), 0)
	return result(n, errno)
}

func result(n uintptr, errno syscall.Errno) (int, error) {
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}
