package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// smallDisk is a file system of its own with little room.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=256k"); err != nil {
		t.Skipf("no small disk: mounting a tmpfs takes root with CAP_SYS_ADMIN: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Errorf("unmount the small disk: %v", err)
		}
	})
	return dir
}

// fillDisk leaves no block free in dir, and room makes space again.
func fillDisk(t *testing.T, dir string) (room func()) {
	t.Helper()
	name := filepath.Join(dir, "ballast")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for err == nil {
		_, err = f.Write(bytes.Repeat([]byte("x"), 1024))
	}
	if !errors.Is(err, unix.ENOSPC) {
		t.Fatal(err)
	}
	return func() {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
}

// On a full disk each command says so, with the next step and exit code 3, and
// leaves nothing that would be in the way: with room again the same command does
// what it was to do.
func TestWhatAFullDiskCutOffIsDoneByTheSameCommand(t *testing.T) {
	t.Parallel()
	disk, keys := smallDisk(t), t.TempDir()
	retectl := func(args ...string) (string, int) {
		t.Helper()
		cmd := exec.Command("retectl", args...)
		cmd.Dir = disk
		cmd.Env = append(os.Environ(), "RETECTL_HOME="+keys, "HOME="+keys)
		said, err := cmd.CombinedOutput()
		if failed := new(exec.ExitError); err != nil && !errors.As(err, &failed) {
			t.Fatal(err)
		}
		return string(said), cmd.ProcessState.ExitCode()
	}
	story := []struct {
		name string
		args []string
	}{
		{"init", []string{"init", "demo", "--no-passphrase"}},
		{"a further signer", []string{"--repo", "demo", "ca", "rotate-signer", "add", "next", "--no-passphrase"}},
		{"a bundle", []string{"--repo", "demo", "issue-bundle", "--node", "mgmt01"}},
		{"a certificate", []string{"--repo", "demo", "ca", "issue", "--kind", "user", "--name", "operator", "--out", "."}},
		{"an export", []string{"--repo", "demo", "export-set", "--node", "mgmt01", "--out", "mgmt01.set"}},
		{"a revocation", []string{"--repo", "demo", "ca", "revoke", "operator"}},
		{"a compile", []string{"--repo", "demo", "compile"}},
	}
	for _, tt := range story {
		room := fillDisk(t, disk)
		said, exit := retectl(tt.args...)
		if exit != exitCould || !strings.Contains(said, "no space left on device") || !strings.Contains(said, "\nnext: make room on that disk") {
			t.Errorf("%s on a full disk, exit code %d:\n%s", tt.name, exit, said)
		}
		room()
		if said, exit := retectl(tt.args...); exit != exitDone {
			t.Errorf("%s with room again, exit code %d:\n%s", tt.name, exit, said)
		}
	}
}
