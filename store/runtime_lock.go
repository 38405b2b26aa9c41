package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// RuntimeRoot is the directory of a scope's sockets, held for one agent. Scopes of
// one name in two state directories have a lock each and may have been given one
// runtime base: whoever came second would end the workloads of the first and take
// its socket away.
type RuntimeRoot struct {
	// Path is the directory.
	Path string
	dir  *os.File
}

// TakeRuntimeRoot makes the scope's runtime root as [Layout.MakeRuntimeRoot] does
// and takes it until [RuntimeRoot.Release], or until the process ends. One that
// another agent has is refused with a *HeldError, which does not know by whom.
// Only the holder of the scope's lock calls it.
func (l Layout) TakeRuntimeRoot(scope string) (*RuntimeRoot, error) {
	for {
		path, err := l.MakeRuntimeRoot(scope)
		if err != nil {
			return nil, err
		}
		root, err := takeDir(path)
		switch {
		case err == nil:
			return root, nil
		case errors.Is(err, syscall.EWOULDBLOCK):
			return nil, &HeldError{Scope: scope, Runtime: path}
		case !errors.Is(err, fs.ErrNotExist): // else its last holder has just removed it
			return nil, fmt.Errorf("take the runtime directory of scope %s: %w", scope, err)
		}
	}
}

// takeDir takes the directory that has this path once it is taken.
func takeDir(path string) (*RuntimeRoot, error) {
	dir, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	err = flock(dir, func() bool { return true })
	if err == nil {
		err = stillAt(dir, path)
	}
	if err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	return &RuntimeRoot{Path: path, dir: dir}, nil
}

func stillAt(dir *os.File, path string) error {
	held, err := dir.Stat()
	if err != nil {
		return err
	}
	named, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if !os.SameFile(held, named) {
		return fs.ErrNotExist
	}
	return nil
}

// Release gives the directory up. What is in it is removed before.
func (r *RuntimeRoot) Release() error {
	return errors.Join(syscall.Flock(int(r.dir.Fd()), syscall.LOCK_UN), r.dir.Close())
}
