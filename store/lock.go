package store

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/florete/flor/store/durable"
)

// lockPerm keeps the lock from everybody else: who can open it can hold it.
const lockPerm fs.FileMode = 0o600

// Lock is the exclusive right to change one scope (AGT-1). It ends with
// [Lock.Release] or with the process, whichever comes first.
type Lock struct {
	file *os.File
	// mute is set where the file cannot be written, so that it names nobody.
	mute bool
}

// HeldError says that another process holds the scope's lock, or its runtime
// root.
type HeldError struct {
	Scope string
	PID   int // 0 where the holder had not yet written it, or could not
	// Runtime is the runtime root that is held, empty where it is the lock.
	Runtime string
}

func (e *HeldError) Error() string {
	holder := "another process"
	if e.PID != 0 {
		holder = fmt.Sprintf("process %d", e.PID)
	}
	if e.Runtime != "" {
		return fmt.Sprintf("%s %s: scope %s: %s is in use by %s, an agent with another state directory: stop that one, or give this one a runtime directory of its own with FLOR_RUNTIME_DIR",
			e.Code(), RuntimeHeld, e.Scope, e.Runtime, holder)
	}
	return fmt.Sprintf("%s %s: scope %s: held by %s: stop that one first", e.Code(), ScopeHeld, e.Scope, holder)
}

// Code returns the stable code of the refusal.
func (e *HeldError) Code() string {
	if e.Runtime != "" {
		return RuntimeHeld.Code()
	}
	return ScopeHeld.Code()
}

// LockScope takes the lock of an enrolled scope and writes our pid into it. It
// does not wait: a lock that is held gives a *HeldError that names the holder.
// On a file system that is mounted read-only the lock is held all the same, by
// the same file, and names nobody: what is there can be served ([Scope.Writable]).
func LockScope(stateDir, scope string) (*Lock, error) {
	if err := CheckScope(scope); err != nil {
		return nil, err
	}
	if err := findScope(retesDir(stateDir), scope); err != nil {
		return nil, notEnrolled(stateDir, scope, err)
	}
	lock, err := takeLock(stateDir, scope, lockChange(nil))
	if errors.Is(err, syscall.EROFS) {
		return takeLock(stateDir, scope, lockAsItIs)
	}
	return lock, err
}

// findScope finds a scope, or what is about to replace it (see [CreateInstead]).
func findScope(retes, scope string) error {
	_, err := os.Lstat(filepath.Join(retes, scope))
	if errors.Is(err, fs.ErrNotExist) {
		_, err = os.Lstat(filepath.Join(retes, nextPrefix+scope))
	}
	return err
}

// LockForEnrolment takes the lock of a scope that need not exist yet. It makes
// the state directory where it is missing; the lock belongs to owner, who will
// run the agent, where that is somebody else than we.
func LockForEnrolment(stateDir, scope string, owner *durable.Owner) (*Lock, error) {
	if err := CheckScope(scope); err != nil {
		return nil, err
	}
	if err := makeRetes(stateDir, owner); err != nil {
		return nil, fmt.Errorf("make the state directory: %w", err)
	}
	lock, err := takeLock(stateDir, scope, lockChange(owner))
	if err != nil {
		return nil, err
	}
	err = withinRetes(stateDir, scope, func(root *os.Root) error { return settleScope(durable.OS(root), scope) })
	if err != nil {
		return nil, errors.Join(fmt.Errorf("settle scope %s: %w", scope, err), lock.Release())
	}
	return lock, nil
}

// makeRetes leaves the directories to us; a service user must be able to pass
// through them to its scope, and nobody else has anything to see there.
func makeRetes(stateDir string, owner *durable.Owner) error {
	perm := userBasePerm
	if owner != nil {
		perm = systemBasePerm
	}
	if err := makeDir(stateDir, perm); err != nil {
		return err
	}
	return makeDir(retesDir(stateDir), perm)
}

// lockOpener opens the lock of that name below the directory of all scopes.
type lockOpener func(retes *os.Root, name string) (*Lock, error)

func takeLock(stateDir, scope string, open lockOpener) (*Lock, error) {
	lock, err := openLock(stateDir, scope, open)
	if err != nil {
		return nil, fmt.Errorf("open the lock of scope %s: %w", scope, err)
	}
	err = flock(lock.file, func() bool { return hasEnded(lock.holder()) })
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = &HeldError{Scope: scope, PID: lock.holder()}
	}
	if err == nil && !lock.mute {
		err = namesHolder(lock.file)
	}
	if err != nil {
		return nil, errors.Join(err, lock.file.Close())
	}
	return lock, nil
}

