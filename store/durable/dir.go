package durable

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
)

// Dir is the FS on a real directory. Every name is resolved below its os.Root,
// so that nothing outside is ever reached, and a symbolic link on the way is
// refused. Construct it with [OS].
type Dir struct {
	root  *os.Root
	owner *Owner
}

// OS returns the FS on the directory that root holds open. The caller keeps
// root and closes it when the FS is no longer used.
func OS(root *os.Root) *Dir { return &Dir{root: root} }

// OwnedBy returns an FS on the same directory that gives every new file and
// directory to owner before it gets its final name (SET-1). A nil owner
// leaves them to the process.
func (d *Dir) OwnedBy(owner *Owner) *Dir { return &Dir{root: d.root, owner: owner} }

// Mkdir implements [FS].
func (d *Dir) Mkdir(name string, perm fs.FileMode) error {
	if err := d.refuseLinks(path.Dir(name)); err != nil {
		return err
	}
	if err := d.root.Mkdir(name, perm); err != nil {
		return err
	}
	if err := d.root.Chmod(name, perm); err != nil {
		return err
	}
	if d.owner == nil {
		return nil
	}
	return d.root.Lchown(name, d.owner.UID, d.owner.GID)
}

// Create implements [FS].
func (d *Dir) Create(name string, perm fs.FileMode) (File, error) {
	if err := d.refuseLinks(path.Dir(name)); err != nil {
		return nil, err
	}
	f, err := d.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return nil, err
	}
	if err := d.settleFile(f, perm); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// settleFile gives a new file the mode and owner it is meant to have.
func (d *Dir) settleFile(f *os.File, perm fs.FileMode) error {
	if err := f.Chmod(perm); err != nil {
		return err
	}
	if d.owner == nil {
		return nil
	}
	return f.Chown(d.owner.UID, d.owner.GID)
}

// Rename implements [FS].
func (d *Dir) Rename(oldName, newName string) error {
	if err := errors.Join(d.refuseLinks(path.Dir(oldName)), d.refuseLinks(path.Dir(newName))); err != nil {
		return err
	}
	return d.root.Rename(oldName, newName)
}

// RemoveAll implements [FS]. Where nothing is, nothing is asked of the file
// system: one that is read-only would refuse even that.
func (d *Dir) RemoveAll(name string) error {
	if err := d.refuseLinks(path.Dir(name)); err != nil {
		return err
	}
	if _, err := d.root.Lstat(name); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return d.root.RemoveAll(name)
}

// SyncDir implements [FS].
func (d *Dir) SyncDir(name string) error {
	if err := d.refuseLinks(name); err != nil {
		return err
	}
	f, err := d.root.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// ReadFile implements [FS].
func (d *Dir) ReadFile(name string, limit int64) ([]byte, error) {
	if err := d.refuseLinks(name); err != nil {
		return nil, err
	}
	// O_NONBLOCK: opening a FIFO that somebody put there must not hang.
	f, err := d.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &KindError{Name: name, Want: "regular file", Got: info.Mode().String()}
	}
	return readLimited(f, name, info.Size(), limit)
}

// readLimited reads into room for what was measured, and one byte more than
// allowed, because a file may grow after that.
func readLimited(r io.Reader, name string, size, limit int64) ([]byte, error) {
	room := make([]byte, 0, min(size, limit)+bytes.MinRead) // the end is seen without growing
	data := bytes.NewBuffer(room)
	if _, err := data.ReadFrom(io.LimitReader(r, limit+1)); err != nil {
		return nil, err
	}
	if int64(data.Len()) > limit {
		return nil, &SizeError{Name: name, Limit: limit}
	}
	return data.Bytes(), nil
}

// ReadDir implements [FS].
func (d *Dir) ReadDir(name string) ([]fs.DirEntry, error) {
	if err := d.refuseLinks(name); err != nil {
		return nil, err
	}
	f, err := d.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	entries, err := f.ReadDir(-1)
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, err
}

// Lstat implements [FS].
func (d *Dir) Lstat(name string) (fs.FileInfo, error) {
	if err := d.refuseLinks(path.Dir(name)); err != nil {
		return nil, err
	}
	return d.root.Lstat(name)
}

// refuseLinks refuses a name of which any component is a symbolic link. os.Root
// confines links to the directory; state has no use for any.
func (d *Dir) refuseLinks(name string) error {
	if name == "." {
		return nil // the directory that is held open: no link is on the way to it
	}
	for i, c := range name {
		if c == '/' && i > 0 {
			if err := d.refuseLink(name[:i]); err != nil {
				return err
			}
		}
	}
	return d.refuseLink(name)
}

func (d *Dir) refuseLink(name string) error {
	info, err := d.root.Lstat(name)
	if err != nil {
		return err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		return fmt.Errorf("refuse to follow a symbolic link: %w",
			&KindError{Name: name, Want: "file or directory of ours", Got: info.Mode().String()})
	}
	return nil
}
