package relay

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/florete/flor/envelope"
	"github.com/florete/flor/store/durable"
)

func treeAt(t *testing.T, versions map[string]uint64) *Tree {
	t.Helper()
	var members [][]byte
	for node, version := range versions {
		members = append(members, fmt.Appendf(nil,
			`{"schema_version":"1.0","plane":"mgmt","version":%d,"node":%q,"name":"agent"}`, version, node))
	}
	tree, err := ParseTree(envelope.AppendSet(nil, members...))
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// disk is a state directory that is opened anew for each start of a coordinator.
type disk struct {
	t   *testing.T
	dir string
}

func newDisk(t *testing.T) disk { return disk{t: t, dir: t.TempDir()} }

// start opens the directory as a starting coordinator does, with wrap between it
// and the files.
func (d disk) start(wrap func(durable.FS) durable.FS) (*Relay, error) {
	d.t.Helper()
	root, err := os.OpenRoot(d.dir)
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { _ = root.Close() })
	files := durable.FS(durable.OS(root))
	if wrap != nil {
		files = wrap(files)
	}
	noon := time.Date(2026, 4, 20, 12, 0, 0, 0, time.UTC)
	return New(context.Background(), newFileStore(files, func() time.Time { return noon }), Options{})
}

func (d disk) mustStart() *Relay {
	d.t.Helper()
	r, err := d.start(nil)
	if err != nil {
		d.t.Fatal(err)
	}
	return r
}

func (d disk) write(name, text string) {
	d.t.Helper()
	if err := os.WriteFile(filepath.Join(d.dir, name), []byte(text), 0o600); err != nil {
		d.t.Fatal(err)
	}
}

func (d disk) read(name string) string {
	d.t.Helper()
	text, err := os.ReadFile(filepath.Join(d.dir, name))
	if err != nil {
		d.t.Fatal(err)
	}
	return string(text)
}

