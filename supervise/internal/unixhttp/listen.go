package unixhttp

import (
	"context"
	"fmt"
	"io/fs"
	"net"
	"os"
	"syscall"
)

// MaxPath is the longest path of a unix socket on this platform, in bytes
// (SET-1).
const MaxPath = len(syscall.RawSockaddrUnix{}.Path) - 1

// Listen listens on a unix stream socket at path. The socket never stands
// there with wider permissions than perm (SET-1): where the platform lets the
// socket have them before it is bound it does, and they are widened afterwards
// if the umask took some away. A path that exists or is too long is refused.
// Closing the listener removes the socket.
func Listen(path string, perm fs.FileMode) (net.Listener, error) {
	if len(path) > MaxPath {
		return nil, fmt.Errorf("socket path %s has %d bytes, the limit is %d", path, len(path), MaxPath)
	}
	config := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error { return narrow(c, perm) }}
	l, err := config.Listen(context.Background(), "unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, perm); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}
