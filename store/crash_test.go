package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/florete/flor/store/durable"
)

// op is one recorded change of a disk.
type op struct {
	kind string // mkdir, create, write, sync, rename, remove, syncdir
	name string
	to   string // of a rename
	data []byte
	perm fs.FileMode
	file int // which create a write or sync belongs to
}

func (o op) String() string {
	if o.to != "" {
		return o.kind + " " + o.name + " " + o.to
	}
	return o.kind + " " + o.name
}

// recorder records every change that goes through the seam (SET-7).
type recorder struct {
	durable.FS
	ops []op
}

func (r *recorder) add(o op, err error) error {
	if err == nil {
		r.ops = append(r.ops, o)
	}
	return err
}

func (r *recorder) Mkdir(name string, perm fs.FileMode) error {
	return r.add(op{kind: "mkdir", name: name, perm: perm}, r.FS.Mkdir(name, perm))
}

func (r *recorder) Rename(oldName, newName string) error {
	return r.add(op{kind: "rename", name: oldName, to: newName}, r.FS.Rename(oldName, newName))
}

func (r *recorder) RemoveAll(name string) error {
	_, missing := r.FS.Lstat(name)
	err := r.FS.RemoveAll(name)
	if missing != nil {
		return err // it changes nothing
	}
	return r.add(op{kind: "remove", name: name}, err)
}

func (r *recorder) SyncDir(name string) error {
	return r.add(op{kind: "syncdir", name: name}, r.FS.SyncDir(name))
}

func (r *recorder) Create(name string, perm fs.FileMode) (durable.File, error) {
	f, err := r.FS.Create(name, perm)
	file := len(r.ops)
	return recordedFile{f, r, name, file}, r.add(op{kind: "create", name: name, perm: perm, file: file}, err)
}

type recordedFile struct {
	durable.File
	disk *recorder
	name string
	file int
}

func (f recordedFile) Write(p []byte) (int, error) {
	n, err := f.File.Write(p)
	return n, f.disk.add(op{kind: "write", name: f.name, data: slices.Clone(p), file: f.file}, err)
}

func (f recordedFile) Sync() error {
	return f.disk.add(op{kind: "sync", name: f.name, file: f.file}, f.File.Sync())
}

// recordAdmission records stage → admit → mark of version 3 on a scope with v1
// and v2.
func recordAdmission(t *testing.T, network rete) (stateDir string, ops []op, flipped, marked int) {
	t.Helper()
	stateDir, _ = network.twoSets(t)
	before := copyTree(t, stateDir)
	s := open(t, stateDir)
	load(t, s)
	disk := &recorder{FS: s.fsys}
	s.fsys = disk
	staged, err := s.Stage(network.set(t, 3))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Admit(staged); err != nil {
		t.Fatal(err)
	}
	flipped = len(disk.ops)
	if _, err := s.ConfirmMark(3); err != nil {
		t.Fatal(err)
	}
	return before, disk.ops, flipped, len(disk.ops)
}

// TestOrderOfAdmission shows the operations of SET-2, SET-3 and SET-6 in their
// order: every file synced before its rename, the record before the flip.
func TestOrderOfAdmission(t *testing.T) {
	t.Parallel()
	_, ops, _, _ := recordAdmission(t, newRete())
	var got []string
	for _, o := range ops {
		got = append(got, o.String())
	}
	var want []string
	partial := setDir(3) + durable.PartialSuffix
	want = append(want, "mkdir "+partial)
	for _, name := range []string{"agent", "edge", "web"} {
		file := path.Join(partial, artifactFile(name))
		want = append(want, "create "+file, "write "+file, "sync "+file)
	}
	want = append(want, "syncdir "+partial, "rename "+partial+" "+setDir(3), "syncdir "+setsDir)
	for _, name := range []string{stateFile, currentFile, stateFile} {
		tmp := name + durable.TmpSuffix
		want = append(want, "create "+tmp, "write "+tmp, "sync "+tmp, "rename "+tmp+" "+name, "syncdir "+path.Dir(name))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("operations (-want +got):\n%s", diff)
	}
}

// lostData is what becomes of data that was written and not synced.
type lostData string

const (
	dropped lostData = "lost"
	kept    lostData = "kept"
	zeroed  lostData = "zero-filled"
)

// TestCrashAtEveryOperation pulls the plug after every prefix of the recorded
// operations, with un-synced data lost, kept or zero-filled, and every subset of
// un-synced names kept. Each time a start finds the old set or the new one,
// whole, and the mark never falls (SET-3, SET-5, SET-7).
func TestCrashAtEveryOperation(t *testing.T) {
	t.Parallel()
	before, ops, flipped, marked := recordAdmission(t, newRete())
	points := 0
	for n := 0; n <= len(ops); n++ {
		loose := looseNames(ops[:n])
		for _, lost := range lostNames(loose) {
			for _, data := range []lostData{dropped, kept, zeroed} {
				points++
				stateDir := copyTree(t, before)
				root := filepath.Join(stateDir, "retes", testScope)
				replay(t, root, ops[:n], lost, data)
				where := fmt.Sprintf("after %d operations, data %s, names lost %v", n, data, lost)
				checkAfterCrash(t, stateDir, where, n >= flipped, n >= marked)
			}
		}
	}
	t.Logf("%d points tried over %d operations", points, len(ops))
}

