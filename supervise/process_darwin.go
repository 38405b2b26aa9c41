package supervise

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"
)

// closeOnExec marks every descriptor above 2 so that no child inherits it.
func closeOnExec() { markListed("/dev/fd") }

// awaitExit returns when a child has ended, and leaves it to be reaped.
func awaitExit(pid int) {
	for !exitSeen(pid) {
		time.Sleep(50 * time.Millisecond)
	}
}

// exitSeen waits for the end of a child and reports whether it saw it.
func exitSeen(pid int) bool {
	kq, err := unix.Kqueue()
	if err != nil {
		return false
	}
	defer unix.Close(kq)
	watch := unix.Kevent_t{Ident: uint64(pid), Filter: unix.EVFILT_PROC, Flags: unix.EV_ADD, Fflags: unix.NOTE_EXIT}
	n, err := unix.Kevent(kq, []unix.Kevent_t{watch}, make([]unix.Kevent_t, 1), nil)
	return n == 1 || errors.Is(err, unix.ESRCH)
}
