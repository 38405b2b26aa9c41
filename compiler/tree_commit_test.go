package compiler

import (
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/florete/flor/store/durable"
)

var errPowerCut = errors.New("the power was cut")

// cutFS lets a number of changes happen and then none, as when the power is
// cut: from then on every change fails, and so does what wants to clean up.
type cutFS struct {
	durable.FS
	mu   sync.Mutex
	left int
	done int
}

func (c *cutFS) step() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left == 0 {
		return errPowerCut
	}
	c.left--
	c.done++
	return nil
}

func (c *cutFS) Mkdir(name string, perm fs.FileMode) error {
	if err := c.step(); err != nil {
		return err
	}
	return c.FS.Mkdir(name, perm)
}

func (c *cutFS) Create(name string, perm fs.FileMode) (durable.File, error) {
	if err := c.step(); err != nil {
		return nil, err
	}
	f, err := c.FS.Create(name, perm)
	return &cutFile{File: f, fs: c}, err
}

func (c *cutFS) Rename(from, to string) error {
	if err := c.step(); err != nil {
		return err
	}
	return c.FS.Rename(from, to)
}

func (c *cutFS) RemoveAll(name string) error {
	if err := c.step(); err != nil {
		return err
	}
	return c.FS.RemoveAll(name)
}

func (c *cutFS) SyncDir(name string) error {
	if err := c.step(); err != nil {
		return err
	}
	return c.FS.SyncDir(name)
}

// cutFile writes half of what it should when the power is cut in a write.
type cutFile struct {
	durable.File
	fs *cutFS
}

func (f *cutFile) Write(data []byte) (int, error) {
	if err := f.fs.step(); err != nil {
		n, _ := f.File.Write(data[:len(data)/2])
		return n, err
	}
	return f.File.Write(data)
}

func (f *cutFile) Sync() error {
	if err := f.fs.step(); err != nil {
		return err
	}
	return f.File.Sync()
}

// crashStory is a change that touches a node, adds one and drops one.
func crashStory(t *testing.T) (w *world, before map[string]string) {
	t.Helper()
	w = newWorld(t)
	w.edit("nodes.yaml", "nodes:\n", "nodes:\n  phone: {vertices: [{name: quic, kind: link, type: quic}]}\n")
	w.compile()
	before = w.snapshot()
	w.edit("nodes.yaml", "  phone:", "  tablet:")
	w.edit("services.yaml", "127.0.0.1:9000", "127.0.0.1:9002")
	return w, before
}

// carryOut runs the writing half of a compile on fsys, with a fixed plan.
func (w *world) carryOut(fsys durable.FS) error {
	loaded, err := Load(w.source())
	if err != nil {
		return err
	}
	p, err := makePlan(w.t.Context(), loaded.View, fsys, CompileOptions{})
	if err != nil {
		return err
	}
	return p.carryOut(w.t.Context(), fsys, w.options())
}

func (w *world) fsys() durable.FS {
	w.t.Helper()
	root, err := os.OpenRoot(w.dir)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { root.Close() })
	return durable.OS(root)
}

// CMP-15: whenever the power is cut, the next run finds the old tree or the new
// one, with its ledger, and nothing else.
func TestACrashLeavesTheOldOrTheNewTree(t *testing.T) {
	t.Parallel()
	w, before := crashStory(t)
	if err := w.carryOut(w.fsys()); err != nil {
		t.Fatal(err)
	}
	after := w.snapshot()
	if sameFiles(before, after) {
		t.Fatal("the story changes nothing")
	}
	points, news := 0, 0
	for cut := 0; ; cut++ {
		w.restore(before)
		fsys := &cutFS{FS: w.fsys(), left: cut}
		err := w.carryOut(fsys)
		if err != nil && !errors.Is(err, errPowerCut) {
			t.Fatalf("cut after %d changes: %v", cut, err)
		}
		w.recover(cut)
		switch found := w.snapshot(); {
		case sameFiles(found, after):
			news++
		case !sameFiles(found, before):
			t.Fatalf("cut after %d changes: neither the old nor the new tree", cut)
		case news > 0:
			t.Fatalf("cut after %d changes: the old tree, though the decision had been made", cut)
		}
		points++
		if err == nil {
			break
		}
	}
	t.Logf("%d points of a power cut, %d of them after the decision", points, news)
	if news < 2 || news == points {
		t.Errorf("of %d points %d gave the new tree: the journal was not exercised", points, news)
	}
}

