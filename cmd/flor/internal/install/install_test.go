package install

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/florete/flor/store"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func mustInstall(t *testing.T, fsys FS, version string) Result {
	t.Helper()
	done, err := Install(t.Context(), fsys, options(version, nil))
	if err != nil {
		t.Fatal(err)
	}
	return done
}

// expectRefusal checks the reason, and that the error names what a person needs.
func expectRefusal(t *testing.T, err error, want Reason, words string) {
	t.Helper()
	refused, ok := errors.AsType[*Refusal](err)
	if !ok || refused.Reason != want || !strings.Contains(err.Error(), words) {
		t.Errorf("refused with %v, want %s and %q", err, want, words)
	}
}

// INS-1: install and uninstall leave a prefix as it was, and the receipt lists
// what was placed.
func TestRemovalUndoesAnInstall(t *testing.T) {
	t.Parallel()
	dir, fsys := prefix(t)
	write(t, filepath.Join(dir, "bin/other"), "somebody else's")
	before := tree(t, dir)
	mustInstall(t, fsys, "1")
	receipt, err := ReadReceipt(fsys)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files("1") {
		if !receipt.lists(f.Path, f.digest()) {
			t.Errorf("the receipt does not list %s", f.Path)
		}
		info, err := os.Stat(filepath.Join(dir, f.Path))
		if err != nil || info.Mode().Perm() != f.Mode {
			t.Errorf("%s: %v, %v", f.Path, info, err)
		}
	}
	done, err := Remove(fsys)
	if err != nil || len(done.Left) != 0 || len(done.Removed) != len(files("1")) || slices.Index(done.Removed, flor) != len(done.Removed)-1 {
		t.Errorf("removed %v, left %v: %v", done.Removed, done.Left, err)
	}
	if diff := cmp.Diff(before, tree(t, dir)); diff != "" {
		t.Errorf("after the removal (-before +after):\n%s", diff)
	}
}

func TestForeignFilesInTheWayAreRefused(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		prepare func(t *testing.T, dir string, fsys FS)
		words   string
	}{
		"a file that no receipt lists": {func(t *testing.T, dir string, _ FS) {
			write(t, filepath.Join(dir, "bin/retectl"), "another retectl")
		}, "bin/retectl is there already and the receipt does not list it"},
		"the same file, placed by somebody else": {func(t *testing.T, dir string, _ FS) {
			write(t, filepath.Join(dir, "bin/retectl"), "retectl 2")
		}, "bin/retectl is there already"},
		"a directory in the place of a file": {func(t *testing.T, dir string, _ FS) {
			write(t, filepath.Join(dir, "bin/flor/file"), "")
		}, "bin/flor is no regular file"},
		"a link in the place of a file": {func(t *testing.T, dir string, _ FS) {
			write(t, filepath.Join(dir, "bin/other"), "")
			if err := os.Symlink("other", filepath.Join(dir, "bin/flor")); err != nil {
				t.Fatal(err)
			}
		}, "bin/flor is no regular file"},
		"a unit that was edited since": {func(t *testing.T, dir string, fsys FS) {
			mustInstall(t, fsys, "1")
			write(t, filepath.Join(dir, "share/systemd/user/flor-agent@.service"), "edited")
		}, "flor-agent@.service has been changed since it was installed"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, fsys := prefix(t)
			c.prepare(t, dir, fsys)
			before := tree(t, dir)
			_, err := Install(t.Context(), fsys, options("2", nil))
			expectRefusal(t, err, Foreign, c.words)
			if diff := cmp.Diff(before, tree(t, dir)); diff != "" {
				t.Errorf("something was touched (-before +after):\n%s", diff)
			}
		})
	}
}

