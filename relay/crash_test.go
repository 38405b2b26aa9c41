package relay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/florete/flor/store/durable"
)

// change is one recorded change of a flat directory.
type change struct {
	kind string // create, write, sync, rename, remove, syncdir
	name string // the new one, of a rename
	from string // of a rename
	data []byte
	file *fstest.MapFile // what was created, written, synced or renamed
}

func (c change) onNames() bool {
	return c.kind == "create" || c.kind == "rename" || c.kind == "remove"
}

// plug is a directory in memory that records every change, so that a crash after
// each of them can be played (SET-7).
type plug struct {
	files   fstest.MapFS
	changes []change
}

// start opens the directory as a starting coordinator does.
func (p *plug) start() (*Relay, error) {
	noon := time.Date(2026, 4, 20, 12, 0, 0, 0, time.UTC)
	return New(context.Background(), newFileStore(p, func() time.Time { return noon }), Options{})
}

func (p *plug) note(c change) { p.changes = append(p.changes, c) }

func (p *plug) Create(name string, perm fs.FileMode) (durable.File, error) {
	if p.files[name] != nil {
		return nil, fs.ErrExist
	}
	f := &plugFile{disk: p, content: &fstest.MapFile{Mode: perm}}
	p.files[name] = f.content
	p.note(change{kind: "create", name: name, file: f.content})
	return f, nil
}

func (p *plug) Rename(from, to string) error {
	if p.files[from] == nil {
		return fs.ErrNotExist
	}
	p.files[to] = p.files[from]
	delete(p.files, from)
	p.note(change{kind: "rename", name: to, from: from, file: p.files[to]})
	return nil
}

func (p *plug) RemoveAll(name string) error {
	if p.files[name] != nil {
		delete(p.files, name)
		p.note(change{kind: "remove", name: name})
	}
	return nil
}

func (p *plug) SyncDir(string) error {
	p.note(change{kind: "syncdir"})
	return nil
}

func (p *plug) ReadFile(name string, _ int64) ([]byte, error) {
	if p.files[name] == nil {
		return nil, fs.ErrNotExist
	}
	return p.files[name].Data, nil
}

func (p *plug) Mkdir(string, fs.FileMode) error            { return errors.ErrUnsupported }
func (p *plug) ReadDir(name string) ([]fs.DirEntry, error) { return p.files.ReadDir(name) }
func (p *plug) Lstat(name string) (fs.FileInfo, error)     { return p.files.Stat(name) }

type plugFile struct {
	disk    *plug
	content *fstest.MapFile
}

func (f *plugFile) Write(data []byte) (int, error) {
	f.content.Data = append(f.content.Data, data...)
	f.disk.note(change{kind: "write", data: slices.Clone(data), file: f.content})
	return len(data), nil
}

func (f *plugFile) Sync() error {
	f.disk.note(change{kind: "sync", file: f.content})
	return nil
}

func (f *plugFile) Close() error { return nil }

// fates are what may become of data that was written and not synced.
var fates = map[string]func([]byte) []byte{
	"lost":        func([]byte) []byte { return nil },
	"kept":        func(data []byte) []byte { return data },
	"zero-filled": func(data []byte) []byte { return make([]byte, len(data)) },
	"torn":        func(data []byte) []byte { return data[:len(data)/2] },
}

// wreck is a directory as a crash may leave it.
type wreck struct {
	files fstest.MapFS
	where string
	after int // changes that had been made
}

// crashes gives every directory that a crash may leave of before and the changes:
// after each prefix of them, with each fate of un-synced data and each subset of
// the un-synced names lost.
func crashes(before fstest.MapFS, changes []change) []wreck {
	var wrecks []wreck
	for n := range len(changes) + 1 {
		loose := looseNames(changes[:n])
		for subset := range 1 << len(loose) {
			lost := map[int]bool{}
			for bit, i := range loose {
				lost[i] = subset&(1<<bit) != 0
			}
			for fate, damage := range fates {
				wrecks = append(wrecks, wreck{
					files: replay(before, changes[:n], lost, damage),
					where: fmt.Sprintf("after %d of %d changes, data %s, names lost %v", n, len(changes), fate, lost),
					after: n,
				})
			}
		}
	}
	return wrecks
}

// differing gives the first wreck of each content; in the last of the changes a
// publish has been answered, which asks for more.
func differing(wrecks []wreck, changes int) []wreck {
	seen := map[string]bool{}
	return slices.DeleteFunc(wrecks, func(w wreck) bool {
		var key strings.Builder
		fmt.Fprint(&key, w.after == changes)
		for _, name := range slices.Sorted(maps.Keys(w.files)) {
			fmt.Fprintf(&key, " %s %q", name, w.files[name].Data)
		}
		again := seen[key.String()]
		seen[key.String()] = true
		return again
	})
}

// looseNames lists the changes of names after the last sync of the directory.
func looseNames(changes []change) []int {
	var loose []int
	for i, c := range changes {
		switch {
		case c.kind == "syncdir":
			loose = nil
		case c.onNames():
			loose = append(loose, i)
		}
	}
	return loose
}

// replay makes what survived. A rename puts the file that was renamed under its
// name, whatever became of the name that it had before.
func replay(before fstest.MapFS, changes []change, lost map[int]bool, damage func([]byte) []byte) fstest.MapFS {
	files := maps.Clone(before)
	for i, c := range changes {
		switch {
		case lost[i]:
		case c.kind == "create":
			files[c.name] = surviving(changes, c.file, damage)
		case c.kind == "rename":
			files[c.name] = surviving(changes, c.file, damage)
			delete(files, c.from)
		case c.kind == "remove":
			delete(files, c.name)
		}
	}
	return files
}

