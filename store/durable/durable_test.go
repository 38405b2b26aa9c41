package durable_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/florete/flor/store/durable"
)

func openDir(t *testing.T) (*durable.Dir, string) {
	t.Helper()
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return durable.OS(root), dir
}

// tree lists what is below dir as "mode name content".
func tree(t *testing.T, dir string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		line := info.Mode().String() + " " + name
		if info.Mode().IsRegular() {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			line += " " + string(text)
		}
		found = append(found, line)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func wantTree(t *testing.T, dir string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, tree(t, dir)); diff != "" {
		t.Errorf("tree (-want +got):\n%s", diff)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestReplaceFile(t *testing.T) {
	t.Parallel()
	d, dir := openDir(t)
	must(t, os.WriteFile(filepath.Join(dir, "a.tmp"), []byte("left by a crash"), 0o644))
	must(t, durable.ReplaceFile(d, "a", []byte("one"), 0o600))
	wantTree(t, dir, "-rw------- a one")
	must(t, durable.ReplaceFile(d, "a", []byte("two"), 0o640))
	wantTree(t, dir, "-rw-r----- a two")
}

var sample = durable.Tree{Perm: 0o750, Entries: []durable.Entry{
	{Name: "f", Mode: 0o644, Data: []byte("x")},
	{Name: "sub", Mode: fs.ModeDir | 0o711},
	{Name: "sub/g", Mode: 0o600, Data: []byte("y")},
}}

func TestPublishDir(t *testing.T) {
	t.Parallel()
	d, dir := openDir(t)
	must(t, os.Mkdir(filepath.Join(dir, "v1.partial"), 0o700))
	must(t, os.WriteFile(filepath.Join(dir, "v1.partial", "old"), nil, 0o600))
	must(t, durable.PublishDir(d, "v1", sample))
	wantTree(t, dir, "drwxr-x--- v1", "-rw-r--r-- v1/f x", "drwx--x--x v1/sub", "-rw------- v1/sub/g y")
	if err := durable.PublishDir(d, "v1", sample); err == nil {
		t.Error("a directory was published over another")
	}
	must(t, durable.DiscardStaged(d, "v1"))
	must(t, durable.RemoveDir(d, "v1"))
	must(t, durable.RemoveDir(d, "v1"))
	wantTree(t, dir)
}

// TestReplaceDirAndSettle is SET-8: a start finds the old directory or the new
// one, wherever the exchange was cut.
func TestReplaceDirAndSettle(t *testing.T) {
	t.Parallel()
	next := durable.Tree{Perm: 0o700, Entries: []durable.Entry{{Name: "f", Mode: 0o600, Data: []byte("new")}}}
	for cut := 0; ; cut++ {
		d, dir := openDir(t)
		must(t, durable.PublishDir(d, "id", durable.Tree{Perm: 0o700, Entries: []durable.Entry{{Name: "f", Mode: 0o600, Data: []byte("old")}}}))
		err := durable.ReplaceDir(&faulty{FS: d, failAt: cut, forGood: true}, "id", next)
		must(t, durable.SettleDir(d, "id"))
		got := strings.Join(tree(t, dir), "\n")
		if got != "drwx------ id\n-rw------- id/f old" && got != "drwx------ id\n-rw------- id/f new" {
			t.Errorf("cut after %d changes and settled:\n%s", cut, got)
		}
		if err == nil {
			if !strings.HasSuffix(got, "new") {
				t.Errorf("the exchange reported success and left:\n%s", got)
			}
			t.Logf("%d points tried", cut+1)
			return
		}
	}
}

// TestReplaceDirThatIsMissing makes it.
func TestReplaceDirThatIsMissing(t *testing.T) {
	t.Parallel()
	d, dir := openDir(t)
	must(t, durable.ReplaceDir(d, "id", durable.Tree{Perm: 0o700}))
	wantTree(t, dir, "drwx------ id")
}

// TestMoveDir moves to a free name only.
func TestMoveDir(t *testing.T) {
	t.Parallel()
	d, dir := openDir(t)
	must(t, durable.PublishDir(d, "a", durable.Tree{Perm: 0o700}))
	must(t, durable.PublishDir(d, "c", durable.Tree{Perm: 0o700}))
	must(t, durable.MoveDir(d, "a", "b"))
	if err := durable.MoveDir(d, "b", "c"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("moved over another: %v", err)
	}
	wantTree(t, dir, "drwx------ b", "drwx------ c")
}

// TestReplaceFileFaults is SET-2: before the rename a fault means not written,
// after it unknown.
func TestReplaceFileFaults(t *testing.T) {
	t.Parallel()
	steps := []string{"remove the leftover", "create", "write", "sync", "rename", "sync the directory"}
	for failAt, step := range steps {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			d, dir := openDir(t)
			must(t, durable.ReplaceFile(d, "a", []byte("old"), 0o600))
			err := durable.ReplaceFile(&faulty{FS: d, failAt: failAt}, "a", []byte("new"), 0o600)
			if !errors.Is(err, errFault) {
				t.Fatalf("got %v, want the fault", err)
			}
			var unknown *durable.UnknownError
			if isUnknown := errors.As(err, &unknown); isUnknown != (failAt > 4) {
				t.Errorf("unknown: %v", isUnknown)
			}
			if failAt > 4 {
				return
			}
			wantTree(t, dir, "-rw------- a old")
		})
	}
}

