package compiler

import (
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/florete/flor/store/durable"
)

// recordFS writes down each change, in the order in which they ended.
type recordFS struct {
	durable.FS
	mu  sync.Mutex
	ops []string
}

func (r *recordFS) record(op string, err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		r.ops = append(r.ops, op)
	}
	return err
}

func (r *recordFS) Create(name string, perm fs.FileMode) (durable.File, error) {
	f, err := r.FS.Create(name, perm)
	return &recordFile{File: f, fs: r, name: name}, r.record("create "+name, err)
}

func (r *recordFS) Rename(from, to string) error {
	return r.record("rename "+to, r.FS.Rename(from, to))
}

func (r *recordFS) RemoveAll(name string) error {
	return r.record("remove "+name, r.FS.RemoveAll(name))
}

func (r *recordFS) SyncDir(name string) error {
	return r.record("sync "+name, r.FS.SyncDir(name))
}

type recordFile struct {
	durable.File
	fs   *recordFS
	name string
}

func (f *recordFile) Sync() error { return f.fs.record("sync "+f.name, f.File.Sync()) }

// CMP-15, against power loss: what the journal relies on is on the disk before
// the journal is, and what the journal promises is there before the journal
// goes.
func TestTheJournalStandsBetweenSyncedTrees(t *testing.T) {
	t.Parallel()
	w, _ := crashStory(t)
	fsys := &recordFS{FS: w.fsys()}
	if err := w.carryOut(fsys); err != nil {
		t.Fatal(err)
	}
	decided := slices.Index(fsys.ops, "sync "+florDir)
	decided += 1 + slices.Index(fsys.ops[decided+1:], "sync "+florDir) // the one after the journal's rename
	ended := len(fsys.ops) - 1 - slices.Index(reversed(fsys.ops), "remove "+journalFile)
	if journal := slices.Index(fsys.ops, "rename "+journalFile); journal < 0 || journal > decided || ended < decided {
		t.Fatalf("journal renamed at %d, synced at %d, removed at %d", journal, decided, ended)
	}
	for _, node := range []string{"mgmt01", "tablet"} {
		fsys.wantBetween(t, "sync "+path.Join(stagingDir, staged(node, "agent.json")), 0, decided)
		fsys.wantBetween(t, "rename "+setDir(node)+"/agent.json", decided, ended)
		fsys.wantBetween(t, "sync "+setDir(node), decided, ended)
	}
	fsys.wantBetween(t, "sync "+stagingDir, 0, decided)
	fsys.wantBetween(t, "remove "+path.Join(treeDir, "phone"), decided, ended)
	fsys.wantBetween(t, "sync "+treeDir, decided, ended)
	fsys.wantBetween(t, "rename "+ledgerFile, decided, ended)
}

// wantBetween asserts that the operation happens within the range, and nowhere
// else.
func (r *recordFS) wantBetween(t *testing.T, op string, from, to int) {
	t.Helper()
	for i, got := range r.ops {
		if got == op && (i < from || i > to) {
			t.Errorf("%s is operation %d, and belongs between %d and %d", op, i, from, to)
		}
	}
	if !slices.Contains(r.ops, op) {
		t.Errorf("%s never happens in:\n%s", op, strings.Join(r.ops, "\n"))
	}
}

func reversed(ops []string) []string {
	ops = slices.Clone(ops)
	slices.Reverse(ops)
	return ops
}
