package compiler

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/florete/flor/store/durable"
)

// repository is the operator's repository, opened and locked: nobody else
// compiles in it, and no unfinished compile is pending.
type repository struct {
	root *os.Root
	fsys durable.FS
	lock *os.File
}

// openRepository takes the lock of the repository at dir and completes what an
// earlier run left unfinished. Close it.
func openRepository(dir string) (*repository, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open repository: %w", err)
	}
	r := &repository{root: root, fsys: newDiskFS(root)}
	if err := r.prepare(); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

func (r *repository) prepare() error {
	if err := ensureDir(r.fsys, florDir); err != nil {
		return fmt.Errorf("make %s: %w", florDir, err)
	}
	if err := r.takeLock(); err != nil {
		return err
	}
	if err := errors.Join(r.ensureFile(ignoreFile, ignored), r.ensureFile(attributes, merged)); err != nil {
		return err
	}
	return recoverTree(r.fsys)
}

// takeLock makes this process the only one that writes the tree (CMP-15). The
// kernel gives the lock back when the process ends, however it ends. Nothing is
// written into the file: a compile that changes nothing touches no file.
func (r *repository) takeLock() error {
	f, err := r.root.OpenFile(lockFile, os.O_RDWR|os.O_CREATE, fileMode)
	if err != nil {
		return fmt.Errorf("open lock: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		defer f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return refuse(ReasonCompileRunning, "process %s is working in this repository; wait for it, then try again", holder(f))
		}
		return fmt.Errorf("lock repository: %w", err)
	}
	r.lock = f
	signUp(f)
	return nil
}

// signUp takes the other kind of lock that a file has, of which the kernel
// tells everybody whose it is. It guards nothing: that it fails, as on some
// network file systems, costs only the name.
func signUp(f *os.File) {
	_ = unix.FcntlFlock(f.Fd(), unix.F_SETLK, &unix.Flock_t{Type: unix.F_WRLCK})
}

// holder is the process that has signed up, for a person to read. The kernel
// does not name a process to itself.
func holder(f *os.File) string {
	question := unix.Flock_t{Type: unix.F_WRLCK}
	if err := unix.FcntlFlock(f.Fd(), unix.F_GETLK, &question); err != nil || question.Pid < 0 {
		return "(unknown)"
	}
	if question.Type == unix.F_UNLCK {
		return strconv.Itoa(os.Getpid())
	}
	return strconv.Itoa(int(question.Pid))
}

// ensureFile writes a file that is for git, unless there is one.
func (r *repository) ensureFile(name, text string) error {
	if _, err := r.fsys.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return durable.ReplaceFile(r.fsys, name, []byte(text), fileMode)
}

// Close gives the lock up.
func (r *repository) Close() error {
	var err error
	if r.lock != nil {
		err = r.lock.Close()
	}
	return errors.Join(err, r.root.Close())
}

// readSource reads a file of the operator's, by its slash-separated path below
// the root, of at most limit bytes. Paths that leave the root are refused.
func readSource(fsys durable.FS, name string, limit int64) ([]byte, error) {
	clean := path.Clean(name)
	if path.IsAbs(clean) || clean == ".." || strings.HasPrefix(clean, "../") {
		return nil, fmt.Errorf("%s lies outside of the repository", name)
	}
	return fsys.ReadFile(clean, limit)
}

// peek opens the repository at dir for reading only. A compile that was cut
// short, or is at work, leaves nothing that could be trusted.
func peek(dir string) (durable.FS, func() error, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, nil, fmt.Errorf("open repository: %w", err)
	}
	fsys := newDiskFS(root)
	if _, err := fsys.Lstat(journalFile); err == nil {
		return nil, nil, errors.Join(root.Close(), refuse(ReasonCompileRunning,
			"a compile is at work here, or was cut short; run \"retectl compile\" to finish it"))
	}
	return fsys, root.Close, nil
}
