package install

import (
	"errors"
	"io/fs"
	"os"
	"path"

	"github.com/florete/flor/store/durable"
)

// FS is the seam through which a prefix is changed (SET-7): that of
// store/durable, and the removal of one name, which refuses a directory that is
// not empty.
type FS interface {
	durable.FS
	Remove(name string) error
}

// Dir is the FS on a real directory. Construct it with [OS].
type Dir struct {
	*durable.Dir
	root *os.Root
}

// OS returns the FS on the directory that root holds open. The caller closes root.
func OS(root *os.Root) Dir { return Dir{durable.OS(root), root} }

// Remove implements [FS].
func (d Dir) Remove(name string) error { return d.root.Remove(name) }

// stands reports whether there is anything of this name, links included.
func stands(fsys FS, name string) (bool, error) {
	_, err := fsys.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// removeSynced removes one name and makes that durable; a missing one is no error.
func removeSynced(fsys FS, name string) error {
	if err := fsys.Remove(name); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	return fsys.SyncDir(path.Dir(name))
}

// removeIfEmpty removes a directory that has nothing in it.
func removeIfEmpty(fsys FS, dir string) error {
	entries, err := fsys.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) || len(entries) > 0 {
		return nil
	}
	if err != nil {
		return err
	}
	return removeSynced(fsys, dir)
}