func (d disk) names() []string {
	d.t.Helper()
	entries, err := os.ReadDir(d.dir)
	if err != nil {
		d.t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

func mustPublish(t *testing.T, r *Relay, tree *Tree) {
	t.Helper()
	if _, err := r.publish(context.Background(), tree); err != nil {
		t.Fatal(err)
	}
}

// CRD-7: a coordinator that starts again serves what it served, and knows the
// floors of departed nodes.
func TestAStartServesWhatWasPublished(t *testing.T) {
	t.Parallel()
	d := newDisk(t)
	before := d.mustStart()
	mustPublish(t, before, treeAt(t, map[string]uint64{"alpha": 5, "beta": 7}))
	mustPublish(t, before, treeAt(t, map[string]uint64{"alpha": 6}))
	after := d.mustStart()
	if diff := cmp.Diff(string(before.Published().Document()), string(after.Published().Document())); diff != "" {
		t.Error(diff)
	}
	_, err := after.publish(context.Background(), treeAt(t, map[string]uint64{"alpha": 6, "beta": 6}))
	var conflict *ConflictError
	if !errors.As(err, &conflict) || cmp.Diff([]Conflict{{Node: "beta", Stored: 7, Offered: 6}}, conflict.Nodes) != "" {
		t.Errorf("publishing below a departed node's floor: %v", err)
	}
}

// CRD-3: the form of the record on disk.
func TestTheRecordOfVersionsHasItsForm(t *testing.T) {
	t.Parallel()
	d := newDisk(t)
	r := d.mustStart()
	mustPublish(t, r, treeAt(t, map[string]uint64{"beta": 7, "alpha": 5}))
	mustPublish(t, r, treeAt(t, map[string]uint64{"alpha": 6}))
	const want = `{
  "schema_version": "1.0",
  "floors": {
    "alpha": 6,
    "beta": 7
  }
}
`
	if diff := cmp.Diff(want, d.read("floors.json")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"floors.json", "tree.json"}, d.names()); diff != "" {
		t.Error(diff)
	}
}

// CRD-7: whatever is wrong with a file, it is set aside, the relay starts and a
// publish at or above the floors repairs it.
func TestDamagedFilesAreSetAsideAndAPublishRepairs(t *testing.T) {
	t.Parallel()
	const treeAside, floorsAside = "tree.json.corrupt-20260420T120000Z", "floors.json.corrupt-20260420T120000Z"
	cases := map[string]struct {
		name, text, aside string
		published         bool // whether the tree survives
	}{
		"a tree that is empty":                      {"tree.json", "", treeAside, false},
		"a tree of zeros":                           {"tree.json", strings.Repeat("\x00", 500), treeAside, false},
		"a tree that was cut":                       {"tree.json", `{"artifacts":[{"sche`, treeAside, false},
		"a tree that breaks the gate":               {"tree.json", `{"artifacts":[]}`, treeAside, false},
		"a record that is empty":                    {"floors.json", "", floorsAside, true},
		"a record of zeros":                         {"floors.json", strings.Repeat("\x00", 500), floorsAside, true},
		"a record with an unknown member":           {"floors.json", `{"schema_version":"1.0","floors":{},"x":1}`, floorsAside, true},
		"a record without a version":                {"floors.json", `{"floors":{}}`, floorsAside, true},
		"a record of an older form":                 {"floors.json", `{"schema_version":"0.9","floors":{}}`, floorsAside, true},
		"a record with a version of zero":           {"floors.json", `{"schema_version":"1.0","floors":{"alpha":0}}`, floorsAside, true},
		"a record with a version beyond all":        {"floors.json", `{"schema_version":"1.0","floors":{"alpha":9007199254740992}}`, floorsAside, true},
		"a record with a node that is no safe name": {"floors.json", `{"schema_version":"1.0","floors":{"../x":1}}`, floorsAside, true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDisk(t)
			mustPublish(t, d.mustStart(), treeAt(t, map[string]uint64{"alpha": 5}))
			d.write(c.name, c.text)
			r := d.mustStart()
			if got := r.Published() != nil; got != c.published {
				t.Errorf("a tree is served: %v, want %v", got, c.published)
			}
			if got := r.Damage(); len(got) != 1 || got[0].SetAs != c.aside {
				t.Errorf("reported damage: %+v", got)
			}
			if d.read(c.aside) != c.text {
				t.Errorf("%s does not hold what was damaged", c.aside)
			}
			r = d.mustStart() // one in between, which finds no file any more
			if got := r.Damage(); len(got) != 1 || got[0].SetAs != c.aside || got[0].Name != c.name {
				t.Errorf("damage reported at the next start: %+v", got)
			}
			if _, err := r.publish(context.Background(), treeAt(t, map[string]uint64{"alpha": 4})); err == nil {
				t.Error("a version below the floor was taken")
			}
			mustPublish(t, r, treeAt(t, map[string]uint64{"beta": 1})) // alpha departs
			if _, err := r.publish(context.Background(), treeAt(t, map[string]uint64{"alpha": 4})); err == nil {
				t.Error("a version below the floor was taken of a node that had departed")
			}
			mustPublish(t, r, treeAt(t, map[string]uint64{"alpha": 6}))
			if len(r.Damage()) != 0 {
				t.Error("damage is reported after its cure")
			}
			r = d.mustStart()
			if got := r.Published().Version("alpha"); got != 6 || len(r.Damage()) != 0 {
				t.Errorf("after the cure, version %d and damage %+v", got, r.Damage())
			}
		})
	}
}

// CRD-7: what stands in the way of a file, be it a directory or a link, is set
// aside too, and nothing outside is read.
func TestAFileThatIsNoFileIsSetAside(t *testing.T) {
	t.Parallel()
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, treeAt(t, map[string]uint64{"evil": 1}).Document(), 0o600); err != nil {
		t.Fatal(err)
	}
	cases := map[string]func(name string) error{
		"a directory": func(name string) error { return os.Mkdir(name, 0o700) },
		"a link":      func(name string) error { return os.Symlink(outside, name) },
		"a pipe":      func(name string) error { return syscall.Mkfifo(name, 0o600) },
	}
	for name, plant := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDisk(t)
			if err := plant(filepath.Join(d.dir, "tree.json")); err != nil {
				t.Fatal(err)
			}
			r := d.mustStart()
			if r.Published() != nil {
				t.Errorf("it serves %q", r.Published().Nodes())
			}
			mustPublish(t, r, treeAt(t, map[string]uint64{"alpha": 1}))
		})
	}
}