func TestUpgradeStopsWhatRunsAndStartsTheSame(t *testing.T) {
	t.Parallel()
	dir, fsys := prefix(t)
	mustInstall(t, fsys, "1")
	scopes := &fakeScopes{running: []string{"demo"}, m: &mortal{FS: fsys}}
	done, err := Install(t.Context(), fsys, options("2", scopes))
	if err != nil {
		t.Fatal(err)
	}
	want := Result{
		Before:    "1",
		Placed:    []string{"bin/flor", "bin/retectl", "lib/flor/flor-vertex", "share/systemd/user/flor-agent@.service"},
		Removed:   []string{"lib/flor/flor-old"},
		Restarted: []string{"demo"},
	}
	if diff := cmp.Diff(want, done); diff != "" {
		t.Errorf("done (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(installed(t, "2"), tree(t, dir)); diff != "" {
		t.Errorf("placed (-want +got):\n%s", diff)
	}
}

func TestInstallingTheSameAgainTouchesNothing(t *testing.T) {
	t.Parallel()
	_, fsys := prefix(t)
	mustInstall(t, fsys, "1")
	scopes := &fakeScopes{running: []string{"demo"}, m: &mortal{FS: fsys}}
	done, err := Install(t.Context(), fsys, options("1", scopes))
	if err != nil || len(done.Placed) != 0 || scopes.m.steps != 0 {
		t.Errorf("done %+v, scopes touched %d times: %v", done, scopes.m.steps, err)
	}
}

func TestInstallRepairsAProgramThatIsGone(t *testing.T) {
	t.Parallel()
	dir, fsys := prefix(t)
	mustInstall(t, fsys, "1")
	if err := os.Remove(filepath.Join(dir, "bin/retectl")); err != nil {
		t.Fatal(err)
	}
	if done := mustInstall(t, fsys, "1"); !slices.Equal(done.Placed, []string{"bin/retectl"}) {
		t.Errorf("placed %v", done.Placed)
	}
}

func TestRemovalLeavesWhatWasChanged(t *testing.T) {
	t.Parallel()
	dir, fsys := prefix(t)
	mustInstall(t, fsys, "1")
	unit := "share/systemd/user/flor-agent@.service"
	write(t, filepath.Join(dir, unit), "edited")
	done, err := Remove(fsys)
	if err != nil || !slices.Equal(done.Left, []string{unit}) {
		t.Errorf("left %v: %v", done.Left, err)
	}
	left := tree(t, dir)
	dropDirectories(left)
	if diff := cmp.Diff(map[string]string{unit: "edited"}, left); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
}

func TestReceiptsThatAreNotOursAreRefused(t *testing.T) {
	t.Parallel()
	const rest = `"state":"installed","mode":"user","version":"1","dirs":[]`
	cases := map[string]struct {
		text string
		want Reason
	}{
		"of a newer flor":                 {`{"schema_version":"1.1","more":1}`, NewerReceipt},
		"no JSON":                         {`receipt`, BadReceipt},
		"with a member that nobody knows": {`{"schema_version":"1.0",` + rest + `,"files":[],"more":1}`, BadReceipt},
		"that leads out of the prefix":    {`{"schema_version":"1.0",` + rest + `,"files":[{"path":"../../etc/passwd","sha256":[]}]}`, BadReceipt},
		"that names an absolute path":     {`{"schema_version":"1.0",` + rest + `,"files":[{"path":"/etc/passwd","sha256":[]}]}`, BadReceipt},
		"of no mode":                      {`{"schema_version":"1.0","state":"installed","mode":"","version":"1","dirs":[],"files":[]}`, BadReceipt},
		"over the limit":                  {strings.Repeat(" ", maxReceipt+1), BadReceipt},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, fsys := prefix(t)
			write(t, filepath.Join(dir, ReceiptFile), c.text)
			before := tree(t, dir)
			_, err := Install(t.Context(), fsys, options("1", nil))
			expectRefusal(t, err, c.want, ReceiptFile)
			_, err = Remove(fsys)
			expectRefusal(t, err, c.want, ReceiptFile)
			if diff := cmp.Diff(before, tree(t, dir)); diff != "" {
				t.Errorf("something was touched (-before +after):\n%s", diff)
			}
		})
	}
}

func TestAnInstallOfTheOtherModeIsRefused(t *testing.T) {
	t.Parallel()
	_, fsys := prefix(t)
	mustInstall(t, fsys, "1")
	o := options("2", nil)
	o.Mode = store.System
	_, err := Install(t.Context(), fsys, o)
	expectRefusal(t, err, OtherMode, "for user mode")
}

func TestRemovalWithoutAReceiptIsRefused(t *testing.T) {
	t.Parallel()
	_, fsys := prefix(t)
	_, err := Remove(fsys)
	expectRefusal(t, err, NoReceipt, "flor install")
}

// full is an FS on a disk that has no room for what is staged.
type full struct{ FS }

var errFull = errors.New("no space left on device")

func (f full) Mkdir(name string, perm fs.FileMode) error {
	if strings.HasPrefix(name, stageDir) {
		return errFull
	}
	return f.FS.Mkdir(name, perm)
}

func TestADiskThatIsFullLeavesTheOldInstall(t *testing.T) {
	t.Parallel()
	dir, fsys := prefix(t)
	mustInstall(t, fsys, "1")
	before, err := fsys.ReadFile(ReceiptFile, maxReceipt)
	if err != nil {
		t.Fatal(err)
	}
	was := tree(t, dir)
	o := options("2", &fakeScopes{running: []string{"demo"}, m: &mortal{FS: fsys, dies: 1}})
	if _, err := Install(t.Context(), full{fsys}, o); !errors.Is(err, errFull) {
		t.Fatalf("a full disk: %v", err)
	}
	if diff := cmp.Diff(was, tree(t, dir)); diff != "" {
		t.Errorf("after the disk was full (-before +after):\n%s", diff)
	}
	after, err := fsys.ReadFile(ReceiptFile, maxReceipt)
	if err != nil || string(after) != string(before) {
		t.Errorf("the receipt is another: %v\n%s", err, after)
	}
}

func FuzzReceipt(f *testing.F) {
	f.Add([]byte(`{"schema_version":"1.0","state":"installed","mode":"user","version":"1","files":[{"path":"bin/flor","sha256":["00"]}],"dirs":["bin"]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := parseReceipt(text)
		if err != nil {
			return
		}
		for _, placed := range r.Files {
			if !filepath.IsLocal(placed.Path) {
				t.Errorf("%q leads out of the prefix", placed.Path)
			}
		}
	})
}
