package relay

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// StateInUse says that another process holds the state directory.
type StateInUse struct{ Dir string }

// Code is the registry code.
func (*StateInUse) Code() string { return stateInUse.Code() }

func (e *StateInUse) Error() string {
	return fmt.Sprintf("%s %s: %s is held by a running coordinator: stop it first", e.Code(), stateInUse, e.Dir)
}

// lockState takes the lock of a state directory; closing the file gives it up.
// The file is never removed: a second one of its name would be a second lock.
func lockState(root *os.Root) (*os.File, error) {
	file, err := root.OpenFile(lockFile, os.O_RDWR|os.O_CREATE, stateMode)
	if errors.Is(err, unix.EROFS) { // what is there can be served all the same
		file, err = root.Open(lockFile)
	}
	if err != nil {
		return nil, fmt.Errorf("lock of the state directory: %w", err)
	}
	err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		return file, nil
	}
	if errors.Is(err, unix.EWOULDBLOCK) {
		err = &StateInUse{Dir: root.Name()}
	}
	return nil, errors.Join(err, file.Close())
}

// isOurs tells which files of a state directory a reset removes: the state, what
// was on its way to it and what was set aside. The lock stays.
func isOurs(name string) bool {
	for _, file := range []string{treeFile, floorsFile} {
		if name == file || name == file+".tmp" || strings.HasPrefix(name, file+asideSuffix) {
			return true
		}
	}
	return false
}
