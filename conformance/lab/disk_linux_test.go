package lab

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// mountSmall puts a file system of 2 MiB at a directory, for the time of the
// scenario.
func (s *scene) mountSmall(dir string) error {
	err := unix.Mount("lab", dir, "tmpfs", 0, "size=2m,mode=0700")
	if err == nil {
		s.mounted = append(s.mounted, dir)
	}
	return err
}

// fill writes until the file system has no space left; remove makes space.
func (s *scene) fill(dir string) (remove func()) {
	s.t.Helper()
	name := filepath.Join(dir, "ballast")
	f, err := os.Create(name)
	s.must(err)
	for size := 64 << 10; size > 0; {
		_, err := f.Write(make([]byte, size))
		switch {
		case errors.Is(err, unix.ENOSPC):
			size /= 2
		case err != nil:
			s.t.Fatal(err)
		}
	}
	s.must(f.Close())
	return func() { s.must(os.Remove(name)) }
}
