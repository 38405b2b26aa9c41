package compiler

import (
	"errors"

	"github.com/florete/flor/store/durable"
)

// manyNodes is from how many nodes on their files are made durable together.
// Below, one by one is cheaper, and does not wait for what others write to the
// same disk.
const manyNodes = 256

// volume is a file system that can make everything durable that was written to
// it, at once.
type volume interface {
	// pays tells whether that is cheaper than one by one, for so many nodes.
	pays(nodes int) bool
	syncAll() error
}

// durability says how the changes of a commit become durable: a file and a
// directory each by itself, or all of them together at the end of a step. For
// ten thousand nodes the one takes longer than everything else (CMP-17).
type durability struct {
	file func(durable.File) error
	dir  func(fsys durable.FS, name string) error
	step func() error
}

func durabilityOf(fsys durable.FS, nodes int) durability {
	if v, ok := fsys.(volume); ok && v.pays(nodes) {
		return durability{
			file: func(durable.File) error { return nil },
			dir:  func(durable.FS, string) error { return nil },
			step: v.syncAll,
		}
	}
	return durability{
		file: durable.File.Sync,
		dir:  durable.FS.SyncDir,
		step: func() error { return nil },
	}
}

// dirs makes the names in directories durable, now or at the end of the step.
func (d durability) dirs(fsys durable.FS, names ...string) error {
	var faults []error
	for _, name := range names {
		faults = append(faults, d.dir(fsys, name))
	}
	return errors.Join(faults...)
}
