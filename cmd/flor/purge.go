package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/florete/flor/store"
	"github.com/florete/flor/store/durable"
)

// purge removes every scope with all that belongs to it, what was moved aside
// included, and config.toml. A scope whose agent runs is refused, before
// anything is touched. Directories go when they are empty.
func (c *console) purge(layout store.Layout) error {
	release, err := lockAll(layout)
	if err != nil {
		return err
	}
	defer release()
	if err := c.purgeRetes(layout.RetesDir()); err != nil {
		return err
	}
	config := filepath.Join(layout.Config, configFile)
	if err := os.Remove(config); err == nil {
		c.tell("removed %s", config)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, dir := range []string{layout.State, layout.Config, layout.RuntimeBase} {
		_ = os.Remove(dir) // stays while it holds anything that is not ours
	}
	return nil
}

// lockAll takes the lock of every scope.
func lockAll(layout store.Layout) (release func(), err error) {
	scopes, err := layout.Scopes()
	if err != nil {
		return nil, err
	}
	var locks []*store.Lock
	release = func() {
		for _, lock := range locks {
			_ = lock.Release() // its file may be gone by now
		}
	}
	for _, scope := range scopes {
		lock, err := store.LockScope(layout.State, scope)
		if err != nil {
			release()
			return nil, err
		}
		locks = append(locks, lock)
	}
	return release, nil
}

// purgeRetes removes the directory of scopes, each scope as a whole (SET-4) and
// its lock after it.
func (c *console) purgeRetes(retes string) error {
	root, err := os.OpenRoot(retes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer root.Close()
	fsys := durable.OS(root)
	entries, err := fsys.ReadDir(".")
	if err != nil {
		return err
	}
	slices.SortStableFunc(entries, func(a, b fs.DirEntry) int { return locksLast(a) - locksLast(b) })
	for _, e := range entries {
		if err := purgeEntry(fsys, e); err != nil {
			return err
		}
		if e.IsDir() {
			c.tell("removed %s", filepath.Join(retes, e.Name()))
		}
	}
	return os.Remove(retes)
}

func locksLast(e fs.DirEntry) int {
	if strings.HasSuffix(e.Name(), ".lock") {
		return 1
	}
	return 0
}

func purgeEntry(fsys durable.FS, e fs.DirEntry) error {
	if e.IsDir() && !strings.HasSuffix(e.Name(), durable.PartialSuffix) {
		return durable.RemoveDir(fsys, e.Name())
	}
	return fsys.RemoveAll(e.Name())
}
