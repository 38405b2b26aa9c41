package compiler

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// onSmallDisk puts the repository on a file system of its own with little room.
func (w *world) onSmallDisk(t *testing.T) {
	t.Helper()
	files := w.everything()
	if err := unix.Mount("tmpfs", w.dir, "tmpfs", 0, "size=512k"); err != nil {
		t.Skipf("no small disk: mounting a tmpfs takes root with CAP_SYS_ADMIN: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(w.dir, 0); err != nil {
			t.Errorf("unmount the small disk: %v", err)
		}
	})
	for name, text := range files {
		w.write(name, text)
	}
}

// everything reads the whole repository: path to content.
func (w *world) everything() map[string]string {
	w.t.Helper()
	files := map[string]string{}
	err := fs.WalkDir(os.DirFS(w.dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files[name] = w.read(name)
		}
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return files
}

// fillDisk leaves no block free; room makes space again.
func (w *world) fillDisk() (room func()) {
	w.t.Helper()
	name := filepath.Join(w.dir, "ballast.bin")
	f, err := os.Create(name)
	if err != nil {
		w.t.Fatal(err)
	}
	defer f.Close()
	for err == nil {
		_, err = f.Write(bytes.Repeat([]byte("x"), 1024))
	}
	if !errors.Is(err, unix.ENOSPC) {
		w.t.Fatal(err)
	}
	return func() {
		if err := os.Remove(name); err != nil {
			w.t.Fatal(err)
		}
	}
}

// CMP-15: on a full disk a compile says so and leaves the old tree, and an
// issue hands nothing out that the log does not know; with room again both go
// through.
func TestAFullDiskLeavesTheOldTree(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.compile()
	w.onSmallDisk(t)
	if r := w.compile(); len(r.Changes) != 0 {
		t.Fatalf("the copy of the repository moves %v", moves(r))
	}
	before := w.snapshot()
	w.edit("services.yaml", "127.0.0.1:9000", "127.0.0.1:9002")
	room := w.fillDisk()
	if err := w.compileError(w.options()); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("compile on a full disk: %v", err)
	}
	if e, err := w.issue("laptop"); err == nil {
		t.Errorf("a bundle was handed out: %v", e.Issued)
	}
	room()
	w.recover(0)
	if !sameFiles(before, w.snapshot()) {
		t.Error("the tree changed")
	}
	if r := w.compile(); len(r.Changes) != 1 {
		t.Errorf("with room again, the compile moves %v", moves(r))
	}
}

// PKI-4: what a full disk took half of does not spoil the log.
func TestAFullDiskDoesNotSpoilTheIssuanceLog(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.compile()
	w.onSmallDisk(t)
	for range 12 { // over one page, so that the next entries need another
		if _, err := w.issue("laptop"); err != nil {
			t.Fatal(err)
		}
	}
	room := w.fillDisk()
	issued, failed := 0, false
	for !failed && issued < 32 {
		_, err := w.issue("laptop")
		failed = errors.Is(err, unix.ENOSPC)
		if err != nil && !failed {
			t.Fatal(err)
		}
		issued++
	}
	if !failed {
		t.Fatal("the disk never was full")
	}
	room()
	if _, err := w.issue("laptop"); err != nil {
		t.Errorf("with room again: %v", err)
	}
	if _, err := readIssued(w.fsys()); err != nil {
		t.Error(err)
	}
}
