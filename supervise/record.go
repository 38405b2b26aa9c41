package supervise

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

const (
	recordFile    = "children.json"
	recordVersion = "1.0"
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

type recordDoc struct {
	SchemaVersion string  `json:"schema_version"`
	Children      []child `json:"children"`
}

// record is the list of living children in a file of the run directory. An
// empty dir keeps no record.
type record struct {
	dir string

	mu       sync.Mutex
	children map[string]child
}

func newRecord(dir string) *record { return &record{dir: dir, children: map[string]child{}} }

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

func (r *record) change(f func()) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	f()
	return writeRecord(r.dir, r.children)
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
func writeRecord(dir string, children map[string]child) error {
	doc := recordDoc{SchemaVersion: recordVersion, Children: make([]child, 0, len(children))}
	for _, c := range children {
		doc.Children = append(doc.Children, c)
	}
	slices.SortFunc(doc.Children, func(a, b child) int { return strings.Compare(a.Name, b.Name) })
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
func readRecord(dir string) ([]child, error) {
	path := filepath.Join(dir, recordFile)
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, refuse("FL2302", "bad-record", "%w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxRecord+1))
	if err != nil {
		return nil, refuse("FL2302", "bad-record", "%w", err)
	}
	children, err := parseRecord(text)
	if err != nil {
		return nil, refuse("FL2302", "bad-record", "%s: %w: end what it names by hand, then remove it", path, err)
	}
	return children, nil
}

func parseRecord(text []byte) ([]child, error) {
	if len(text) > maxRecord {
		return nil, fmt.Errorf("larger than %d bytes", maxRecord)
	}
	var doc recordDoc
	if err := json.Unmarshal(text, &doc); err != nil {
		return nil, err
	}
	if doc.SchemaVersion != recordVersion {
		return nil, fmt.Errorf("schema_version %q, this program knows %q", doc.SchemaVersion, recordVersion)
	}
	for _, c := range doc.Children {
		if c.PID <= 1 || c.BootID == "" {
			return nil, fmt.Errorf("child %q has pid %d and boot id %q", c.Name, c.PID, c.BootID)
		}
	}
	return doc.Children, nil
}
