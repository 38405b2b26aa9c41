package compiler

import (
	"errors"
	"io/fs"
	"os"
	"path"

	"github.com/florete/flor/store/durable"
)

// diskFS is the repository on disk, of which a directory can be opened for
// itself.
type diskFS struct {
	*durable.Dir
	root *os.Root
}

func newDiskFS(root *os.Root) diskFS { return diskFS{Dir: durable.OS(root), root: root} }

// below opens a directory, so that each access to a file in it need not walk
// the way from the root again: with ten thousand nodes that walk is most of the
// work (CMP-17). A directory that does not exist is empty. Call done afterwards.
func below(fsys durable.FS, dir string) (sub durable.FS, done func() error, err error) {
	disk, ok := fsys.(diskFS)
	if !ok {
		return subFS{fsys: fsys, dir: dir}, func() error { return nil }, nil
	}
	info, err := disk.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return subFS{fsys: fsys, dir: dir}, func() error { return nil }, nil
	}
	if err == nil && !info.IsDir() {
		err = &durable.KindError{Name: dir, Want: "directory", Got: info.Mode().String()}
	}
	if err != nil {
		return nil, nil, err
	}
	root, err := disk.root.OpenRoot(dir)
	if err != nil {
		return nil, nil, err
	}
	return durable.OS(root), root.Close, nil
}

// subFS is a directory of a file system that cannot open it for itself.
type subFS struct {
	fsys durable.FS
	dir  string
}

func (s subFS) in(name string) string { return path.Join(s.dir, name) }

func (s subFS) Mkdir(name string, perm fs.FileMode) error { return s.fsys.Mkdir(s.in(name), perm) }

func (s subFS) Create(name string, perm fs.FileMode) (durable.File, error) {
	return s.fsys.Create(s.in(name), perm)
}

func (s subFS) Rename(from, to string) error { return s.fsys.Rename(s.in(from), s.in(to)) }

func (s subFS) RemoveAll(name string) error { return s.fsys.RemoveAll(s.in(name)) }

func (s subFS) SyncDir(name string) error { return s.fsys.SyncDir(s.in(name)) }

func (s subFS) ReadFile(name string, limit int64) ([]byte, error) {
	return s.fsys.ReadFile(s.in(name), limit)
}

func (s subFS) ReadDir(name string) ([]fs.DirEntry, error) { return s.fsys.ReadDir(s.in(name)) }

func (s subFS) Lstat(name string) (fs.FileInfo, error) { return s.fsys.Lstat(s.in(name)) }