// looseNames lists the operations on names whose directory was not synced since.
func looseNames(ops []op) []int {
	var loose []int
	for i, o := range ops {
		name := o.name
		if o.kind == "rename" {
			name = o.to
		} else if o.kind != "mkdir" && o.kind != "create" && o.kind != "remove" {
			continue
		}
		synced := func(later op) bool { return later.kind == "syncdir" && later.name == path.Dir(name) }
		if !slices.ContainsFunc(ops[i:], synced) {
			loose = append(loose, i)
		}
	}
	return loose
}

// lostNames gives the subsets of loose that may not survive: all of them where
// they are few, else all, none, and every single one.
func lostNames(loose []int) []map[int]bool {
	var subsets []map[int]bool
	add := func(isLost func(bit int) bool) {
		lost := map[int]bool{}
		for bit, i := range loose {
			lost[i] = isLost(bit)
		}
		subsets = append(subsets, lost)
	}
	if len(loose) <= 4 {
		for subset := range 1 << len(loose) {
			add(func(bit int) bool { return subset&(1<<bit) != 0 })
		}
		return subsets
	}
	add(func(int) bool { return true })
	add(func(int) bool { return false })
	for one := range loose {
		add(func(bit int) bool { return bit == one })
	}
	return subsets
}

// replay does to the directory root what survived. A name that depends on a
// lost one is lost with it.
func replay(t *testing.T, root string, ops []op, lost map[int]bool, data lostData) {
	t.Helper()
	for i, o := range ops {
		if lost[i] {
			continue
		}
		name := filepath.Join(root, o.name)
		var err error
		switch o.kind {
		case "mkdir":
			err = os.Mkdir(name, o.perm)
		case "create":
			err = os.WriteFile(name, survivingData(ops, o.file, data), o.perm)
		case "rename":
			err = os.Rename(name, filepath.Join(root, o.to))
		case "remove":
			err = os.RemoveAll(name)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("replay %s: %v", o, err)
		}
	}
}

// survivingData is what a file holds after the crash.
func survivingData(ops []op, file int, data lostData) []byte {
	var written []byte
	synced := false
	for _, o := range ops {
		if o.file != file || o.kind != "write" && o.kind != "sync" {
			continue
		}
		written = append(written, o.data...)
		synced = o.kind == "sync"
	}
	switch {
	case synced || data == kept:
		return written
	case data == zeroed:
		return make([]byte, len(written))
	}
	return nil
}

func checkAfterCrash(t *testing.T, stateDir, where string, flipped, marked bool) {
	t.Helper()
	s, err := Open(stateDir, testScope)
	if err != nil {
		t.Fatalf("%s: %v", where, err)
	}
	defer s.Close()
	loaded, err := s.Load()
	if err != nil {
		t.Errorf("%s: %v", where, err)
		return
	}
	active, mark := loaded.Active.Version, loaded.State.Mark
	switch {
	case active != 2 && active != 3, flipped && active != 3:
		t.Errorf("%s: version %d is active", where, active)
	case mark < 2, mark > active, marked && mark != 3:
		t.Errorf("%s: the mark is %d under version %d", where, mark, active)
	case loaded.Recovered || loaded.TrustLost || len(loaded.Active.Unverified) > 0:
		t.Errorf("%s: recovered %v, trust lost %v, unverified %v: %v", where, loaded.Recovered, loaded.TrustLost, loaded.Active.Unverified, loaded.Problem)
	case active == 3 && !marked && mark == 2 && loaded.State.Pending != 3:
		t.Errorf("%s: version 3 is active, neither pending nor marked", where)
	}
	if _, err := s.Held(loaded.State); err != nil {
		t.Errorf("%s: held trust: %v", where, err)
	}
	for _, name := range names(t, s.Root(), setsPath) {
		if strings.HasSuffix(name, durable.PartialSuffix) {
			t.Errorf("%s: %s is left", where, name)
		}
	}
}

// copyTree copies a directory into a new one.
func copyTree(t *testing.T, dir string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "state")
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return to
}

// TestCrashInAnEnrolment pulls the plug after every prefix of the operations
// that make a scope: there is none, or a whole one (BND-2).
func TestCrashInAnEnrolment(t *testing.T) {
	t.Parallel()
	e, err := newRete().enrolment()
	if err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	disk := &recorder{FS: durable.OS(root)}
	if err := create(disk, "", testScope, e); err != nil {
		t.Fatal(err)
	}
	points, whole := 0, 0
	for n := 0; n <= len(disk.ops); n++ {
		for _, lost := range lostNames(looseNames(disk.ops[:n])) {
			points++
			stateDir := t.TempDir()
			mkdir(t, stateDir, "retes")
			replay(t, filepath.Join(stateDir, "retes"), disk.ops[:n], lost, dropped)
			s, err := Open(stateDir, testScope)
			if err != nil {
				wantReason(t, err, NotEnrolled)
				continue
			}
			whole++
			if loaded := load(t, s); loaded.Problem != nil || loaded.State.Mark != 1 {
				t.Errorf("after %d operations, names lost %v: mark %d, %v", n, lost, loaded.State.Mark, loaded.Problem)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	t.Logf("%d points tried over %d operations, %d of them with a scope", points, len(disk.ops), whole)
	if whole == 0 {
		t.Error("no point had a scope")
	}
}
