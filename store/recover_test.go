package store

import (
	"maps"
	"os"
	"path"
	"slices"
	"testing"
	"time"

	"github.com/florete/flor/envelope"
)

// SET-5, SET-6: what is damaged while its workloads run is found by the check,
// and the newest whole set takes its place; the mark stays.
func TestRecoverFindsTheLastKnownGood(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		damage func(t *testing.T, root string)
		active uint64
		reason Reason // of Recover's refusal
	}{
		"only current is damaged": {func(t *testing.T, root string) { overwrite(t, root, currentFile, "v99\n") }, 2, ""},
		"current is gone":         {func(t *testing.T, root string) { remove(t, root, currentFile) }, 2, ""},
		"a member is altered":     {func(t *testing.T, root string) { flip(t, root, setDir(2)+"/web.json") }, 1, ""},
		"the set is gone":         {func(t *testing.T, root string) { remove(t, root, setDir(2)) }, 1, ""},
		"both sets are damaged": {func(t *testing.T, root string) {
			remove(t, root, setDir(2))
			flip(t, root, setDir(1)+"/agent.json")
		}, 2, NothingUsable},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stateDir, root := newRete().twoSets(t)
			s := open(t, stateDir)
			loaded := load(t, s)
			if err := soundness(s, loaded.Active); err != nil {
				t.Fatalf("before the damage: %v", err)
			}
			members := slices.Sorted(maps.Keys(loaded.Active.Artifacts))
			age(t, s, 2, members)
			stamp := s.Stamp(2, members...)
			if again := s.Stamp(2, members...); again != stamp {
				t.Errorf("nothing has changed, and %q is now %q", stamp, again)
			}
			tt.damage(t, root)
			if s.Stamp(2, members...) == stamp {
				t.Error("the damage does not show in the stamp")
			}
			if err := soundness(s, loaded.Active); err == nil {
				t.Error("the damage was not found")
			}
			recovered, err := s.Recover(2)
			if tt.reason != "" {
				wantReason(t, err, tt.reason)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if st := recovered.State; st.Active != tt.active || st.Mark != loaded.State.Mark || !recovered.Recovered {
				t.Errorf("recovered %v: %+v", recovered.Recovered, st)
			}
			if err := soundness(s, recovered.Active); err != nil {
				t.Errorf("after it: %v", err)
			}
			if again := load(t, open(t, stateDir)); again.Active.Version != tt.active || again.Problem != nil {
				t.Errorf("a start finds v%d, %v", again.Active.Version, again.Problem)
			}
		})
	}
}

// SET-6: white space is no damage, because the canonical text is what counts.
func TestCheckMemberGoesByTheCanonicalText(t *testing.T) {
	t.Parallel()
	stateDir, root := newRete().twoSets(t)
	s := open(t, stateDir)
	a := load(t, s).Active.Artifacts[envelope.AgentName]
	file := path.Join(setDir(2), "agent.json")
	overwrite(t, root, file, " \n"+read(t, root, file)+"\n")
	if err := s.CheckMember(a); err != nil {
		t.Error(err)
	}
}

// A set that was lost together with current is admitted again as a whole.
func TestAdmitRepairsCurrent(t *testing.T) {
	t.Parallel()
	r := newRete()
	stateDir, root := r.twoSets(t)
	s := open(t, stateDir)
	load(t, s)
	remove(t, root, setDir(2))
	overwrite(t, root, currentFile, "v99\n")
	r.admit(t, s, 2)
	if again := load(t, open(t, stateDir)); again.Active.Version != 2 || again.Recovered {
		t.Errorf("a start finds v%d, recovered %v: %v", again.Active.Version, again.Recovered, again.Problem)
	}
}

// age puts the files of a set into the past, so that a change is not of the moment
// in which they were written.
func age(t *testing.T, s *Scope, version uint64, members []string) {
	t.Helper()
	hourAgo := time.Now().Add(-time.Hour)
	for _, name := range members {
		if err := os.Chtimes(s.ArtifactPath(version, name), hourAgo, hourAgo); err != nil {
			t.Fatal(err)
		}
	}
}

// soundness checks a set and that it is the active one.
func soundness(s *Scope, set Set) error {
	for _, a := range set.Artifacts {
		if err := s.CheckMember(a); err != nil {
			return err
		}
	}
	return s.CheckCurrent()
}