// A state of a newer program is refused, and nothing is touched.
func TestARecordOfANewerProgramIsNotTouched(t *testing.T) {
	t.Parallel()
	const broken = "\x00\x00"
	cases := map[string]struct{ floors, tree, version string }{
		"the next minor of the record":            {`{"schema_version":"1.1","floors":{},"more":true}`, broken, "1.1"},
		"the next major of the record":            {`{"schema_version":"2.0","nodes":[]}`, broken, "2.0"},
		"a late one":                              {`{"schema_version":"10.3","floors":{}}`, broken, "10.3"},
		"a tree of a newer form":                  {broken, `{"schema_version":"1.0","artifacts":[]}`, "1.0"},
		"a tree of a much newer form":             {broken, `{"schema_version":"3.2","nodes":{"alpha":[]}}`, "3.2"},
		"a tree with its version behind the rest": {broken, `{"artifacts":[{}],"schema_version":"2.0"}`, "2.0"},
	}
	for name, c := range cases {
		d := newDisk(t)
		d.write("floors.json", c.floors)
		d.write("tree.json", c.tree)
		_, err := d.start(nil)
		var newer *StateTooNew
		if !errors.As(err, &newer) || newer.Version != c.version ||
			!strings.Contains(err.Error(), "FL3125") || !strings.Contains(err.Error(), "upgrade") {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff([]string{"floors.json", "tree.json"}, d.names()); diff != "" ||
			d.read("floors.json") != c.floors || d.read("tree.json") != c.tree {
			t.Errorf("%s: the state was touched: %s", name, diff)
		}
	}
}

// CRD-7: what was set aside before is never overwritten, however fast a file is
// damaged again.
func TestWhatWasSetAsideStays(t *testing.T) {
	t.Parallel()
	d := newDisk(t)
	texts := []string{"first", "second", "third"}
	for _, text := range texts {
		d.write("tree.json", text)
		d.mustStart()
	}
	const aside = "tree.json.corrupt-20260420T120000Z"
	for i, name := range []string{aside, aside + ".2", aside + ".3"} {
		if got := d.read(name); got != texts[i] {
			t.Errorf("%s holds %q, want %q", name, got, texts[i])
		}
	}
}

// One process at a time: a reset beside a running coordinator is refused.
func TestAStateDirectoryHasOneHolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, err := OpenFileStore(dir)
	if err != nil {
		t.Fatal(err)
	}
	_, err = OpenFileStore(dir)
	var held *StateInUse
	if !errors.As(err, &held) || !strings.Contains(err.Error(), dir) {
		t.Errorf("a second holder: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second, err := OpenFileStore(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
}

// CRD-3: a reset forgets all of it and nothing else.
func TestAResetForgetsEverything(t *testing.T) {
	t.Parallel()
	d := newDisk(t)
	mustPublish(t, d.mustStart(), treeAt(t, map[string]uint64{"alpha": 5}))
	d.write("tree.json.corrupt-20200101T000000Z", "x")
	d.write("tree.json.tmp", "x")
	d.write("notes.txt", "not ours")
	store, err := OpenFileStore(d.dir)
	if err != nil {
		t.Fatal(err)
	}
	removed, err := store.Reset()
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	want := []string{"floors.json", "tree.json", "tree.json.corrupt-20200101T000000Z", "tree.json.tmp"}
	if diff := cmp.Diff(want, removed); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"coordinator.lock", "notes.txt"}, d.names()); diff != "" {
		t.Error(diff)
	}
	mustPublish(t, d.mustStart(), treeAt(t, map[string]uint64{"alpha": 1}))
}

// step is one change of a directory that a failing disk may refuse.
type step struct {
	op, name string
}

// failing refuses the operation number at (from 0) and, from then on, every one:
// a disk that is full or gone stays so. It records what it let pass.
type failing struct {
	durable.FS
	at   int
	err  error
	done []step
}

func (f *failing) pass(op, name string) error {
	if len(f.done) >= f.at {
		return f.err
	}
	f.done = append(f.done, step{op, name})
	return nil
}

func (f *failing) Create(name string, perm fs.FileMode) (durable.File, error) {
	if err := f.pass("create", name); err != nil {
		return nil, err
	}
	file, err := f.FS.Create(name, perm)
	return &failingFile{File: file, disk: f, name: name}, err
}

func (f *failing) Rename(oldName, newName string) error {
	if err := f.pass("rename", newName); err != nil {
		return err
	}
	return f.FS.Rename(oldName, newName)
}

func (f *failing) SyncDir(name string) error {
	if err := f.pass("syncdir", name); err != nil {
		return err
	}
	return f.FS.SyncDir(name)
}

type failingFile struct {
	durable.File
	disk *failing
	name string
}

func (f *failingFile) Write(p []byte) (int, error) {
	if err := f.disk.pass("write", f.name); err != nil {
		return 0, err
	}
	return f.File.Write(p)
}

func (f *failingFile) Sync() error {
	if err := f.disk.pass("sync", f.name); err != nil {
		return err
	}
	return f.File.Sync()
}

