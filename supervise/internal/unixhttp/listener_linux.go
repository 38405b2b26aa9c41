package unixhttp

import "golang.org/x/sys/unix"

// peer is the process that listens at the other end of a connection.
func peer(fd int) int {
	credentials, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return 0
	}
	return int(credentials.Pid)
}
