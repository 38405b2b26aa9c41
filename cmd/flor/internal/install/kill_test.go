package install

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/florete/flor/store"
	"github.com/florete/flor/store/durable"
)

var errKilled = errors.New("the process was killed here")

// mortal is an FS whose process is killed before its step number dies: that and
// all that follow do nothing.
type mortal struct {
	FS
	dies, steps int
}

func (m *mortal) step() error {
	m.steps++
	if m.dies > 0 && m.steps >= m.dies {
		return errKilled
	}
	return nil
}

func (m *mortal) Mkdir(name string, perm fs.FileMode) error {
	if err := m.step(); err != nil {
		return err
	}
	return m.FS.Mkdir(name, perm)
}

func (m *mortal) Create(name string, perm fs.FileMode) (durable.File, error) {
	if err := m.step(); err != nil {
		return nil, err
	}
	f, err := m.FS.Create(name, perm)
	return &mortalFile{File: f, m: m}, err
}

func (m *mortal) Rename(oldName, newName string) error {
	if err := m.step(); err != nil {
		return err
	}
	return m.FS.Rename(oldName, newName)
}

func (m *mortal) RemoveAll(name string) error {
	if err := m.step(); err != nil {
		return err
	}
	return m.FS.RemoveAll(name)
}

func (m *mortal) Remove(name string) error {
	if err := m.step(); err != nil {
		return err
	}
	return m.FS.Remove(name)
}

func (m *mortal) SyncDir(name string) error {
	return m.step() // who is killed loses nothing that was written; power is another matter
}

// mortalFile writes half of what it is given when its process is killed.
type mortalFile struct {
	durable.File
	m *mortal
}

func (f *mortalFile) Write(data []byte) (int, error) {
	if err := f.m.step(); err != nil {
		n, _ := f.File.Write(data[:len(data)/2])
		return n, err
	}
	return f.File.Write(data)
}

func (f *mortalFile) Sync() error {
	return f.m.step()
}

// fakeScopes are scopes that a service manager runs; their process may be killed.
type fakeScopes struct {
	running []string
	m       *mortal
}

func (s *fakeScopes) Running(context.Context) ([]string, error) { return slices.Clone(s.running), nil }

func (s *fakeScopes) Stop(_ context.Context, scope string) error {
	if err := s.m.step(); err != nil {
		return err
	}
	s.running = slices.DeleteFunc(s.running, func(r string) bool { return r == scope })
	return nil
}

func (s *fakeScopes) Start(_ context.Context, scope string) error {
	if err := s.m.step(); err != nil {
		return err
	}
	s.running = union(s.running, []string{scope})
	return nil
}

func (s *fakeScopes) Reload(context.Context) error { return s.m.step() }

// files is a small install; version varies the content of each.
func files(version string) []File {
	all := []File{
		{"bin/flor", 0o755, []byte("flor " + version)},
		{"bin/retectl", 0o755, []byte("retectl " + version)},
		{"lib/flor/flor-vertex", 0o755, []byte("flor-vertex " + version)},
		{"share/systemd/user/flor-agent@.service", 0o644, []byte("unit " + version)},
	}
	if version == "1" {
		all = append(all, File{"lib/flor/flor-old", 0o755, []byte("only in version 1")})
	}
	return all
}

func options(version string, scopes Scopes) Options {
	return Options{Mode: store.User, Version: version, Files: files(version), Scopes: scopes}
}

// prefix is an empty prefix, with the FS on it.
func prefix(t *testing.T) (string, Dir) {
	t.Helper()
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return dir, OS(root)
}