// acceptPath is what a publish does to the disk, in this order (CRD-3, CRD-4):
// the record is durable before a byte of the tree is, and the tree before it is
// visible.
var acceptPath = []step{
	{"create", "floors.json.tmp"}, {"write", "floors.json.tmp"}, {"sync", "floors.json.tmp"},
	{"rename", "floors.json"}, {"syncdir", "."},
	{"create", "tree.json.tmp"}, {"write", "tree.json.tmp"}, {"sync", "tree.json.tmp"},
	{"rename", "tree.json"}, {"syncdir", "."},
}

func TestFloorsAreDurableBeforeTheTree(t *testing.T) {
	t.Parallel()
	recorder := &failing{at: 1 << 30}
	r, err := newDisk(t).start(func(files durable.FS) durable.FS { recorder.FS = files; return recorder })
	if err != nil {
		t.Fatal(err)
	}
	mustPublish(t, r, treeAt(t, map[string]uint64{"alpha": 1}))
	if diff := cmp.Diff(acceptPath, recorder.done, cmp.AllowUnexported(step{})); diff != "" {
		t.Error(diff)
	}
}

// visible checks, at each change of the disk, what readers see at that time.
type visible struct {
	*failing
	check func(step)
}

func (v visible) SyncDir(name string) error {
	err := v.failing.SyncDir(name)
	v.check(v.done[len(v.done)-1])
	return err
}

// CRD-4: as long as the last sync has not returned, readers see the old tree.
func TestATreeIsVisibleOnlyWhenItIsDurable(t *testing.T) {
	t.Parallel()
	var r *Relay
	var seen []bool
	watched := visible{failing: &failing{at: 1 << 30}, check: func(step) { seen = append(seen, r.Published() != nil) }}
	r, err := newDisk(t).start(func(files durable.FS) durable.FS { watched.FS = files; return watched })
	if err != nil {
		t.Fatal(err)
	}
	mustPublish(t, r, treeAt(t, map[string]uint64{"alpha": 1}))
	if !slices.Equal(seen, []bool{false, false}) || r.Published() == nil {
		t.Errorf("visible at the two syncs: %v, in the end: %v", seen, r.Published() != nil)
	}
}

// CRD-4: a disk that fills up at any step of the accept path. The publish is
// refused, the old tree is served on, and so it is after a start; where the
// rename was done and its sync failed, the relay ends instead of guessing. A
// publish after the start always succeeds.
func TestADiskThatIsFullAtAnyStep(t *testing.T) {
	t.Parallel()
	afterRename := map[int]bool{4: true, 9: true} // steps that sync a rename
	for at := range acceptPath {
		t.Run(fmt.Sprintf("at %s of %s", acceptPath[at].op, acceptPath[at].name), func(t *testing.T) {
			t.Parallel()
			d := newDisk(t)
			old := treeAt(t, map[string]uint64{"alpha": 5})
			mustPublish(t, d.mustStart(), old)
			full := &failing{at: at, err: syscall.ENOSPC}
			r, err := d.start(func(files durable.FS) durable.FS { full.FS = files; return full })
			if err != nil {
				t.Fatal(err)
			}
			got := r.outcome(r.publish(context.Background(), treeAt(t, map[string]uint64{"alpha": 6})))
			want := 507
			if afterRename[at] {
				want = 500
			}
			if got.status != want || (r.Err() != nil) != afterRename[at] {
				t.Errorf("%d %s, failed with %v; want %d", got.status, got.body, r.Err(), want)
			}
			if r.Published().Version("alpha") != 5 {
				t.Error("what was not stored is visible")
			}
			again := d.mustStart()
			if v := again.Published().Version("alpha"); v != 5 && at < 9 {
				t.Errorf("after a start, version %d is served", v)
			}
			mustPublish(t, again, again.Published())
			mustPublish(t, again, treeAt(t, map[string]uint64{"alpha": 6}))
		})
	}
}

func FuzzParseFloors(f *testing.F) {
	f.Add([]byte(`{"schema_version":"1.0","floors":{"alpha":5}}`))
	f.Add([]byte(`{"schema_version":"1.1","floors":[]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		floors, err := ParseFloors(text)
		if err != nil {
			return
		}
		written, err := floors.Document()
		if err != nil {
			t.Fatal(err)
		}
		again, err := ParseFloors(written)
		if err != nil || cmp.Diff(floors, again, cmp.AllowUnexported(Floors{}, floor{})) != "" {
			t.Errorf("%s read back: %v", written, err)
		}
	})
}
