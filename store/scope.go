package store

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/florete/flor/envelope"
	"github.com/florete/flor/store/durable"
	"github.com/florete/flor/store/internal/anchor"
)

// Scope is one rete's tree on this machine. Whoever opens it holds the scope's
// lock as long as it is open. Its methods are for one goroutine at a time,
// except [Scope.Root], [Scope.IdentityDir], [Scope.ArtifactPath], [Scope.Stamp] and
// [Scope.Writable], which may be called from any.
type Scope struct {
	name string
	dir  string // absolute
	root *os.Root
	fsys durable.FS

	state   State
	written []byte // agent/state.json as it stands
	lost    bool   // the state is lost: nothing can be admitted (SET-6)
}

// Open opens an enrolled scope and settles what an enrolment left that was cut
// short: a replacement of the scope, of its identity, or of identity and set
// (SET-8, BND-3). The caller holds its lock, closes it, and calls [Scope.Load]
// before anything that admits. What is written to the scope belongs to whom its
// root belongs to.
func Open(stateDir, scope string) (*Scope, error) {
	if err := CheckScope(scope); err != nil {
		return nil, err
	}
	retes, err := filepath.Abs(retesDir(stateDir))
	if err != nil {
		return nil, err
	}
	root, err := openScopeRoot(retes, scope)
	if err != nil {
		return nil, notEnrolled(stateDir, scope, err)
	}
	owner, err := foreignOwner(root)
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	s := &Scope{name: scope, dir: filepath.Join(retes, scope), root: root, fsys: durable.OS(root).OwnedBy(owner)}
	if err := s.settle(); err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return s, nil
}

// settle makes one enrolment of what a crash left of two.
func (s *Scope) settle() error {
	if err := s.finishEnrolment(); err != nil {
		return err
	}
	if err := durable.SettleDir(s.fsys, identityDir); err != nil {
		return fmt.Errorf("settle the identity of scope %s: %w", s.name, err)
	}
	return nil
}

// openScopeRoot opens the directory itself, never what a link leads to.
func openScopeRoot(retes, scope string) (*os.Root, error) {
	parent, err := os.OpenRoot(retes)
	if err != nil {
		return nil, err
	}
	defer parent.Close()
	if err := settleScope(durable.OS(parent), scope); err != nil {
		return nil, err
	}
	info, err := parent.Lstat(scope)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, &durable.KindError{Name: scope, Want: "directory", Got: info.Mode().String()}
	}
	return parent.OpenRoot(scope)
}

// foreignOwner is whom a directory belongs to, or nil where that is we.
func foreignOwner(root *os.Root) (*durable.Owner, error) {
	info, err := root.Stat(".")
	if err != nil {
		return nil, err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(stat.Uid) == os.Geteuid() {
		return nil, nil
	}
	return &durable.Owner{UID: int(stat.Uid), GID: int(stat.Gid)}, nil
}

// Close releases the directory handle. The lock is the caller's.
func (s *Scope) Close() error { return s.root.Close() }

// Writable tells with reason ReadOnly that the scope's file system is mounted
// read-only now: what is on it can be loaded and served, nothing can be admitted.
// It may be called from any goroutine.
func (s *Scope) Writable() error {
	if err := unix.Access(s.dir, unix.W_OK); !errors.Is(err, unix.EROFS) {
		return nil
	}
	return refuse(ReadOnly, s.name, "%s is mounted read-only: what is on it is served, but nothing newer can be admitted until it is mounted writable", s.dir)
}

// Root returns the absolute path of the scope root.
func (s *Scope) Root() string { return s.dir }

// State returns what the scope remembers as of the last Load, Admit, ConfirmMark
// or Clean.
func (s *Scope) State() State { return s.state }

// IdentityDir returns the absolute path of the identity directory.
func (s *Scope) IdentityDir() string { return filepath.Join(s.dir, identityDir) }

// ArtifactPath returns the absolute path of a member of a retained set: what a
// workload gets as FLORWL_MGMT_ARTIFACT. It does not check that it exists.
func (s *Scope) ArtifactPath(version uint64, name string) string {
	return filepath.Join(s.dir, filepath.FromSlash(setDir(version)), artifactFile(name))
}

// Anchor reads what enrolment pinned: trust domain and CA.
func (s *Scope) Anchor() (envelope.Anchor, error) {
	td, ca, err := anchor.Read(s.fsys, identityDir)
	if err != nil {
		return envelope.Anchor{}, refuse(BadAnchor, s.name, "%w: enrol again with flor enroll <bundle>", err)
	}
	return envelope.Anchor{TrustDomain: td, CA: ca}, nil
}

// WorkloadDir makes a workload's durable state directory, mode 0700, where it
// is missing, and returns its absolute path. Nothing here ever removes it
// (SET-4).
func (s *Scope) WorkloadDir(name string) (string, error) {
	if err := envelope.SafeName(name); err != nil {
		return "", refuse(BadWorkloadName, s.name, "%w", err)
	}
	dir := path.Join(workloadsDir, name)
	info, err := s.fsys.Lstat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = errors.Join(s.fsys.Mkdir(dir, dirPerm), s.fsys.SyncDir(workloadsDir))
	case err == nil && !info.IsDir():
		err = &durable.KindError{Name: dir, Want: "directory", Got: info.Mode().String()}
	}
	if err != nil {
		return "", fmt.Errorf("make the state directory of workload %s: %w", name, err)
	}
	return filepath.Join(s.dir, workloadsDir, name), nil
}

// Held returns the trust that the next root is judged by (ENV-12): the anchor,
// the block of the active set's root as recorded at admission, and the retired
// keys (SET-6). st is what Load, Admit or ConfirmMark returned.
func (s *Scope) Held(st State) (envelope.Held, error) {
	record, ok := st.Record(st.Active)
	if s.lost || !ok {
		return envelope.Held{}, s.refuseLost()
	}
	pinned, err := s.Anchor()
	if err != nil {
		return envelope.Held{}, err
	}
	signers, err := pinned.TrustSet(record.Trust)
	if err != nil {
		return envelope.Held{}, fmt.Errorf("the trust recorded with %s: %w", setName(st.Active), err)
	}
	return envelope.Held{Anchor: pinned, Signers: signers, Retired: st.Retired}, nil
}

func (s *Scope) refuseLost() error {
	return refuse(TrustStateLost, s.name, "%s is missing or unreadable, so that nobody can tell which trust was held; "+
		"what is active keeps running; to receive sets again, enrol again with flor enroll <bundle>", stateFile)
}

// saveState replaces agent/state.json where it differs and, once that is done,
// what we hold.
func (s *Scope) saveState(st State) error {
	text, err := formatState(st)
	if err == nil && !bytes.Equal(text, s.written) {
		err = durable.ReplaceFile(s.fsys, stateFile, text, filePerm)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", stateFile, err)
	}
	s.state, s.written = st, text
	return nil
}

// writeCurrent makes a set the active one (SET-3).
func (s *Scope) writeCurrent(version uint64) error {
	if err := durable.ReplaceFile(s.fsys, currentFile, formatCurrent(version), filePerm); err != nil {
		return fmt.Errorf("write %s: %w", currentFile, err)
	}
	s.state.Active = version
	return nil
}