// lockPatience is how long a lock may be held by what a holder that has ended was
// spawning at that moment: it has the file open until it executes its program.
const lockPatience = time.Second

// flock takes a lock, and tries again for a moment while passing tells that it is
// about to be free.
func flock(file *os.File, passing func() bool) error {
	for begun := time.Now(); ; time.Sleep(lockPatience / 100) {
		err := tryFlock(file)
		if !errors.Is(err, syscall.EWOULDBLOCK) || time.Since(begun) > lockPatience || !passing() {
			return err
		}
	}
}

func tryFlock(file *os.File) error {
	return syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}

// hasEnded tells that no process has this pid; 0 is nobody's.
func hasEnded(pid int) bool { return pid > 0 && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }

// openLock opens the lock below a directory handle, so that no link leads away.
func openLock(stateDir, scope string, open lockOpener) (*Lock, error) {
	root, err := os.OpenRoot(retesDir(stateDir))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return open(root, scope+lockSuffix)
}

// lockChange opens the lock to write the holder into it, and makes it where it
// is missing.
func lockChange(owner *durable.Owner) lockOpener {
	return func(retes *os.Root, name string) (*Lock, error) {
		file, err := retes.OpenFile(name, os.O_RDWR|os.O_CREATE|syscall.O_NONBLOCK, lockPerm)
		if err != nil {
			return nil, err
		}
		if err := settleLock(file, owner); err != nil {
			return nil, errors.Join(err, file.Close())
		}
		return &Lock{file: file}, nil
	}
}

// lockAsItIs opens the lock where nothing can be written. A flock goes by the
// file and not by how it was opened, so it keeps out whoever comes once the file
// system is writable again.
func lockAsItIs(retes *os.Root, name string) (*Lock, error) {
	file, err := retes.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	return &Lock{file: file, mute: true}, nil
}

func settleLock(file *os.File, owner *durable.Owner) error {
	if err := file.Chmod(lockPerm); err != nil || owner == nil {
		return err
	}
	return file.Chown(owner.UID, owner.GID)
}

// namesHolder writes our pid into a lock that is ours. It says who holds the
// lock and is not what holds it, so a full disk keeps no agent from its scope.
func namesHolder(file *os.File) error {
	err := writePID(file)
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return file.Truncate(0)
	}
	return err
}

// writePID overwrites before it cuts, so that the room which the file has stays
// its own.
func writePID(file *os.File) error {
	text := []byte(strconv.Itoa(os.Getpid()) + "\n")
	if _, err := file.WriteAt(text, 0); err != nil {
		return err
	}
	return file.Truncate(int64(len(text)))
}

// holder is the process that the lock names, 0 where that may be an older one
// than who holds it.
func (l *Lock) holder() int {
	if l.mute {
		return 0
	}
	return readPID(l.file)
}

func readPID(file *os.File) int {
	text, err := io.ReadAll(io.NewSectionReader(file, 0, 32))
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(string(bytes.TrimSpace(text)))
	if err != nil || pid < 0 {
		return 0
	}
	return pid
}

// Holder is the process that holds the lock of a scope, 0 where nobody does or it
// cannot be told. Nothing is written for that, and the lock is only tried where it
// names a process that lives, so that an agent which is just starting does not
// find it taken by us.
func (l Layout) Holder(scope string) int {
	lock, err := openLock(l.State, scope, lockAsItIs)
	if err != nil {
		return 0
	}
	defer lock.file.Close()
	if pid := readPID(lock.file); pid == 0 || hasEnded(pid) {
		return 0
	}
	if err := tryFlock(lock.file); errors.Is(err, syscall.EWOULDBLOCK) {
		return readPID(lock.file)
	}
	_ = syscall.Flock(int(lock.file.Fd()), syscall.LOCK_UN)
	return 0 // the process named there is another's by now
}

// Release gives the lock up. The file stays: unlinking it would let two
// processes hold locks on two files of one name. It is unlocked and not only
// closed: a child that is being spawned at this moment has the file open, too.
func (l *Lock) Release() error {
	return errors.Join(l.unname(), syscall.Flock(int(l.file.Fd()), syscall.LOCK_UN), l.file.Close())
}

// unname takes our pid out. Where the file system has become read-only meanwhile
// it stays; a number in a lock that nobody holds names nobody.
func (l *Lock) unname() error {
	if l.mute {
		return nil
	}
	if err := l.file.Truncate(0); !errors.Is(err, syscall.EROFS) {
		return err
	}
	return nil
}

func notEnrolled(stateDir, scope string, err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return refuse(NotEnrolled, scope, "there is no such scope below %s: run flor enroll <bundle>", retesDir(stateDir))
}
