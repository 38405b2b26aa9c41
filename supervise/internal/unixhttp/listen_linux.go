package unixhttp

import (
	"io/fs"
	"syscall"
)

// narrow gives the unbound socket its permissions: the kernel binds it with
// those, less the umask.
func narrow(c syscall.RawConn, perm fs.FileMode) error {
	var failed error
	if err := c.Control(func(fd uintptr) { failed = syscall.Fchmod(int(fd), uint32(perm.Perm())) }); err != nil {
		return err
	}
	return failed
}
