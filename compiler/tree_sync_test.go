package compiler

import (
	"fmt"
	"io/fs"
	"path"
	"strings"
	"sync"
	"testing"

	"github.com/florete/flor/store/durable"
)

// tracedFS notes what is written and not yet durable: the content of files, and
// the names in directories. It complains when a journal is decided over, or
// cleared after, something that a power cut would take away.
type tracedFS struct {
	durable.FS
	t *testing.T

	mu sync.Mutex
	// loose is by the name of what would be lost.
	loose map[string]string
	syncs int
	decisions, clearings,
	togethers int
}

func newTracedFS(w *world) *tracedFS {
	return &tracedFS{FS: w.fsys(), t: w.t.(*testing.T), loose: map[string]string{}}
}

func (f *tracedFS) note(what, name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.loose[name] = what
}

func (f *tracedFS) settle(names func(name, what string) bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.syncs++
	for name, what := range f.loose {
		if names(name, what) {
			delete(f.loose, name)
		}
	}
}

// nothingLoose judges a moment at which all that was written must be durable,
// but for what is on its way there in the same change.
func (f *tracedFS) nothingLoose(moment string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for name, what := range f.loose {
		if !strings.HasPrefix(path.Base(strings.TrimSuffix(name, "/")), "journal.json") {
			f.t.Errorf("%s, while %s of %s would not survive a power cut", moment, what, name)
		}
	}
}

func (f *tracedFS) Mkdir(name string, perm fs.FileMode) error {
	err := f.FS.Mkdir(name, perm)
	if err == nil {
		f.note("the name", name)
	}
	return err
}

func (f *tracedFS) Create(name string, perm fs.FileMode) (durable.File, error) {
	file, err := f.FS.Create(name, perm)
	f.note("the name", name)
	f.note("the content", name+"/")
	return &tracedFile{File: file, fs: f, name: name}, err
}

func (f *tracedFS) Rename(from, to string) error {
	if to == journalFile {
		f.decisions++
		f.nothingLoose("the journal is decided")
	}
	err := f.FS.Rename(from, to)
	if err == nil {
		f.note("the name", to)
	}
	return err
}

func (f *tracedFS) RemoveAll(name string) error {
	if name == journalFile {
		f.clearings++
		f.nothingLoose("the journal is cleared")
	}
	return f.FS.RemoveAll(name)
}

func (f *tracedFS) SyncDir(dir string) error {
	f.settle(func(name, what string) bool { return what == "the name" && path.Dir(name) == dir })
	return f.FS.SyncDir(dir)
}

type tracedFile struct {
	durable.File
	fs   *tracedFS
	name string
}

func (f *tracedFile) Sync() error {
	f.fs.settle(func(name, _ string) bool { return name == f.name+"/" })
	return f.File.Sync()
}

// tracedVolume is a traced file system that makes all durable at once.
type tracedVolume struct{ *tracedFS }

func (v tracedVolume) pays(int) bool { return true }

func (v tracedVolume) syncAll() error {
	v.togethers++
	v.settle(func(string, string) bool { return true })
	return nil
}

// CMP-15: what the journal decides on is durable before it is decided, and in
// its place before the journal goes, whichever way it is made durable.
func TestWhatTheJournalDecidesOnIsDurable(t *testing.T) {
	t.Parallel()
	for _, together := range []bool{false, true} {
		t.Run(fmt.Sprintf("together %v", together), func(t *testing.T) {
			t.Parallel()
			w, _ := crashStory(t)
			traced := newTracedFS(w)
			var fsys durable.FS = traced
			if together {
				fsys = tracedVolume{traced}
			}
			if err := w.carryOut(fsys); err != nil {
				t.Fatal(err)
			}
			if traced.decisions != 1 || traced.clearings != 1 {
				t.Errorf("the journal was decided %d times and cleared %d times", traced.decisions, traced.clearings)
			}
			if want := map[bool]int{true: 2}[together]; traced.togethers != want {
				t.Errorf("all was synced together %d times, want %d", traced.togethers, want)
			}
		})
	}
}

// CMP-15: many nodes are made durable together, and are all there.
func TestManyNodesAreMadeDurableTogether(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.generate(benchSize{nodes: manyNodes + 1, services: 10, reach: 2})
	if result := w.compile(); len(result.Changes) != manyNodes+1 {
		t.Fatalf("%d nodes were compiled", len(result.Changes))
	}
	if result := w.compile(); len(result.Changes) != 0 {
		t.Errorf("a second compile moves %v", moves(result))
	}
}
