package compiler

import (
	"errors"

	"golang.org/x/sys/unix"
)

func (d diskFS) pays(nodes int) bool { return nodes >= manyNodes }

// syncAll flushes the file system that the repository is on. Since Linux 5.8 it
// reports what could not be written, also when that was found out before.
func (d diskFS) syncAll() error {
	f, err := d.root.Open(".")
	if err != nil {
		return err
	}
	return errors.Join(unix.Syncfs(int(f.Fd())), f.Close())
}
