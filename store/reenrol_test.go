package store

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestScopeThatIsAboutToBeReplaced: between the two renames of an enrolment by
// force the scope is still there for whoever lists, locks or opens it (BND-3).
func TestScopeThatIsAboutToBeReplaced(t *testing.T) {
	t.Parallel()
	stateDir := newRete().enrol(t, 1)
	retes := filepath.Join(stateDir, "retes")
	if err := os.Rename(filepath.Join(retes, testScope), filepath.Join(retes, nextPrefix+testScope)); err != nil {
		t.Fatal(err)
	}
	got, err := (Layout{State: stateDir}).Scopes()
	if diff := cmp.Diff([]string{testScope}, got); err != nil || diff != "" {
		t.Errorf("scopes (-want +got): %v\n%s", err, diff)
	}
	lock, err := LockScope(stateDir, testScope)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Release()
	if loaded := load(t, open(t, stateDir)); loaded.Active.Version != 1 || loaded.Problem != nil {
		t.Errorf("version %d is active: %v", loaded.Active.Version, loaded.Problem)
	}
}

// TestHalfEnrolledScope cannot be finished, and says so; nothing else of it is
// touched.
func TestHalfEnrolledScope(t *testing.T) {
	t.Parallel()
	stateDir := newRete().enrol(t, 1)
	root := filepath.Join(stateDir, "retes", testScope)
	if err := os.Mkdir(filepath.Join(root, journalDir), 0o700); err != nil {
		t.Fatal(err)
	}
	before := snapshot(t, root)
	_, err := Open(stateDir, testScope)
	wantReason(t, err, HalfEnrolled)
	if diff := cmp.Diff(before, snapshot(t, root)); diff != "" {
		t.Errorf("it was touched (-before +after):\n%s", diff)
	}
}

// TestReplacedScopeStaysWhereItIs: no name is taken twice.
func TestReplacedScopeStaysWhereItIs(t *testing.T) {
	t.Parallel()
	network := newRete()
	stateDir := network.enrol(t, 1)
	e, err := network.enrolment()
	if err != nil {
		t.Fatal(err)
	}
	epoch := time.Unix(0, 0)
	if _, err := CreateInstead(stateDir, testScope, e, epoch); err != nil {
		t.Fatal(err)
	}
	if _, err := CreateInstead(stateDir, testScope, e, epoch); !errors.Is(err, os.ErrExist) {
		t.Errorf("got %v, want a name that is taken", err)
	}
	if loaded := load(t, open(t, stateDir)); loaded.Active.Version != 1 {
		t.Errorf("version %d is active", loaded.Active.Version)
	}
}
