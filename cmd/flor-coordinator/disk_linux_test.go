package main

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// nobody is a user that owns nothing.
const nobody = 65534

// asOrdinaryUser lets the program run as a user whom modes bind: as the one who
// runs the tests, or as nobody where that is root. It can then neither reach the
// directories of the tests nor the binary in the go command's, so that it is
// given its own.
func (p *place) asOrdinaryUser() *place {
	p.t.Helper()
	if os.Geteuid() != 0 {
		return p
	}
	dir := filepath.Dir(p.artifact)
	state, binary := filepath.Join(dir, "state"), filepath.Join(dir, "flor-coordinator")
	// Another process writes the copy: a program that is open for writing, also by
	// what other tests are forking, cannot be run.
	err := errors.Join(exec.Command("cp", os.Args[0], binary).Run(), os.Mkdir(state, 0o700))
	for _, name := range []string{dir, p.artifact, state} {
		err = errors.Join(err, os.Chown(name, nobody, nobody))
	}
	if err != nil {
		p.t.Fatal(err)
	}
	p.state, p.binary = state, binary
	p.attr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	return p
}

// onSmallDisk gives the place a state directory on a file system of size bytes.
func (p *place) onSmallDisk(size string) *place {
	p.t.Helper()
	err := syscall.Mount("none", p.state, "tmpfs", 0, "size="+size+",mode=0700")
	if errors.Is(err, fs.ErrPermission) {
		p.t.Skip("mounting a small file system needs to be root and allowed to: ", err)
	}
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() {
		if err := syscall.Unmount(p.state, syscall.MNT_DETACH); err != nil {
			p.t.Error(err)
		}
	})
	return p
}

// CRD-4: a publish that does not fit on the disk is refused with 507, leaves
// nothing behind, and what was served is served on, after a start on the full
// disk as well. What fits is taken.
func TestAFullDisk(t *testing.T) {
	t.Parallel()
	p := newPlace(t).onSmallDisk("1m")
	older, large, newer := treeOf(3, 400<<10), treeOf(4, 900<<10), treeOf(4, 100<<10)
	r := p.start()
	r.publish(older)
	r.refusesToStore(large, "no space left on device")
	r.serves(older)
	if litter, _ := filepath.Glob(filepath.Join(p.state, "*.tmp")); len(litter) > 0 {
		t.Errorf("left behind: %q", litter)
	}
	r.stop()
	if err := os.WriteFile(filepath.Join(p.state, "filler"), make([]byte, 2<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("filling the disk: %v", err)
	}
	r = p.start()
	r.serves(older)
	r.refusesToStore(newer, "no space left on device")
	if err := os.Remove(filepath.Join(p.state, "filler")); err != nil {
		t.Fatal(err)
	}
	r.publish(newer)
	r.serves(newer)
	if code, stderr := r.stop(); code != 0 || !strings.Contains(stderr, "publish not stored") {
		t.Errorf("exit %d: %s", code, stderr)
	}
}

// CRD-4, CRD-7: a file system that has become read-only, as one with errors is
// remounted: what is there is served, also after a start, and publishes are refused
// until it can be written again.
func TestAFileSystemThatBecameReadOnly(t *testing.T) {
	t.Parallel()
	p, older, newer := newPlace(t).onSmallDisk("1m"), tree(3), tree(4)
	r := p.start()
	r.publish(older)
	r.stop()
	p.remount(syscall.MS_RDONLY)
	r = p.start()
	r.serves(older)
	r.refusesToStore(newer, "read-only file system")
	p.remount(0)
	r.publish(newer)
	r.serves(newer)
	if code, stderr := r.stop(); code != 0 {
		t.Errorf("exit %d: %s", code, stderr)
	}
}

func (p *place) remount(flags uintptr) {
	p.t.Helper()
	if err := syscall.Mount("none", p.state, "tmpfs", syscall.MS_REMOUNT|flags, ""); err != nil {
		p.t.Fatal(err)
	}
}
