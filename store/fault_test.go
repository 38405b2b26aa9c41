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
