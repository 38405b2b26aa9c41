package store

import (
	"bytes"
	"io/fs"
	"path"
	"slices"

	"github.com/florete/flor/store/durable"
)

// op is one recorded change of a disk, or the return of a call.
type op struct {
	kind  string // mkdir, create, write, sync, rename, remove, syncdir, return
	name  string
	to    string // of a rename
	data  []byte
	perm  fs.FileMode
	file  int // which create a write or sync belongs to; create: its own number
	group int // removals of one RemoveAll share a number; else 0
}

func (o op) String() string {
	if o.to != "" {
		return o.kind + " " + o.name + " " + o.to
	}
	return o.kind + " " + o.name
}

// target is the name that the operation gives or takes, or "".
func (o op) target() string {
	switch o.kind {
	case "mkdir", "create", "remove":
		return o.name
	case "rename":
		return o.to
	}
	return ""
}

// recorder records every change that goes through the seam (SET-7).
type recorder struct {
	durable.FS
	ops   []op
	count int // of files and removals
}

func (r *recorder) add(o op, err error) error {
	if err == nil {
		r.ops = append(r.ops, o)
	}
	return err
}

// returned notes that a call has reported success.
func (r *recorder) returned(what string) { r.ops = append(r.ops, op{kind: "return", name: what}) }

func (r *recorder) Mkdir(name string, perm fs.FileMode) error {
	return r.add(op{kind: "mkdir", name: name, perm: perm}, r.FS.Mkdir(name, perm))
}

func (r *recorder) Rename(oldName, newName string) error {
	return r.add(op{kind: "rename", name: oldName, to: newName}, r.FS.Rename(oldName, newName))
}

// RemoveAll removes one name after the other, as a real one does: a crash may
// leave any of them.
func (r *recorder) RemoveAll(name string) error {
	r.count++
	for _, name := range slices.Backward(r.below(name)) {
		if err := r.add(op{kind: "remove", name: name, group: r.count}, r.FS.RemoveAll(name)); err != nil {
			return err
		}
	}
	return nil
}

// below lists a name and everything below it, parents first.
func (r *recorder) below(name string) []string {
	info, err := r.FS.Lstat(name)
	if err != nil {
		return nil
	}
	names := []string{name}
	if !info.IsDir() {
		return names
	}
	entries, err := r.FS.ReadDir(name)
	if err != nil {
		return names
	}
	for _, e := range entries {
		names = append(names, r.below(path.Join(name, e.Name()))...)
	}
	return names
}

func (r *recorder) SyncDir(name string) error {
	return r.add(op{kind: "syncdir", name: name}, r.FS.SyncDir(name))
}

func (r *recorder) Create(name string, perm fs.FileMode) (durable.File, error) {
	f, err := r.FS.Create(name, perm)
	r.count++
	return recordedFile{f, r, name, r.count}, r.add(op{kind: "create", name: name, perm: perm, file: r.count}, err)
}

type recordedFile struct {
	durable.File
	disk *recorder
	name string
	file int
}

func (f recordedFile) Write(p []byte) (int, error) {
	n, err := f.File.Write(p)
	return n, f.disk.add(op{kind: "write", name: f.name, data: bytes.Clone(p), file: f.file}, err)
}

func (f recordedFile) Sync() error {
	return f.disk.add(op{kind: "sync", name: f.name, file: f.file}, f.File.Sync())
}

// fate is what becomes of data that was written and not synced.
type fate string

const (
	dropped fate = "lost"
	kept    fate = "kept"
	zeroed  fate = "zero-filled"
)

// crash is one way in which the power fails.
type crash struct {
	after int          // operations done
	lost  map[int]bool // of them, un-synced names that do not survive
	data  fate         // of un-synced data
}

// maxLoose is up to how many un-synced names every subset is tried.
const maxLoose = 5

// crashes lists every way in which the power can fail during ops: after each of
// them from a certain one on, with un-synced data lost, kept or zero-filled where there is any, and
// un-synced names lost in every subset; of very many, all, none, each one, and
// all but each one.
func crashes(ops []op, from int) []crash {
	var all []crash
	for n := from; n <= len(ops); n++ {
		fates := []fate{kept}
		if hasLooseData(ops[:n]) {
			fates = []fate{kept, dropped, zeroed}
		}
		for _, lost := range subsets(looseNames(ops[:n])) {
			for _, data := range fates {
				all = append(all, crash{after: n, lost: lost, data: data})
			}
		}
	}
	return all
}