// TestPublishDirFaults leaves nothing under the final name, and nothing at all
// where it still can.
func TestPublishDirFaults(t *testing.T) {
	t.Parallel()
	for failAt := 0; ; failAt++ {
		d, dir := openDir(t)
		err := durable.PublishDir(&faulty{FS: d, failAt: failAt}, "v1", sample)
		if err == nil {
			t.Logf("%d points tried", failAt)
			return
		}
		if errors.As(err, new(*durable.UnknownError)) {
			continue
		}
		if _, err := os.Lstat(filepath.Join(dir, "v1")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("fault %d: the final name stands: %v", failAt, err)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	t.Parallel()
	d, dir := openDir(t)
	must(t, os.WriteFile(filepath.Join(dir, "big"), make([]byte, 11), 0o600))
	must(t, os.MkdirAll(filepath.Join(dir, "sub", "deep"), 0o700))
	must(t, os.WriteFile(filepath.Join(dir, "sub", "f"), nil, 0o600))
	must(t, os.Symlink("sub", filepath.Join(dir, "inside")))
	must(t, os.Symlink("/etc", filepath.Join(dir, "outside")))
	must(t, os.Symlink("sub/f", filepath.Join(dir, "file")))
	if _, err := d.ReadFile("big", 10); !errors.As(err, new(*durable.SizeError)) {
		t.Errorf("a file over the limit: %v", err)
	}
	if got, err := d.ReadFile("big", 11); err != nil || len(got) != 11 {
		t.Errorf("a file at the limit: %d bytes, %v", len(got), err)
	}
	for _, name := range []string{"sub", "inside", "inside/f", "outside", "outside/passwd", "file"} {
		if _, err := d.ReadFile(name, 10); !errors.As(err, new(*durable.KindError)) {
			t.Errorf("%s was read: %v", name, err)
		}
	}
	for _, name := range []string{"../x", "/etc/passwd"} {
		if _, err := d.ReadFile(name, 10); err == nil {
			t.Errorf("%s was read", name)
		}
	}
}

// TestChangesFollowNoLink: whoever can put a link below the directory cannot
// make us write or remove elsewhere, also not within it.
func TestChangesFollowNoLink(t *testing.T) {
	t.Parallel()
	for _, target := range []string{"victim", "VICTIM"} {
		d, dir := openDir(t)
		must(t, os.Mkdir(filepath.Join(dir, "victim"), 0o700))
		must(t, os.WriteFile(filepath.Join(dir, "victim", "f"), []byte("x"), 0o600))
		if target == "VICTIM" {
			target = filepath.Join(dir, "victim")
		}
		must(t, os.Symlink(target, filepath.Join(dir, "link")))
		_, createErr := d.Create("link/g", 0o600)
		for what, err := range map[string]error{
			"replace file": durable.ReplaceFile(d, "link/f", nil, 0o600),
			"publish":      durable.PublishDir(d, "link/v1", sample),
			"create":       createErr,
			"mkdir":        d.Mkdir("link/d", 0o700),
			"remove":       d.RemoveAll("link/f"),
			"rename":       d.Rename("victim/f", "link/g"),
			"rename from":  d.Rename("link/f", "g"),
			"sync":         d.SyncDir("link"),
		} {
			if err == nil {
				t.Errorf("%s through a link to %s", what, target)
			}
		}
		must(t, d.RemoveAll("link"))
		wantTree(t, dir, "drwx------ victim", "-rw------- victim/f x")
	}
}

var errFault = errors.New("fault of the disk")

// faulty is a disk on which one change fails, or all from one on.
type faulty struct {
	durable.FS
	failAt  int // counted from 0
	forGood bool
	done    int
}

func (f *faulty) try(change func() error) error {
	f.done++
	if f.done-1 == f.failAt || f.forGood && f.done > f.failAt {
		return errFault
	}
	return change()
}

func (f *faulty) Mkdir(name string, perm fs.FileMode) error {
	return f.try(func() error { return f.FS.Mkdir(name, perm) })
}

func (f *faulty) Rename(oldName, newName string) error {
	return f.try(func() error { return f.FS.Rename(oldName, newName) })
}

func (f *faulty) RemoveAll(name string) error {
	return f.try(func() error { return f.FS.RemoveAll(name) })
}

func (f *faulty) SyncDir(name string) error {
	return f.try(func() error { return f.FS.SyncDir(name) })
}

func (f *faulty) Create(name string, perm fs.FileMode) (durable.File, error) {
	var file durable.File
	err := f.try(func() (err error) {
		file, err = f.FS.Create(name, perm)
		return err
	})
	return &faultyFile{file, f}, err
}

type faultyFile struct {
	durable.File
	disk *faulty
}

func (f *faultyFile) Write(p []byte) (n int, err error) {
	err = f.disk.try(func() (err error) {
		n, err = f.File.Write(p)
		return err
	})
	return n, err
}

func (f *faultyFile) Sync() error { return f.disk.try(f.File.Sync) }

// TestDirectoriesAreSynced is SET-2: every directory of a tree before the name
// that makes it final, and the parent after it. Only a power failure tells the
// difference, so what was asked of the disk is looked at.
func TestDirectoriesAreSynced(t *testing.T) {
	t.Parallel()
	d, _ := openDir(t)
	log := &logged{FS: d}
	must(t, durable.PublishDir(log, "v1", sample))
	must(t, durable.MoveDir(log, "v1", "v2"))
	must(t, durable.ReplaceDir(log, "v2", durable.Tree{Perm: 0o700}))
	must(t, durable.ReplaceFile(log, "a", nil, 0o600))
	want := []string{
		"sync v1.partial/sub", "sync v1.partial", "rename v1.partial v1", "sync .",
		"rename v1 v2", "sync .",
		"sync v2.partial", "rename v2 v2.old", "sync .", "rename v2.partial v2", "sync .",
		"rename a.tmp a", "sync .",
	}
	if diff := cmp.Diff(want, log.done); diff != "" {
		t.Errorf("asked of the disk (-want +got):\n%s", diff)
	}
}

// logged is a disk that remembers its renames and syncs of directories.
type logged struct {
	durable.FS
	done []string
}

func (l *logged) Rename(oldName, newName string) error {
	l.done = append(l.done, "rename "+oldName+" "+newName)
	return l.FS.Rename(oldName, newName)
}

func (l *logged) SyncDir(name string) error {
	l.done = append(l.done, "sync "+name)
	return l.FS.SyncDir(name)
}
