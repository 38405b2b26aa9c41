package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
)

// Entry is a file or directory of a tree that is to be written.
type Entry struct {
	Name string      // relative to the tree, slash-separated
	Mode fs.FileMode // exact permission bits; fs.ModeDir makes it a directory
	Data []byte      // content of a file
}

// Tree is the content of a directory: parents stand before what they hold.
type Tree struct {
	Perm    fs.FileMode // mode of the directory itself
	Entries []Entry
}

// PublishDir makes the directory dir with the content of tree (SET-2): whole
// or absent at every instant. The name dir must be free.
func PublishDir(fsys FS, dir string, tree Tree) error {
	if err := StageDir(fsys, dir, tree); err != nil {
		return err
	}
	return PublishStaged(fsys, dir)
}

// StageDir writes tree below <dir>.partial and makes all of it durable. What
// stood there before is removed. On error nothing of it is left.
func StageDir(fsys FS, dir string, tree Tree) error {
	partial := dir + PartialSuffix
	if err := fsys.RemoveAll(partial); err != nil {
		return err
	}
	if err := writeTree(fsys, partial, tree); err != nil {
		return errors.Join(err, fsys.RemoveAll(partial))
	}
	return nil
}

// PublishStaged gives a staged directory its final name and makes that durable.
func PublishStaged(fsys FS, dir string) error {
	return renameSynced(fsys, dir+PartialSuffix, dir)
}

// MoveDir gives a directory another name within its parent and makes that
// durable. The new name must be free.
func MoveDir(fsys FS, oldName, newName string) error {
	taken, err := exists(fsys, newName)
	if err != nil {
		return err
	}
	if taken {
		return fmt.Errorf("move %s to %s: %w", oldName, newName, fs.ErrExist)
	}
	return renameSynced(fsys, oldName, newName)
}

// PublishStagedFile gives one file of a staged directory its final name in the
// directory that it was staged for, over what stands there, and makes that
// durable: a directory that stands and has been damaged is mended so, file by
// file. An *UnknownError says that the file may be either.
func PublishStagedFile(fsys FS, dir, file string) error {
	return renameSynced(fsys, path.Join(dir+PartialSuffix, file), path.Join(dir, file))
}

// DiscardStaged removes what StageDir wrote.
func DiscardStaged(fsys FS, dir string) error {
	return fsys.RemoveAll(dir + PartialSuffix)
}

func writeTree(fsys FS, dir string, tree Tree) error {
	if err := fsys.Mkdir(dir, tree.Perm); err != nil {
		return err
	}
	dirs := []string{dir}
	for _, e := range tree.Entries {
		name := path.Join(dir, e.Name)
		if err := writeEntry(fsys, name, e); err != nil {
			return err
		}
		if e.Mode.IsDir() {
			dirs = append(dirs, name)
		}
	}
	return syncDirs(fsys, dirs)
}

func writeEntry(fsys FS, name string, e Entry) error {
	if e.Mode.IsDir() {
		return fsys.Mkdir(name, e.Mode.Perm())
	}
	return writeSynced(fsys, name, e.Data, e.Mode.Perm())
}

// syncDirs syncs the deepest first: parents were listed before their children.
func syncDirs(fsys FS, dirs []string) error {
	for _, dir := range slices.Backward(dirs) {
		if err := fsys.SyncDir(dir); err != nil {
			return err
		}
	}
	return nil
}

// RemoveDir removes a directory by way of <dir>.partial (SET-4), so that half
// of it never stands under its final name. A missing one is no error.
func RemoveDir(fsys FS, dir string) error {
	if err := DiscardStaged(fsys, dir); err != nil {
		return err
	}
	if err := renameSynced(fsys, dir, dir+PartialSuffix); err != nil {
		return ignoreMissing(err)
	}
	return DiscardStaged(fsys, dir)
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// ReplaceDir exchanges the directory dir, which may be missing, for the content
// of tree. Between its two renames the final name is free; [SettleDir] must run at the next start,
// before anybody reads dir (SET-8).
func ReplaceDir(fsys FS, dir string, tree Tree) error {
	if err := SettleDir(fsys, dir); err != nil {
		return err
	}
	if err := StageDir(fsys, dir, tree); err != nil {
		return err
	}
	if err := ignoreMissing(renameSynced(fsys, dir, dir+oldSuffix)); err != nil {
		return err
	}
	if err := PublishStaged(fsys, dir); err != nil {
		return err
	}
	return fsys.RemoveAll(dir + oldSuffix)
}

// SettleDir finishes or undoes a [ReplaceDir] that was cut short. Where the
// final name stands, the leftovers go. Where it is free and both others stand,
// the new content was whole before the old one moved: the exchange is finished.
// Where only the old content stands, it comes back.
func SettleDir(fsys FS, dir string) error {
	whole, err := exists(fsys, dir)
	if err != nil {
		return err
	}
	if whole {
		return errors.Join(DiscardStaged(fsys, dir), fsys.RemoveAll(dir+oldSuffix))
	}
	return settleMiddle(fsys, dir)
}

func settleMiddle(fsys FS, dir string) error {
	old, err := exists(fsys, dir+oldSuffix)
	if err != nil || !old {
		return err
	}
	staged, err := exists(fsys, dir+PartialSuffix)
	if err != nil {
		return err
	}
	if !staged {
		return renameSynced(fsys, dir+oldSuffix, dir)
	}
	if err := PublishStaged(fsys, dir); err != nil {
		return err
	}
	return fsys.RemoveAll(dir + oldSuffix)
}

func exists(fsys FS, name string) (bool, error) {
	_, err := fsys.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
