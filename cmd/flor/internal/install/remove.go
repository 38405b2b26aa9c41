package install

import (
	"path"
	"slices"
	"strings"

	"github.com/florete/flor/store/durable"
)

// flor is what a person runs to remove an install: it goes last.
const flor = "bin/flor"

// Removal says what was taken away.
type Removal struct {
	Removed []string
	Left    []string // files that were changed by somebody since they were placed
}

// Remove takes away every file that the receipt lists and that is as it was
// placed, and every directory that was made for them and is empty, the receipt
// last (INS-1). Running it again takes up what was cut short.
func Remove(fsys FS) (Removal, error) {
	r, err := ReadReceipt(fsys)
	if err != nil {
		return Removal{}, err
	}
	r.State = Removing
	if err := r.write(fsys); err != nil {
		return Removal{}, err
	}
	done, err := r.removeFiles(fsys)
	if err != nil {
		return done, err
	}
	return done, r.removeDirs(fsys)
}

func (r *Receipt) removeFiles(fsys FS) (Removal, error) {
	var done Removal
	for _, name := range r.inOrder() {
		there, err := look(fsys, name)
		switch {
		case err != nil:
			return done, err
		case there.absent:
			continue
		case !r.lists(name, there.digest):
			done.Left = append(done.Left, name)
			continue
		}
		if err := removeSynced(fsys, name); err != nil {
			return done, err
		}
		done.Removed = append(done.Removed, name)
	}
	return done, nil
}

// inOrder lists the files, flor itself last.
func (r *Receipt) inOrder() []string {
	var names []string
	for _, f := range r.Files {
		if f.Path != flor {
			names = append(names, f.Path)
		}
	}
	if r.names(flor) {
		names = append(names, flor)
	}
	return names
}

// removeDirs removes what was made and is empty, the deepest first; the receipt
// goes before the directories that hold it.
func (r *Receipt) removeDirs(fsys FS) error {
	if err := durable.DiscardStaged(fsys, stageDir); err != nil {
		return err
	}
	above := func(dir string) bool { return strings.HasPrefix(ReceiptFile, dir+"/") }
	for _, dir := range slices.Backward(r.Dirs) {
		if above(dir) {
			continue
		}
		if err := removeIfEmpty(fsys, dir); err != nil {
			return err
		}
	}
	if err := removeSynced(fsys, ReceiptFile); err != nil {
		return err
	}
	for dir := LibDir; dir != "."; dir = path.Dir(dir) {
		if !slices.Contains(r.Dirs, dir) {
			return nil
		}
		if err := removeIfEmpty(fsys, dir); err != nil {
			return err
		}
	}
	return nil
}
