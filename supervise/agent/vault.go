package agent

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/florete/flor/envelope"
	"github.com/florete/flor/envelope/schema"
	"github.com/florete/flor/store"
)

// vault is the scope's store for the agent's goroutines: the syncer admits and
// the attendant moves the mark, one operation at a time.
type vault struct {
	mu    sync.Mutex
	scope *store.Scope
	clock func() time.Time
}

// verify checks the members of a set document against the trust held
// (ENV-11, ENV-12, ENV-18).
func (v *vault) verify(node string, members [][]byte) (*schema.Set, error) {
	v.mu.Lock()
	held, err := v.scope.Held(v.scope.State())
	v.mu.Unlock()
	if err != nil {
		return nil, err
	}
	return schema.VerifySet(held, node, members, v.clock())
}

func (v *vault) stage(set *schema.Set) (*store.Staged, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.scope.Stage(set)
}

func (v *vault) admit(staged *store.Staged) (store.State, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.scope.Admit(staged)
}

func (v *vault) confirm(version uint64) (store.State, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.scope.ConfirmMark(version)
}

// writable tells that nothing can be changed on disk at all.
func (v *vault) writable() error { return v.scope.Writable() }

// clean removes every set that is neither kept by rule nor in use (SET-4).
func (v *vault) clean(inUse []uint64) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.scope.Clean(inUse...)
}

// makeDirs makes the state directories of an inventory's workloads; one that
// cannot be made keeps none of the others away.
func (v *vault) makeDirs(a *schema.Agent) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	var errs []error
	for _, w := range a.Workloads {
		_, err := v.scope.WorkloadDir(w.Name)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// artifact gives the paths of a generation's members in the active set.
func (v *vault) artifact(g *generation) func(name string) string {
	return func(name string) string { return v.scope.ArtifactPath(g.version, name) }
}

// unknown tells an error after which nobody can say which set the disk holds:
// the agent ends as a crash and reads the truth again at its next start (SET-2).
func unknown(err error) bool {
	_, ok := errors.AsType[*store.UnknownError](err)
	return ok
}

// intact tells why a member on disk is not the one that the agent holds.
func (v *vault) intact(g *generation, name string) error {
	artifact, ok := g.artifacts[name]
	if !ok {
		return errors.New(g.unverified[name])
	}
	if err := v.scope.CheckMember(artifact); err != nil {
		return fmt.Errorf("%s (%w)", damagedWords, err)
	}
	return nil
}

// damage checks all of the active set (SET-5, SET-6): it says what of it is not
// on disk any more as the agent holds it, by member, and whether current is.
func (v *vault) damage(g *generation) (members map[string]string, current error) {
	members = map[string]string{}
	for _, name := range append([]string{envelope.AgentName}, inventory(g.agent)...) {
		if err := v.intact(g, name); err != nil {
			members[name] = err.Error()
		}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	return members, v.scope.CheckCurrent()
}

// stamp changes when a file of the active set is written or replaced.
func (v *vault) stamp(g *generation) string {
	return v.scope.Stamp(g.version, append([]string{envelope.AgentName}, inventory(g.agent)...)...)
}

// recover makes the last known good the active set (SET-5).
func (v *vault) recover(inUse []uint64) (*store.Loaded, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.scope.Recover(inUse...)
}

// retained lists the sets on disk, oldest first: what Clean has taken away is
// not told of.
func (v *vault) retained() []uint64 {
	sets := filepath.Dir(filepath.Dir(v.scope.ArtifactPath(0, envelope.AgentName)))
	versions := []uint64{}
	entries, err := os.ReadDir(sets)
	if err != nil {
		return versions
	}
	for _, e := range entries {
		if version := versionOf(e.Name()); e.IsDir() && tagOf(version) == e.Name() {
			versions = append(versions, version)
		}
	}
	slices.Sort(versions)
	return versions
}