func hasLooseData(ops []op) bool {
	synced := map[int]bool{}
	for _, o := range slices.Backward(ops) {
		if o.kind == "sync" {
			synced[o.file] = true
		} else if o.kind == "write" && !synced[o.file] {
			return true
		}
	}
	return false
}

// looseNames lists the operations on names that no sync has made durable. What
// was removed below a directory is as durable as the directory's own removal.
func looseNames(ops []op) []int {
	synced, durableGroup := map[string]bool{}, map[int]bool{}
	var loose []int
	for i, o := range slices.Backward(ops) {
		name := o.target()
		switch {
		case o.kind == "syncdir":
			synced[o.name] = true
		case name == "" || o.group != 0 && durableGroup[o.group]:
		case synced[path.Dir(name)]:
			durableGroup[o.group] = true
		default:
			loose = append(loose, i)
		}
	}
	slices.Reverse(loose)
	return loose
}

func subsets(loose []int) []map[int]bool {
	var all []map[int]bool
	add := func(isLost func(bit int) bool) {
		lost := map[int]bool{}
		for bit, i := range loose {
			if isLost(bit) {
				lost[i] = true
			}
		}
		all = append(all, lost)
	}
	if len(loose) <= maxLoose {
		for subset := range 1 << len(loose) {
			add(func(bit int) bool { return subset&(1<<bit) != 0 })
		}
		return all
	}
	add(func(int) bool { return true })
	add(func(int) bool { return false })
	for one := range loose {
		add(func(bit int) bool { return bit == one })
		add(func(bit int) bool { return bit != one })
	}
	return all
}

// after is the disk once it has power again. Names belong to directories, not to
// paths: what was done in a directory is done in it whatever it is called, and a
// file that was renamed is there under its new name whatever became of the old.
func (d image) after(ops []op, c crash) image {
	d = d.numbered()
	running := d.clone()
	for i, o := range ops[:c.after] {
		n := &inode{mode: o.perm, made: i + 1}
		switch o.kind {
		case "mkdir":
			n.mode |= fs.ModeDir
		case "create":
			n.data = surviving(ops[:c.after], o.file, c.data)
		case "rename":
			n = running[o.name]
		}
		if !c.lost[i] {
			d.keep(running, o, n)
		}
		running.keep(running, o, n)
	}
	return d
}

// numbered is a copy in which each inode can be told from every other.
func (d image) numbered() image {
	d = d.clone()
	next := 0
	for _, n := range d {
		next--
		n.made = next
	}
	return d
}

// keep does what survived of an operation on inode n.
func (d image) keep(running image, o op, n *inode) {
	if o.target() == "" {
		return
	}
	to, ok := d.find(running, o.target())
	if !ok {
		return // the directory is lost, and what was done in it
	}
	from, _ := d.find(running, o.name)
	same := d[from] != nil && d[from].made == n.made
	if o.kind == "rename" && n.mode.IsDir() && !same {
		return // its own name was lost, and all below it
	}
	if d[to] != nil {
		d.RemoveAll(to)
	}
	switch {
	case o.kind == "remove":
	case o.kind == "rename" && same:
		if err := d.Rename(from, to); err != nil {
			panic(err) // both names were looked at
		}
	default:
		copied := *n
		d[to] = &copied
	}
}

// find is where a name of the running system lies here: in the same directory,
// under whatever name that has.
func (d image) find(running image, name string) (string, bool) {
	dir, base := path.Split(name)
	dir = path.Clean(dir)
	if dir == "." {
		return name, true
	}
	want := running[dir]
	if want == nil {
		return "", false
	}
	if d[dir] != nil && d[dir].made == want.made {
		return name, true
	}
	for other, n := range d {
		if n.made == want.made {
			return path.Join(other, base), true
		}
	}
	return "", false
}

// surviving is what a file holds after the crash.
func surviving(ops []op, file int, data fate) []byte {
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
