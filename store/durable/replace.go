package durable

import (
	"errors"
	"io/fs"
	"path"
)

// Suffixes of what is on its way to a final name (SET-2). Whatever carries one
// after a crash is incomplete or superseded and may be removed.
const (
	TmpSuffix     = ".tmp"
	PartialSuffix = ".partial"
	oldSuffix     = ".old"
)

// ReplaceFile gives the file name the content data and the mode perm (SET-2):
// old or new at every instant. An *UnknownError says that it may be either;
// any other error that the old content stands.
func ReplaceFile(fsys FS, name string, data []byte, perm fs.FileMode) error {
	tmp := name + TmpSuffix
	if err := fsys.RemoveAll(tmp); err != nil {
		return err
	}
	err := writeSynced(fsys, tmp, data, perm)
	if err == nil {
		err = fsys.Rename(tmp, name)
	}
	if err != nil {
		return errors.Join(err, fsys.RemoveAll(tmp))
	}
	return syncRenamed(fsys, name)
}

// writeSynced creates a file and makes its content durable.
func writeSynced(fsys FS, name string, data []byte, perm fs.FileMode) error {
	f, err := fsys.Create(name, perm)
	if err != nil {
		return err
	}
	if _, err := f.Write(data); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := f.Sync(); err != nil {
		return errors.Join(err, f.Close())
	}
	return f.Close()
}

// renameSynced moves a name within one directory and makes the move durable.
func renameSynced(fsys FS, oldName, newName string) error {
	if err := fsys.Rename(oldName, newName); err != nil {
		return err
	}
	return syncRenamed(fsys, newName)
}

// syncRenamed makes a rename durable. From here on a failure leaves it unknown
// which of the two names survives.
func syncRenamed(fsys FS, newName string) error {
	if err := fsys.SyncDir(path.Dir(newName)); err != nil {
		return &UnknownError{Name: newName, Err: err}
	}
	return nil
}
