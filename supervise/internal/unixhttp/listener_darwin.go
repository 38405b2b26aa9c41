package unixhttp

import "golang.org/x/sys/unix"

// peer is the process that listens at the other end of a connection.
func peer(fd int) int {
	pid, err := unix.GetsockoptInt(fd, unix.SOL_LOCAL, unix.LOCAL_PEERPID)
	if err != nil {
		return 0
	}
	return pid
}
