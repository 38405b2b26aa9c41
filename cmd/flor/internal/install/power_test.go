package install

import (
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/florete/flor/store/durable"
)

// powered is an FS that knows what a loss of power would take: names that were
// given or taken away and whose directory was not synced since, and files whose
// content was not. It reports every step after which such a loss could leave a
// file that is not whole, or one that the receipt does not list.
type powered struct {
	FS
	report func(format string, args ...any)

	loose   map[string]bool // names that may come back or be lost
	written map[string]bool // files with content that may be lost
	receipt *Receipt        // the one that is durable; nil: none
	steps   int
}

func newPowered(t *testing.T, fsys FS) *powered {
	t.Helper()
	p := &powered{FS: fsys, report: t.Errorf, loose: map[string]bool{}, written: map[string]bool{}}
	p.receipt, _ = ReadReceipt(fsys)
	return p
}

func (p *powered) changed(name string) {
	p.steps++
	p.loose[name] = true
}

func (p *powered) Mkdir(name string, perm fs.FileMode) error {
	if above := strings.HasPrefix(ReceiptFile, name+"/"); !above && name != stageDir+durable.PartialSuffix &&
		(p.receipt == nil || !slices.Contains(p.receipt.Dirs, name)) {
		p.report("step %d: %s is made before a durable receipt lists it", p.steps, name)
	}
	p.changed(name)
	return p.FS.Mkdir(name, perm)
}

func (p *powered) Create(name string, perm fs.FileMode) (durable.File, error) {
	p.changed(name)
	f, err := p.FS.Create(name, perm)
	return &poweredFile{f, p, name}, err
}

type poweredFile struct {
	durable.File
	p    *powered
	name string
}

func (f *poweredFile) Write(data []byte) (int, error) {
	f.p.written[f.name] = true
	return f.File.Write(data)
}

func (f *poweredFile) Sync() error {
	delete(f.p.written, f.name)
	return f.File.Sync()
}

// Rename gives what was written its final name: of a file that is placed, or of
// the receipt.
func (p *powered) Rename(oldName, newName string) error {
	if p.written[oldName] {
		p.report("step %d: %s gets its name before its content is durable", p.steps, newName)
	}
	if newName == ReceiptFile {
		p.nothingLoose("the receipt is replaced")
	} else {
		p.listed(oldName, newName)
	}
	p.changed(newName)
	return p.FS.Rename(oldName, newName)
}

// listed asks that the durable receipt lists a file as it is about to stand.
func (p *powered) listed(staged, name string) {
	data, err := p.FS.ReadFile(staged, MaxFile)
	if err != nil || !p.receipt.lists(name, digest(data)) {
		p.report("step %d: %s is placed before a durable receipt lists it (%v)", p.steps, name, err)
	}
}

func (p *powered) Remove(name string) error {
	if name == ReceiptFile {
		p.nothingLoose("the receipt is removed")
	}
	p.changed(name)
	return p.FS.Remove(name)
}

// nothingLoose asks that what the receipt tells of is durable: names below the
// stage and temporary ones are nobody's.
func (p *powered) nothingLoose(when string) {
	for _, name := range slices.Sorted(maps.Keys(p.loose)) {
		if !strings.HasPrefix(name, stageDir+durable.PartialSuffix) && !strings.HasSuffix(name, durable.TmpSuffix) {
			p.report("step %d: %s and %s may be lost or come back", p.steps, when, name)
		}
	}
}

func (p *powered) SyncDir(name string) error {
	if err := p.FS.SyncDir(name); err != nil {
		return err
	}
	for loose := range p.loose {
		if path.Dir(loose) == name {
			delete(p.loose, loose)
		}
	}
	if name == LibDir {
		p.receipt, _ = ReadReceipt(p.FS)
	}
	return nil
}

// INS-1: power that fails at any instant leaves every file whole and listed,
// because each step waits for what it builds on to be durable.
func TestEachStepWaitsForWhatItBuildsOn(t *testing.T) {
	t.Parallel()
	for name, s := range scenarios {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, fsys := prefix(t)
			if s.before != "" {
				mustInstall(t, fsys, s.before)
			}
			p := newPowered(t, fsys)
			if err := s.do(t.Context(), p, &fakeScopes{running: []string{"demo"}, m: &mortal{FS: fsys}}); err != nil {
				t.Fatal(err)
			}
			p.nothingLoose("it has ended")
			t.Logf("%d steps", p.steps)
		})
	}
}

// unsynced is an FS that syncs neither this directory nor this file.
type unsynced struct {
	*powered
	name string
}

func (u unsynced) SyncDir(name string) error {
	if name == u.name {
		return nil
	}
	return u.powered.SyncDir(name)
}

func (u unsynced) Create(name string, perm fs.FileMode) (durable.File, error) {
	f, err := u.powered.Create(name, perm)
	if name == u.name {
		return unsyncedFile{f}, err
	}
	return f, err
}

type unsyncedFile struct{ durable.File }

func (unsyncedFile) Sync() error { return nil }

// The test above finds whatever is not synced.
func TestAStepThatDoesNotWaitIsFound(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct{ scenario, name string }{
		"the directory of a program at an upgrade":    {"upgrade", "bin"},
		"the directory of the receipt":                {"first install", LibDir},
		"the content of the receipt":                  {"upgrade", ReceiptFile + durable.TmpSuffix},
		"the content of a program":                    {"first install", stagedPath(flor)},
		"the prefix in which a directory is made":     {"first install", "."},
		"the directory of a program that is removed":  {"removal", "bin"},
		"the directory of a program that is obsolete": {"upgrade", LibDir},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			_, fsys := prefix(t)
			s := scenarios[c.scenario]
			if s.before != "" {
				mustInstall(t, fsys, s.before)
			}
			p := newPowered(t, fsys)
			found := 0
			p.report = func(string, ...any) { found++ }
			if err := s.do(t.Context(), unsynced{p, c.name}, &fakeScopes{m: &mortal{FS: fsys}}); err != nil {
				t.Fatal(err)
			}
			p.nothingLoose("it has ended")
			if found == 0 {
				t.Error("nothing was found")
			}
		})
	}
}
