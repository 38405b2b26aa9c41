package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// Modes of what is made below the runtime base.
const (
	userBasePerm    fs.FileMode = 0o700
	systemBasePerm  fs.FileMode = 0o755
	runtimeRootPerm fs.FileMode = 0o750
)

// RuntimeRoot returns the directory of a scope's sockets. It makes nothing; a
// runtime base that exists and is somebody else's, or writable for others, is
// refused, because whoever can rename what is in it can answer in our place. In
// system mode it may belong to the account that the scope belongs to, which
// runs the agent, and who asks is another.
func (l Layout) RuntimeRoot(scope string) (string, error) {
	if err := CheckScope(scope); err != nil {
		return "", err
	}
	err := l.checkRuntimeBase(l.trusted(scope)...)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	return filepath.Join(l.RuntimeBase, scope), nil
}

// MakeRuntimeRoot makes the runtime base where it is missing and the scope's
// directory in it, mode 0750, and returns that directory (AGT-1). Only the
// holder of the scope's lock calls it.
func (l Layout) MakeRuntimeRoot(scope string) (string, error) {
	if err := CheckScope(scope); err != nil {
		return "", err
	}
	if err := makeDir(l.RuntimeBase, l.basePerm()); err != nil {
		return "", fmt.Errorf("make the runtime base: %w", err)
	}
	if err := l.checkRuntimeBase(os.Getuid()); err != nil {
		return "", err
	}
	root := filepath.Join(l.RuntimeBase, scope)
	if err := makeDir(root, runtimeRootPerm); err != nil {
		return "", fmt.Errorf("make the runtime directory of scope %s: %w", scope, err)
	}
	return root, nil
}

func (l Layout) basePerm() fs.FileMode {
	if l.Mode == System {
		return systemBasePerm
	}
	return userBasePerm
}

// trusted are the accounts beside root that a runtime base may belong to: ours,
// and in system mode that of the scope, below a directory that only root writes.
func (l Layout) trusted(scope string) []int {
	uids := []int{os.Getuid()}
	if l.Mode != System {
		return uids
	}
	info, err := os.Lstat(filepath.Join(l.RetesDir(), scope))
	if err != nil {
		return uids
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		uids = append(uids, int(stat.Uid))
	}
	return uids
}

// checkRuntimeBase judges the base itself, not what a link at its place leads to.
func (l Layout) checkRuntimeBase(uids ...int) error {
	info, err := os.Lstat(l.RuntimeBase)
	if err != nil {
		return err
	}
	if fault := baseFault(info, uids...); fault != "" {
		return refuse(RuntimeBase, "", "%s %s: remove it, or set FLOR_RUNTIME_DIR to a directory of your own", l.RuntimeBase, fault)
	}
	return nil
}

// baseFault says what is wrong with a runtime base, or nothing.
func baseFault(info fs.FileInfo, uids ...int) string {
	stat, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.IsDir():
		return "is not a directory"
	case !ok:
		return "has no owner that can be read"
	case stat.Uid != 0 && !slices.Contains(uids, int(stat.Uid)):
		return fmt.Sprintf("belongs to uid %d, not to uid %d or root", stat.Uid, uids[0])
	case info.Mode().Perm()&0o022 != 0:
		return fmt.Sprintf("is writable for others (mode %04o)", info.Mode().Perm())
	}
	return ""
}

// makeDir makes one directory of exactly this mode; one that exists is left
// as it is. Its parents are made for the owner alone.
func makeDir(dir string, perm fs.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(dir), userBasePerm); err != nil {
		return err
	}
	err := os.Mkdir(dir, perm)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return os.Chmod(dir, perm)
}

// SocketPath returns the path of a socket in a runtime root, and refuses one
// that the platform cannot bind: over 107 bytes on Linux, 103 on darwin
// (SET-1). It is called before anything is spawned.
func SocketPath(runtimeRoot, name string) (string, error) {
	path := filepath.Join(runtimeRoot, name)
	if len(path) > maxSocketPath {
		return "", refuse(PathTooLong, "", "the socket path %s has %d bytes, the limit here is %d: set FLOR_RUNTIME_DIR to a shorter directory",
			path, len(path), maxSocketPath)
	}
	return path, nil
}
