package supervise

import (
	"errors"
	"math"

	"golang.org/x/sys/unix"
)

// closeOnExec marks every descriptor above 2 so that no child inherits it.
// Those that Go opened are marked already; this is for those which this
// process inherited itself. It is done before each spawn, because other code
// may have opened more without the mark.
func closeOnExec() {
	if err := unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		markListed("/proc/self/fd")
	}
}

// awaitExit returns when a child has ended, and leaves it to be reaped.
func awaitExit(pid int) {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}