// surviving is what a file holds after the crash; one that was there before the
// first change was synced long ago.
func surviving(changes []change, file *fstest.MapFile, damage func([]byte) []byte) *fstest.MapFile {
	var written []byte
	created, synced := false, false
	for _, c := range changes {
		if c.file != file {
			continue
		}
		written = append(written, c.data...)
		created = created || c.kind == "create"
		synced = c.kind == "sync" || synced && c.kind != "write"
	}
	switch {
	case !created:
		return file
	case synced:
		return &fstest.MapFile{Data: written}
	}
	return &fstest.MapFile{Data: damage(written)}
}

// story is a start and a publish into a directory.
type story struct {
	before  fstest.MapFS
	offered *Tree
	// rubble is what a damaged file held: it is to be found for ever after.
	rubble []byte
}

// publish starts a coordinator in the directory and publishes.
func (p *plug) publish(t *testing.T, where string, offered *Tree) *Relay {
	t.Helper()
	r, err := p.start()
	if err != nil {
		t.Fatalf("%s: %v", where, err)
	}
	if _, err := r.publish(context.Background(), offered); err != nil {
		t.Fatalf("%s: publish: %v", where, err)
	}
	return r
}

// check starts a coordinator in a wreck and tells whether what it has is what it
// had before the publish or what was offered, whole, and no floor has fallen.
func (s story) check(t *testing.T, w wreck, before *snapshot, answered bool) {
	t.Helper()
	r, err := (&plug{files: maps.Clone(w.files)}).start()
	if err != nil {
		t.Fatalf("%s: %v", w.where, err)
	}
	now := r.now.Load()
	isOld, isNew := same(now.tree, before.tree), same(now.tree, s.offered)
	if !isOld && !isNew || answered && !isNew {
		t.Errorf("%s: it serves %s", w.where, now.tree.Document())
	}
	if len(r.Damage()) > 0 && s.rubble == nil {
		t.Errorf("%s: damage: %+v", w.where, r.Damage())
	}
	for _, f := range before.floors.Raise(now.tree).byName {
		if now.floors.Of(f.node) < f.version {
			t.Errorf("%s: the floor of %s fell from %d to %d", w.where, f.node, f.version, now.floors.Of(f.node))
		}
	}
	if s.rubble != nil && !holds(w.files, s.rubble) {
		t.Errorf("%s: what was damaged is gone", w.where)
	}
}

func same(a, b *Tree) bool { return bytes.Equal(a.Document(), b.Document()) }

func holds(files fstest.MapFS, text []byte) bool {
	for _, file := range files {
		if bytes.Equal(file.Data, text) {
			return true
		}
	}
	return false
}

// stories are the publishes that are crashed.
func stories(t *testing.T) map[string]story {
	rubble := []byte("\x00rubble\x00")
	first, second := treeAt(t, map[string]uint64{"alpha": 5, "beta": 7}), treeAt(t, map[string]uint64{"alpha": 6, "gamma": 1})
	published := &plug{files: fstest.MapFS{}}
	published.publish(t, "fixture", first)
	with := func(name string, text []byte) fstest.MapFS {
		files := maps.Clone(published.files)
		files[name] = &fstest.MapFile{Data: text}
		return files
	}
	return map[string]story{
		"the first publish":                        {before: fstest.MapFS{}, offered: first},
		"one that alters, adds and removes a node": {before: published.files, offered: second},
		"one over what a crash has left":           {before: with("tree.json.tmp", rubble), offered: second},
		"the cure of a damaged tree":               {before: with("tree.json", rubble), offered: second, rubble: rubble},
		"the cure of a damaged record":             {before: with("floors.json", rubble), offered: second, rubble: rubble},
	}
}

// TestCrashAtEveryChange pulls the plug after every change that a start and a
// publish make, with un-synced data lost, kept, zero-filled or torn and every
// subset of un-synced names lost; and again at every change of the start and the
// publish that follow. Each time a start finds the old tree or the new one,
// whole, the new one if it was answered for, and no floor falls (CRD-3, CRD-4,
// CRD-7, SET-7).
func TestCrashAtEveryChange(t *testing.T) {
	t.Parallel()
	for name, s := range stories(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s.crash(t)
		})
	}
}

// crash plays every crash of the story, and every second crash in the story that
// is told again after a first one.
func (s story) crash(t *testing.T) {
	old, err := (&plug{files: maps.Clone(s.before)}).start()
	if err != nil {
		t.Fatal(err)
	}
	before := old.now.Load()
	once := s.tell(t, wreck{files: s.before, where: "the story"}, before)
	points, differ := len(once.wrecks), 0
	for _, w := range differing(once.wrecks, once.changes) {
		twice := s.tell(t, w, before)
		points += len(twice.wrecks)
		differ += len(differing(twice.wrecks, twice.changes))
	}
	t.Logf("%d crash points, which leave %d directories that differ", points, differ)
}

// tale is what may become of a directory in which the story is told.
type tale struct {
	changes int
	wrecks  []wreck
}

// tell tells the story in a directory and checks everything that a crash in it may
// leave.
func (s story) tell(t *testing.T, from wreck, before *snapshot) tale {
	told := &plug{files: maps.Clone(from.files)}
	told.publish(t, from.where, s.offered)
	after := tale{changes: len(told.changes), wrecks: crashes(from.files, told.changes)}
	for i := range after.wrecks {
		after.wrecks[i].where = from.where + ", then " + after.wrecks[i].where
	}
	for _, w := range differing(slices.Clone(after.wrecks), after.changes) {
		s.check(t, w, before, w.after == after.changes)
	}
	return after
}
