package unixhttp

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// SET-1. The umask is the whole process's, so this test is not parallel.
func TestASocketHasItsPermissionsWhateverTheUmask(t *testing.T) {
	for _, umask := range []int{0, 0o022, 0o777} {
		for _, perm := range []os.FileMode{0o600, 0o660} {
			t.Run(fmt.Sprintf("umask %04o perm %04o", umask, perm), func(t *testing.T) {
				dir := t.TempDir()
				defer syscall.Umask(syscall.Umask(umask))
				path := filepath.Join(dir, "s")
				l, err := Listen(path, perm)
				if err != nil {
					t.Fatal(err)
				}
				defer l.Close()
				info, err := os.Stat(path)
				if err != nil || info.Mode().Perm() != perm {
					t.Errorf("%v, %v", info.Mode(), err)
				}
			})
		}
	}
}

// SET-1: not even for the moment before Listen sets them.
func TestASocketIsNeverWiderThanItShouldBe(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0))
	path := filepath.Join(t.TempDir(), "s")
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(fd)
	if err := narrow(descriptor(fd), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Bind(fd, &syscall.SockaddrUnix{Name: path}); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// descriptor is a syscall.RawConn of a bare descriptor.
type descriptor int

func (d descriptor) Control(f func(uintptr)) error  { f(uintptr(d)); return nil }
func (d descriptor) Read(func(uintptr) bool) error  { return nil }
func (d descriptor) Write(func(uintptr) bool) error { return nil }
