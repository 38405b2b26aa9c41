package durable

import (
	"io"
	"io/fs"
)

// FS is the seam through which every change of state goes (SET-7). Names are
// slash-separated and relative to the directory that the FS stands for.
//
// An FS is as safe for concurrent use as the file system below it; the
// functions of this package are not, when they are given the same name.
type FS interface {
	// Mkdir makes a directory of exactly this mode. Its parent must exist.
	Mkdir(name string, perm fs.FileMode) error
	// Create makes a file of exactly this mode for writing. The name must be free.
	Create(name string, perm fs.FileMode) (File, error)
	// Rename moves a file over another, or a directory to a free name.
	Rename(oldName, newName string) error
	// RemoveAll removes a name and what is below it, following no link. A name
	// that does not exist is no error.
	RemoveAll(name string) error
	// SyncDir makes the names in a directory durable.
	SyncDir(name string) error
	// ReadFile reads a regular file of at most limit bytes; a longer one gives
	// a *SizeError, anything but a regular file a *KindError.
	ReadFile(name string, limit int64) ([]byte, error)
	// ReadDir lists a directory in the order of names.
	ReadDir(name string) ([]fs.DirEntry, error)
	// Lstat describes a name without following a link.
	Lstat(name string) (fs.FileInfo, error)
}

// File is a file that is being written.
type File interface {
	io.WriteCloser
	// Sync makes what was written durable.
	Sync() error
}

// Owner is whom new files and directories belong to.
type Owner struct{ UID, GID int }