// recover runs recovery, itself cut short once on the way.
func (w *world) recover(cut int) {
	w.t.Helper()
	interrupted := &cutFS{FS: w.fsys(), left: cut % 5}
	if err := recoverTree(interrupted); err != nil && !errors.Is(err, errPowerCut) {
		w.t.Fatalf("cut after %d changes: recovery: %v", cut, err)
	}
	if err := recoverTree(w.fsys()); err != nil {
		w.t.Fatalf("cut after %d changes: recovery: %v", cut, err)
	}
}

func TestCompileFinishesWhatWasCutShort(t *testing.T) {
	t.Parallel()
	w, _ := crashStory(t)
	fsys := &cutFS{FS: w.fsys(), left: 1 << 20}
	if err := w.carryOut(fsys); err != nil {
		t.Fatal(err)
	}
	w2, _ := crashStory(t)
	// The last changes clear the journal and the staging directory: cut before.
	if err := w2.carryOut(&cutFS{FS: w2.fsys(), left: fsys.done - 4}); !errors.Is(err, errPowerCut) {
		t.Fatalf("got %v", err)
	}
	opts := w2.options()
	opts.Check = true
	if err := w2.compileError(opts); !IsRefused(err, ReasonCompileRunning) {
		t.Errorf("--check over an unfinished compile: %v", err)
	}
	if result := w2.compile(); len(result.Changes) != 0 {
		t.Errorf("after recovery the compile still moves %v", moves(result))
	}
}

func TestAJournalThatCannotBeReadIsRefused(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"half":                    `{"schema_version": "1.0", "nodes": {`,
		"without ledger":          `{"schema_version": "1.0", "nodes": {}, "ledger": null}`,
		"a newer form":            `{"schema_version": "3.0", "nodes": {}, "ledger": {"schema_version": "1.0", "nodes": {}}}`,
		"a node outside the tree": `{"schema_version": "1.0", "nodes": {"../..": {"put": [], "drop": []}}, "ledger": {"schema_version": "1.0", "nodes": {}}}`,
		"a file outside the tree": `{"schema_version": "1.0", "nodes": {"a": {"put": ["../x"], "drop": []}}, "ledger": {"schema_version": "1.0", "nodes": {}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.compile()
			w.write(journalFile, text)
			before := w.snapshot()
			if err := w.compileError(w.options()); !IsRefused(err, ReasonJournalDamaged) {
				t.Errorf("got %v", err)
			}
			if !sameFiles(before, w.snapshot()) {
				t.Error("something was written")
			}
		})
	}
}

// CMP-15: two compiles at once; the second is refused with the holder named.
func TestTheSecondCompileIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	repo, err := openRepository(w.dir)
	if err != nil {
		t.Fatal(err)
	}
	err = w.compileError(w.options())
	if !IsRefused(err, ReasonCompileRunning) || !strings.Contains(err.Error(), strconv.Itoa(os.Getpid())) {
		t.Errorf("got %v, want a refusal that names process %d", err, os.Getpid())
	}
	if err := repo.Close(); err != nil {
		t.Fatal(err)
	}
	w.compile()
}

// A disk that fills up while staging leaves everything as it was.
func TestAFailureBeforeTheDecisionLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	w, before := crashStory(t)
	if err := w.carryOut(&fullFS{FS: w.fsys(), room: 3}); !errors.Is(err, errDiskFull) {
		t.Fatalf("got %v", err)
	}
	w.recover(0)
	if !sameFiles(before, w.snapshot()) {
		t.Error("the tree changed")
	}
}

var errDiskFull = errors.New("no space left on device")

// fullFS has room for a number of files; removing and renaming still work.
type fullFS struct {
	durable.FS
	mu   sync.Mutex
	room int
}

func (f *fullFS) Create(name string, perm fs.FileMode) (durable.File, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.room == 0 {
		return nil, errDiskFull
	}
	f.room--
	return f.FS.Create(name, perm)
}

// FuzzParseJournal: no text makes the reader panic, and no name that it takes
// leads out of the tree.
func FuzzParseJournal(f *testing.F) {
	f.Add([]byte(`{"schema_version": "1.0", "nodes": {"a": {"put": ["agent.json"], "drop": []}}, "ledger": {"schema_version": "1.0", "nodes": {}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		j, err := parseJournal(text)
		if err != nil {
			return
		}
		for node, entry := range j.Nodes {
			for _, name := range append(append([]string{node}, entry.Put...), entry.Drop...) {
				if strings.ContainsAny(name, "/\\") || strings.HasPrefix(name, ".") {
					t.Errorf("the journal may write to %q", name)
				}
			}
		}
	})
}
