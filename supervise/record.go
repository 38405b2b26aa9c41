package supervise

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

const (
	recordFile    = "children.json"
	recordVersion = "1.0"
	// childGroup stands before the name of a child in the name of its cgroup.
	childGroup = "w-"
	// maxRecord limits the record that is read, in bytes.
	maxRecord = 1 << 20
)

// child identifies a process beyond its pid, which may be recycled (SUP-9).
type child struct {
	Name string `json:"name"`
	PID  int    `json:"pid"`
	// StartTicks is when the process started, in the kernel's own count.
	StartTicks uint64 `json:"start_ticks"`
	BootID     string `json:"boot_id"`
}

// mark is by what the descendants of a child are found whatever became of the
// child. It is recorded before the first spawn, so that a child which is not on
// record yet is found as well (SUP-9).
type mark struct {
	Name   string `json:"name"`
	BootID string `json:"boot_id"`
	// Marker is [Spec].Marker.
	Marker string `json:"marker,omitempty"`
	// Cgroup is the directory of its cgroup.
	Cgroup string `json:"cgroup,omitempty"`
}

type recordDoc struct {
	SchemaVersion string  `json:"schema_version"`
	Children      []child `json:"children"`
	Marks         []mark  `json:"marks,omitempty"`
}

// record is the list of living children in a file of the run directory. An
// empty dir keeps no record.
type record struct {
	dir string

	mu       sync.Mutex
	children map[string]child
	marks    map[string]mark
}

func newRecord(dir string) *record {
	return &record{dir: dir, children: map[string]child{}, marks: map[string]mark{}}
}

// announce records how to find a child that is going to be spawned.
func (r *record) announce(name, marker, cgroup string) error {
	if r.dir == "" || marker == "" && cgroup == "" {
		return nil
	}
	boot, err := bootID()
	if err != nil {
		return err
	}
	m := mark{Name: name, BootID: boot, Marker: marker, Cgroup: cgroup}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.marks[name] == m {
		return nil
	}
	r.marks[name] = m
	return r.write()
}

// retract forgets a child that has left for good, if it was announced.
func (r *record) retract(name string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, announced := r.marks[name]; !announced {
		return nil
	}
	delete(r.marks, name)
	return r.write()
}

// add records a process that was just spawned and is not reaped.
func (r *record) add(name string, pid int) error {
	if r.dir == "" {
		return nil
	}
	c, err := identify(name, pid)
	if err != nil {
		return fmt.Errorf("identify %s, pid %d: %w", name, pid, err)
	}
	return r.change(func() { r.children[name] = c })
}

// remove forgets a process that has ended.
func (r *record) remove(name string) error {
	if r.dir == "" {
		return nil
	}
	return r.change(func() { delete(r.children, name) })
}

// forget takes everything of a name off the record.
func (r *record) forget(name string) error {
	if r.dir == "" {
		return nil
	}
	return r.change(func() {
		delete(r.children, name)
		delete(r.marks, name)
	})
}

func (r *record) change(f func()) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	f()
	return r.write()
}

// write is called with mu held.
func (r *record) write() error {
	doc := recordDoc{
		SchemaVersion: recordVersion,
		Children:      slices.AppendSeq([]child{}, maps.Values(r.children)),
		Marks:         slices.Collect(maps.Values(r.marks)),
	}
	slices.SortFunc(doc.Children, func(a, b child) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(doc.Marks, func(a, b mark) int { return strings.Compare(a.Name, b.Name) })
	return writeRecord(r.dir, doc)
}

func identify(name string, pid int) (child, error) {
	boot, err := bootID()
	if err != nil {
		return child{}, err
	}
	ticks, err := startTicks(pid)
	return child{Name: name, PID: pid, StartTicks: ticks, BootID: boot}, err
}

// writeRecord replaces the file: temporary file, fsync, rename, fsync of the
// directory (SET-2).
func writeRecord(dir string, doc recordDoc) error {
	text, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		return err
	}
	path := filepath.Join(dir, recordFile)
	if err := writeSynced(path+".tmp", append(text, '\n')); err != nil {
		return err
	}
	if err := os.Rename(path+".tmp", path); err != nil {
		return err
	}
	return syncDir(dir)
}

func writeSynced(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Sync(), f.Close())
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// readRecord returns what an earlier supervisor recorded; nothing when there
// is no record.
func readRecord(dir string) (recordDoc, error) {
	path := filepath.Join(dir, recordFile)
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return recordDoc{}, nil
	}
	if err != nil {
		return recordDoc{}, refuse("FL2302", "bad-record", "%w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxRecord+1))
	if err != nil {
		return recordDoc{}, refuse("FL2302", "bad-record", "%w", err)
	}
	doc, err := parseRecord(text)
	if err != nil {
		return recordDoc{}, refuse("FL2302", "bad-record", "%s: %w: end what it names by hand, then remove it", path, err)
	}
	return doc, nil
}

func parseRecord(text []byte) (recordDoc, error) {
	if len(text) > maxRecord {
		return recordDoc{}, fmt.Errorf("larger than %d bytes", maxRecord)
	}
	var doc recordDoc
	if err := json.Unmarshal(text, &doc); err != nil {
		return recordDoc{}, err
	}
	if doc.SchemaVersion != recordVersion {
		return recordDoc{}, fmt.Errorf("schema_version %q, this program knows %q", doc.SchemaVersion, recordVersion)
	}
	for _, c := range doc.Children {
		if c.PID <= 1 || c.BootID == "" {
			return recordDoc{}, fmt.Errorf("child %q has pid %d and boot id %q", c.Name, c.PID, c.BootID)
		}
	}
	return doc, doc.checkMarks()
}

// checkMarks refuses marks that would hit more than the child's own.
func (d *recordDoc) checkMarks() error {
	for _, m := range d.Marks {
		name, isGroup := strings.CutPrefix(filepath.Base(m.Cgroup), childGroup)
		if m.Cgroup != "" && (!filepath.IsAbs(m.Cgroup) || !isGroup || name != m.Name) {
			return fmt.Errorf("child %q has the cgroup %q", m.Name, m.Cgroup)
		}
		if m.Name == "" || m.BootID == "" || m.Marker != "" && !strings.Contains(m.Marker, "=") {
			return fmt.Errorf("child %q has the marker %q and boot id %q", m.Name, m.Marker, m.BootID)
		}
	}
	return nil
}
