package relay

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/florete/flor/envelope"
	"github.com/florete/flor/store/durable"
)

// Files of a state directory. Nothing else is read.
const (
	treeFile   = "tree.json"
	floorsFile = "floors.json"
	lockFile   = "coordinator.lock"
)

// asideSuffix stands between the name of a file that was damaged and the time at
// which it was set aside.
const asideSuffix = ".corrupt-"

const stateMode fs.FileMode = 0o600

// FileStore is the Storage in a directory of its own, the default of the
// coordinator (CRD-4, CRD-7): floors.json, then tree.json, each replaced by
// SET-2. One process holds a directory at a time.
type FileStore struct {
	disk  durable.FS
	now   func() time.Time
	close func() error

	mu        sync.Mutex // one Load or Swap at a time
	revisions revisions
}

// OpenFileStore opens the state directory dir, which must exist, and locks it. A
// directory that another process holds is refused with a *StateInUse.
func OpenFileStore(dir string) (*FileStore, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("state directory: %w", err)
	}
	lock, err := lockState(root)
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	s := newFileStore(durable.OS(root), time.Now)
	s.close = func() error { return errors.Join(lock.Close(), root.Close()) }
	return s, nil
}

func newFileStore(disk durable.FS, now func() time.Time) *FileStore {
	return &FileStore{disk: disk, now: now, close: func() error { return nil }}
}

// Close gives the directory up. Loads and swaps that are under way are waited
// for; none may follow.
func (s *FileStore) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.close()
}

// Load implements Storage. A file that cannot be understood is renamed to
// <name>.corrupt-<UTC> and reported as Damage; one of a newer program, or one
// that the disk does not give, is an error, and then nothing at all is touched.
func (s *FileStore) Load(context.Context) (State, Revision, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	floors, floorsProblem := s.loadFloors()
	tree, treeProblem := s.loadTree()
	if err := errors.Join(beyondRepair(floorsFile, floorsProblem), beyondRepair(treeFile, treeProblem)); err != nil {
		return State{}, 0, err
	}
	state := State{Tree: tree, Floors: floors}
	err := errors.Join(
		s.setAside(&state, floorsDamaged, floorsFile, floorsProblem),
		s.setAside(&state, treeDamaged, treeFile, treeProblem))
	if err != nil {
		return State{}, 0, err
	}
	return state, s.revisions.current(), nil
}

func (s *FileStore) loadTree() (*Tree, error) {
	doc, err := s.read(treeFile, envelope.MaxSetPublish)
	if err != nil || doc == nil {
		return nil, err
	}
	tree, err := takeTree(doc, nil)
	if err != nil {
		return nil, newerOr(treeFile, "", doc, err)
	}
	return tree, nil
}

func (s *FileStore) loadFloors() (Floors, error) {
	text, err := s.read(floorsFile, maxFloors)
	if err != nil || text == nil {
		return Floors{}, err
	}
	return ParseFloors(text)
}

// read gives the content of a file, nil when there is none.
func (s *FileStore) read(name string, limit int64) ([]byte, error) {
	text, err := s.disk.ReadFile(name, limit)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && text == nil {
		text = []byte{}
	}
	return text, err
}

// beyondRepair gives a problem that is no damage: what a newer program wrote must
// not be touched, and a file that the disk does not give may be whole.
func beyondRepair(name string, problem error) error {
	if problem == nil || isDamage(problem) {
		return nil
	}
	return fmt.Errorf("read %s: %w", name, problem)
}

// setAside renames a damaged file to a name that tells when, and notes it. It
// removes nothing, not even what was set aside in the same second. Of a file that
// is not damaged it notes what an earlier start did.
func (s *FileStore) setAside(state *State, reason Reason, name string, problem error) error {
	if problem == nil {
		return s.recall(state, reason, name)
	}
	aside, err := s.freeName(name + asideSuffix + s.now().UTC().Format("20060102T150405Z"))
	if err == nil {
		err = errors.Join(s.disk.Rename(name, aside), s.disk.SyncDir("."))
	}
	if err != nil {
		return fmt.Errorf("set aside %s, which is damaged (%w): %w", name, problem, err)
	}
	state.Damage = append(state.Damage, Damage{Reason: reason, Name: name, SetAs: aside, Problem: problem})
	return nil
}

// errNotCured is the problem of what an earlier start has set aside.
var errNotCured = errors.New("set aside at an earlier start, and nothing was published since")

// recall notes the damage of a file that is missing because an earlier start has
// set it aside: a start in between must not look as if nothing had ever been
// published (CRD-7).
func (s *FileStore) recall(state *State, reason Reason, name string) error {
	if _, err := s.disk.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	entries, err := s.disk.ReadDir(".")
	if err != nil {
		return fmt.Errorf("list the state directory: %w", err)
	}
	for _, entry := range slices.Backward(entries) { // the latest first
		if strings.HasPrefix(entry.Name(), name+asideSuffix) {
			state.Damage = append(state.Damage, Damage{Reason: reason, Name: name, SetAs: entry.Name(), Problem: errNotCured})
			break
		}
	}
	return nil
}

// freeName is wish, or wish with the first number behind it that is not taken.
func (s *FileStore) freeName(wish string) (string, error) {
	name := wish
	for n := 2; ; n++ {
		_, err := s.disk.Lstat(name)
		if errors.Is(err, fs.ErrNotExist) {
			return name, nil
		}
		if err != nil {
			return "", err
		}
		name = fmt.Sprintf("%s.%d", wish, n)
	}
}

func isDamage(problem error) bool {
	var (
		tree   *TreeError
		floors *floorsError
		size   *durable.SizeError
		kind   *durable.KindError
	)
	return errors.As(problem, &tree) || errors.As(problem, &floors) ||
		errors.As(problem, &size) || errors.As(problem, &kind)
}

// Swap implements Storage: the floors are on disk before the tree is (CRD-3).
func (s *FileStore) Swap(_ context.Context, old Revision, next State) (Revision, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.revisions.current() != old {
		return 0, ErrConflict
	}
	floors, err := next.Floors.Document()
	if err != nil {
		return 0, err
	}
	if err := s.replace(floorsFile, floors); err != nil {
		return 0, err
	}
	if err := s.replace(treeFile, next.Tree.Document()); err != nil {
		return 0, err
	}
	return s.revisions.advance(), nil
}

func (s *FileStore) replace(name string, text []byte) error {
	err := durable.ReplaceFile(s.disk, name, text, stateMode)
	var unknown *durable.UnknownError
	if errors.As(err, &unknown) {
		return &UnknownOutcome{Err: err}
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// Watch implements Storage. Nobody else writes to a directory that is locked, so
// only swaps of this FileStore move its revision.
func (s *FileStore) Watch(ctx context.Context, seen Revision) error {
	return s.revisions.await(ctx, seen)
}

// Reset forgets everything that is stored, floors included, so that the next
// publish may have any version that a fresh coordinator takes (CRD-3). What was
// set aside goes as well. It gives the names of what it removed.
func (s *FileStore) Reset() ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	entries, err := s.disk.ReadDir(".")
	if err != nil {
		return nil, fmt.Errorf("list the state directory: %w", err)
	}
	var removed []string
	for _, entry := range entries {
		if !isOurs(entry.Name()) {
			continue
		}
		if err := s.disk.RemoveAll(entry.Name()); err != nil {
			return removed, fmt.Errorf("remove %s: %w", entry.Name(), err)
		}
		removed = append(removed, entry.Name())
	}
	s.revisions.advance()
	return removed, s.disk.SyncDir(".")
}