// tree is what is below a directory: files with their content, the receipt
// without.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		name, _ := filepath.Rel(dir, path)
		switch {
		case err != nil || name == ".":
			return err
		case e.IsDir():
			found[name] = "a directory"
			return nil
		case name == ReceiptFile:
			found[name] = "the receipt"
			return nil
		}
		text, err := os.ReadFile(path)
		found[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// installed is the tree of an install.
func installed(t *testing.T, version string) map[string]string {
	t.Helper()
	dir, fsys := prefix(t)
	if _, err := Install(t.Context(), fsys, options(version, nil)); err != nil {
		t.Fatal(err)
	}
	return tree(t, dir)
}

// scenario is what is being done when the process is killed.
type scenario struct {
	before string // the version that is installed first; empty: none
	do     func(ctx context.Context, fsys FS, scopes *fakeScopes) error
}

func installing(version string) func(context.Context, FS, *fakeScopes) error {
	return func(ctx context.Context, fsys FS, scopes *fakeScopes) error {
		_, err := Install(ctx, fsys, options(version, scopes))
		return err
	}
}

func removing(_ context.Context, fsys FS, _ *fakeScopes) error {
	_, err := Remove(fsys)
	return err
}

var scenarios = map[string]scenario{
	"first install": {"", installing("1")},
	"upgrade":       {"1", installing("2")},
	"downgrade":     {"2", installing("1")},
	"removal":       {"1", removing},
}

// point is a prefix in which a scenario was killed at one step.
type point struct {
	dir    string
	fsys   Dir
	scopes *fakeScopes
	ended  bool // the scenario came to its end before the step
}

func (s scenario) killedAt(t *testing.T, step int) point {
	t.Helper()
	dir, fsys := prefix(t)
	p := point{dir: dir, fsys: fsys, scopes: &fakeScopes{m: &mortal{FS: fsys}}}
	if s.before != "" {
		if _, err := Install(t.Context(), fsys, options(s.before, nil)); err != nil {
			t.Fatal(err)
		}
		p.scopes.running = []string{"demo", "work"}
	}
	victim := &mortal{FS: fsys, dies: step}
	p.scopes.m = victim
	err := s.do(t.Context(), victim, p.scopes)
	p.ended = victim.steps < step
	if p.ended != (err == nil) {
		t.Fatalf("step %d: %v", step, err)
	}
	p.scopes.m = &mortal{FS: fsys}
	return p
}

// everyPoint kills each scenario at each of its steps.
func everyPoint(t *testing.T, check func(t *testing.T, s scenario, p point)) {
	for name, s := range scenarios {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for step := 1; ; step++ {
				p := s.killedAt(t, step)
				check(t, s, p)
				if t.Failed() {
					t.Fatalf("killed at step %d", step)
				}
				if p.ended {
					t.Logf("%d steps tried", step-1)
					return
				}
			}
		})
	}
}

// INS-1: at every instant each file is one of the two versions, whole, and the
// receipt lists all that stands.
func TestKilledAtAnyStepEveryFileIsWholeAndListed(t *testing.T) {
	t.Parallel()
	everyPoint(t, func(t *testing.T, _ scenario, p point) {
		known := map[string]bool{}
		for _, f := range append(files("1"), files("2")...) {
			known[f.Path+" "+string(f.Data)] = true
		}
		receipt, err := ReadReceipt(p.fsys)
		for name, text := range tree(t, p.dir) {
			stage := filepath.Dir(name) == stageDir+durable.PartialSuffix || name == ReceiptFile+durable.TmpSuffix
			if text == "a directory" || text == "the receipt" || stage {
				continue
			}
			if err != nil || !receipt.lists(name, digest([]byte(text))) {
				t.Errorf("%s is not listed (%v)", name, err)
			}
			if !known[name+" "+text] {
				t.Errorf("%s holds %q", name, text)
			}
		}
	})
}

// INS-1: the same command again finishes what was cut short, and the scopes that
// ran run again.
func TestKilledAtAnyStepTheSameAgainFinishesIt(t *testing.T) {
	t.Parallel()
	want := map[string]map[string]string{"1": installed(t, "1"), "2": installed(t, "2")}
	everyPoint(t, func(t *testing.T, s scenario, p point) {
		before := slices.Clone(p.scopes.running)
		err := s.do(t.Context(), p.fsys, p.scopes)
		if refused, ok := errors.AsType[*Refusal](err); ok && refused.Reason == NoReceipt {
			err = nil // of a removal nothing was left but empty directories
		}
		if err != nil {
			t.Fatal(err)
		}
		after := tree(t, p.dir)
		receipt, _ := ReadReceipt(p.fsys)
		if receipt == nil {
			dropDirectories(after)
			if diff := cmp.Diff(map[string]string{}, after); diff != "" {
				t.Errorf("after a removal (-want +got):\n%s", diff)
			}
			return
		}
		if diff := cmp.Diff(want[receipt.Version], after); diff != "" {
			t.Errorf("after the same again (-want +got):\n%s", diff)
		}
		slices.Sort(p.scopes.running)
		if s.before != "" && !slices.Equal(p.scopes.running, []string{"demo", "work"}) {
			t.Errorf("scopes run: %v; when it was killed: %v", p.scopes.running, before)
		}
		if receipt.State != Installed || len(receipt.Stopped) != 0 {
			t.Errorf("the receipt says %s, to be started: %v", receipt.State, receipt.Stopped)
		}
	})
}

func dropDirectories(tree map[string]string) {
	for name, text := range tree {
		if text == "a directory" {
			delete(tree, name)
		}
	}
}

// INS-1: a removal takes back what was cut short, and leaves no file.
func TestKilledAtAnyStepARemovalLeavesNothing(t *testing.T) {
	t.Parallel()
	everyPoint(t, func(t *testing.T, s scenario, p point) {
		if _, err := Remove(p.fsys); err != nil {
			if refused, ok := errors.AsType[*Refusal](err); !ok || refused.Reason != NoReceipt {
				t.Fatal(err)
			}
		}
		left := tree(t, p.dir)
		dropDirectories(left)
		delete(left, ReceiptFile+durable.TmpSuffix)
		if diff := cmp.Diff(map[string]string{}, left); diff != "" {
			t.Errorf("left (-want +got):\n%s", diff)
		}
	})
}
