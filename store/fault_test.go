package store

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/florete/flor/store/durable"
)

var errFault = errors.New("fault of the disk")

// faulty is a disk on which one rename fails, or the sync of one directory.
type faulty struct {
	durable.FS
	rename string // target
	sync   string
}

func (f faulty) Rename(oldName, newName string) error {
	if newName == f.rename {
		return errFault
	}
	return f.FS.Rename(oldName, newName)
}

func (f faulty) SyncDir(name string) error {
	if name == f.sync {
		return errFault
	}
	return f.FS.SyncDir(name)
}

// TestAdmissionThatFails: a fault at any step leaves the old set active, in what
// is held and on disk, and the next admission goes through (SET-2, SET-3).
func TestAdmissionThatFails(t *testing.T) {
	t.Parallel()
	network := newRete()
	for name, disk := range map[string]faulty{
		"the set cannot be published":  {rename: setDir(3)},
		"the record cannot be written": {rename: stateFile},
		"current cannot be flipped":    {rename: currentFile},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stateDir, _ := network.twoSets(t)
			s := open(t, stateDir)
			before := load(t, s).State
			staged, err := s.Stage(network.set(t, 3))
			if err != nil {
				t.Fatal(err)
			}
			whole := s.fsys
			disk.FS = whole
			s.fsys, staged.fsys = disk, disk
			st, err := s.Admit(staged)
			if !errors.Is(err, errFault) || errors.As(err, new(*durable.UnknownError)) {
				t.Fatalf("got %v, want the fault, not written", err)
			}
			if diff := cmp.Diff(before, st); diff != "" {
				t.Errorf("held state (-before +after):\n%s", diff)
			}
			if loaded := load(t, open(t, stateDir)); loaded.Active.Version != 2 || loaded.Recovered {
				t.Errorf("a restart runs version %d, recovered %v", loaded.Active.Version, loaded.Recovered)
			}
			s.fsys = whole
			if st := network.admit(t, s, 4); st.Active != 4 || st.Mark != 4 {
				t.Errorf("the next admission: active %d, mark %d", st.Active, st.Mark)
			}
		})
	}
}

// TestAdmissionOfUnknownOutcome is the end of SET-2: where a sync fails after
// its rename, nobody can tell what survives.
func TestAdmissionOfUnknownOutcome(t *testing.T) {
	t.Parallel()
	network := newRete()
	for _, dir := range []string{setsDir, agentDir, mgmtDir} {
		s := open(t, network.enrol(t, 1))
		load(t, s)
		staged, err := s.Stage(network.set(t, 2))
		if err != nil {
			t.Fatal(err)
		}
		disk := faulty{FS: s.fsys, sync: dir}
		s.fsys, staged.fsys = disk, disk
		var unknown *durable.UnknownError
		if _, err := s.Admit(staged); !errors.As(err, &unknown) || !errors.Is(err, errFault) {
			t.Errorf("sync of %s fails: %v", dir, err)
		}
	}
}

// TestAStartOnADiskThatTakesNothing: what was found runs although it cannot be
// put in order, the disk stays as it was, and once it can be written the same is
// found and settled (SET-2, SET-5).
func TestAStartOnADiskThatTakesNothing(t *testing.T) {
	t.Parallel()
	network := newRete()
	tests := map[string]struct {
		spoil            func(t *testing.T, s *Scope)
		active           uint64
		recovered, lost  bool
		disk             faulty
		settledWithoutIt bool
	}{
		"a set that was recorded and not flipped": {func(t *testing.T, s *Scope) {
			staged, err := s.Stage(network.set(t, 3))
			if err != nil {
				t.Fatal(err)
			}
			s.fsys = faulty{FS: s.fsys, rename: currentFile}
			if _, err := s.Admit(staged); !errors.Is(err, errFault) {
				t.Fatal(err)
			}
		}, 2, false, false, faulty{rename: stateFile}, false},
		"a damaged set whose record cannot be dropped": {func(t *testing.T, s *Scope) {
			flip(t, s.Root(), setDir(2)+"/web.json")
		}, 1, true, false, faulty{rename: stateFile}, false},
		"a damaged set, and current cannot be flipped": {func(t *testing.T, s *Scope) {
			flip(t, s.Root(), setDir(2)+"/web.json")
		}, 1, true, false, faulty{rename: currentFile}, false},
		"the state is lost, and current cannot be flipped": {func(t *testing.T, s *Scope) {
			remove(t, s.Root(), stateFile)
			remove(t, s.Root(), currentFile)
		}, 2, true, true, faulty{rename: currentFile}, false},
		"nothing is to be settled": {func(*testing.T, *Scope) {}, 2, false, false, faulty{rename: stateFile}, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stateDir, root := network.twoSets(t)
			first := open(t, stateDir)
			load(t, first)
			tt.spoil(t, first)
			before := snapshot(t, root)
			s := open(t, stateDir)
			tt.disk.FS = s.fsys
			s.fsys = tt.disk
			got := load(t, s)
			if got.Active.Version != tt.active || got.Recovered != tt.recovered || got.TrustLost != tt.lost || (got.Unsettled == nil) != tt.settledWithoutIt {
				t.Errorf("got v%d, recovered %v, lost %v, unsettled: %v", got.Active.Version, got.Recovered, got.TrustLost, got.Unsettled)
			}
			if tt.disk.rename == stateFile {
				sameBut(t, before, snapshot(t, root))
			}
			again := load(t, open(t, stateDir))
			if again.Active.Version != tt.active || again.Unsettled != nil || again.State.Mark != got.State.Mark {
				t.Errorf("a start on a good disk: v%d, %v, mark %d after %d", again.Active.Version, again.Unsettled, again.State.Mark, got.State.Mark)
			}
			if tt.lost {
				return
			}
			s.fsys = tt.disk.FS
			if st := network.admit(t, s, 4); st.Active != 4 || st.Mark != 4 {
				t.Errorf("the next admission: active %d, mark %d", st.Active, st.Mark)
			}
		})
	}
}

// sameBut compares two pictures of a scope, apart from what replacing a file
// leaves beside it.
func sameBut(t *testing.T, before, after map[string]string) {
	t.Helper()
	delete(after, stateFile+durable.TmpSuffix)
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("the disk changed (-before +after):\n%s", diff)
	}
}

// An unknown outcome is no state to run on (SET-2).
func TestAStartOfUnknownOutcome(t *testing.T) {
	t.Parallel()
	stateDir, root := newRete().twoSets(t)
	flip(t, root, setDir(2)+"/web.json")
	s := open(t, stateDir)
	s.fsys = faulty{FS: s.fsys, sync: agentDir}
	if _, err := s.Load(); !errors.As(err, new(*durable.UnknownError)) {
		t.Errorf("got %v", err)
	}
}
