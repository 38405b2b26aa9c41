package store

import (
	"bytes"
	"hash/maphash"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/florete/flor/store/durable"
)

// image is what a disk holds, by path. It is a durable.FS, so that thousands of
// crashes can be tried without a disk.
type image map[string]*inode

// inode is a file or a directory.
type inode struct {
	mode fs.FileMode
	data []byte
	made int // by which operation of a record; negative: before it
}

func (d image) clone() image {
	copied := make(image, len(d))
	for name, n := range d {
		c := *n
		copied[name] = &c
	}
	return copied
}

// sum tells whether two images are the same.
func (d image) sum() uint64 {
	var total uint64 // of names in any order
	for name, n := range d {
		total += maphash.Comparable(seed, [3]any{name, n.mode, maphash.Bytes(seed, n.data)})
	}
	return total
}

var seed = maphash.MakeSeed()

func (d image) refuse(op, name string, err error) error {
	return &fs.PathError{Op: op, Path: name, Err: err}
}

func (d image) isDir(name string) bool {
	return name == "." || d[name] != nil && d[name].mode.IsDir()
}

func (d image) put(op, name string, n *inode) error {
	if !d.isDir(path.Dir(name)) {
		return d.refuse(op, name, fs.ErrNotExist)
	}
	if d[name] != nil {
		return d.refuse(op, name, fs.ErrExist)
	}
	d[name] = n
	return nil
}

func (d image) Mkdir(name string, perm fs.FileMode) error {
	return d.put("mkdir", name, &inode{mode: fs.ModeDir | perm})
}

func (d image) Create(name string, perm fs.FileMode) (durable.File, error) {
	n := &inode{mode: perm}
	return imageFile{n}, d.put("create", name, n)
}

func (d image) Rename(oldName, newName string) error {
	n := d[oldName]
	switch {
	case n == nil || !d.isDir(path.Dir(newName)):
		return d.refuse("rename", oldName, fs.ErrNotExist)
	case d[newName] != nil && (n.mode.IsDir() || d.isDir(newName)):
		return d.refuse("rename", newName, fs.ErrExist)
	}
	for _, name := range d.below(oldName) {
		d[newName+strings.TrimPrefix(name, oldName)] = d[name]
		delete(d, name)
	}
	return nil
}

// below lists a name and everything below it.
func (d image) below(root string) []string {
	if d[root] != nil && !d[root].mode.IsDir() {
		return []string{root}
	}
	var names []string
	for name := range d {
		if name == root || strings.HasPrefix(name, root+"/") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func (d image) RemoveAll(name string) error {
	for _, name := range d.below(name) {
		delete(d, name)
	}
	return nil
}

func (d image) SyncDir(name string) error {
	if !d.isDir(name) {
		return d.refuse("sync", name, fs.ErrNotExist)
	}
	return nil
}

func (d image) ReadFile(name string, limit int64) ([]byte, error) {
	n := d[name]
	switch {
	case n == nil:
		return nil, d.refuse("open", name, fs.ErrNotExist)
	case !n.mode.IsRegular():
		return nil, &durable.KindError{Name: name, Want: "regular file", Got: n.mode.String()}
	case int64(len(n.data)) > limit:
		return nil, &durable.SizeError{Name: name, Limit: limit}
	}
	return bytes.Clone(n.data), nil
}

func (d image) ReadDir(name string) ([]fs.DirEntry, error) {
	if !d.isDir(name) {
		return nil, d.refuse("open", name, fs.ErrNotExist)
	}
	var entries []fs.DirEntry
	for child, n := range d {
		if path.Dir(child) == name {
			entries = append(entries, fs.FileInfoToDirEntry(info{child, n}))
		}
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, nil
}

func (d image) Lstat(name string) (fs.FileInfo, error) {
	if d[name] == nil {
		return nil, d.refuse("lstat", name, fs.ErrNotExist)
	}
	return info{name, d[name]}, nil
}

// info describes an inode under a name.
type info struct {
	path string
	*inode
}

func (i info) Name() string       { return path.Base(i.path) }
func (i info) Size() int64        { return int64(len(i.data)) }
func (i info) Mode() fs.FileMode  { return i.mode }
func (i info) ModTime() time.Time { return time.Time{} }
func (i info) IsDir() bool        { return i.mode.IsDir() }
func (i info) Sys() any           { return nil }

// write makes the image real below dir, for a test by the real Open.
func (d image) write(t testing.TB, dir string) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(d)) {
		to := filepath.Join(dir, filepath.FromSlash(name))
		err := error(nil)
		if d.isDir(name) {
			err = os.Mkdir(to, 0o700)
		} else {
			err = os.WriteFile(to, d[name].data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

type imageFile struct{ *inode }

func (f imageFile) Write(p []byte) (int, error) {
	f.data = append(f.data, p...)
	return len(p), nil
}

func (f imageFile) Sync() error  { return nil }
func (f imageFile) Close() error { return nil }

// subdir is an FS below a directory of another.
type subdir struct {
	fs  durable.FS
	dir string
}

func (s subdir) at(name string) string { return path.Join(s.dir, name) }

func (s subdir) Mkdir(name string, perm fs.FileMode) error { return s.fs.Mkdir(s.at(name), perm) }
func (s subdir) Create(name string, perm fs.FileMode) (durable.File, error) {
	return s.fs.Create(s.at(name), perm)
}
func (s subdir) Rename(from, to string) error               { return s.fs.Rename(s.at(from), s.at(to)) }
func (s subdir) RemoveAll(name string) error                { return s.fs.RemoveAll(s.at(name)) }
func (s subdir) SyncDir(name string) error                  { return s.fs.SyncDir(s.at(name)) }
func (s subdir) ReadDir(name string) ([]fs.DirEntry, error) { return s.fs.ReadDir(s.at(name)) }
func (s subdir) Lstat(name string) (fs.FileInfo, error)     { return s.fs.Lstat(s.at(name)) }
func (s subdir) ReadFile(name string, limit int64) ([]byte, error) {
	return s.fs.ReadFile(s.at(name), limit)
}
