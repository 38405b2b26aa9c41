package store

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/florete/flor/envelope"
)

// Loaded is what a start finds.
type Loaded struct {
	Active    Set   // what runs
	State     State // only Node and Active when the trust is lost
	Recovered bool  // not what was active: the next fetch goes without have (SET-5)
	TrustLost bool  // the scope cannot admit sets (SET-6)
	Problem   error // why recovered or lost, for people; nil when all is well
	// Unsettled is why what was found could not be put in order on disk, as on
	// one that is full. The set runs all the same: what is on disk is as it was,
	// the next start finds the same, and the next admission writes it.
	Unsettled error
}

// Load reads the scope's state and finds the set to run, as at a start: the
// active one, or after damage the last known good (SET-5), with what is left
// over from a crash cleaned away (SET-4). A file of a newer flor is refused
// with reason StateTooNew and nothing is touched; a scope of which nothing can
// run with reason NothingUsable. Both call for exit code 78.
func (s *Scope) Load() (*Loaded, error) {
	state, stateErr := s.readState()
	if tooNew(stateErr) {
		return nil, s.refuseTooNew(stateErr)
	}
	found, err := s.survey(state)
	if err != nil {
		return nil, err
	}
	if stateErr != nil || !found.chosen.usable {
		return s.loadWithoutTrust(found, stateErr)
	}
	return s.loadRecorded(state, found)
}

func (s *Scope) refuseTooNew(err error) error {
	return refuse(StateTooNew, s.name, "%w: upgrade this flor; nothing was changed", err)
}

func (s *Scope) readState() (State, error) {
	s.written = nil
	text, err := s.fsys.ReadFile(stateFile, maxState)
	if err != nil {
		return State{}, err
	}
	st, err := parseState(text)
	if err != nil {
		return State{}, fmt.Errorf("%s: %w", stateFile, err)
	}
	s.written = text
	return st, nil
}

// survey is what was found below artifacts/mgmt.
type survey struct {
	current  uint64   // what the file current names; 0: nothing
	versions []uint64 // set directories, newest first
	unread   error    // why the two above are not known, if they are not
	chosen   candidate
	problem  error // why chosen is not the whole set that current names
}

// survey looks at the sets that have a record and chooses one of them. It
// changes nothing.
func (s *Scope) survey(st State) (survey, error) {
	var found survey
	var listErr, currentErr error
	found.versions, listErr = s.setVersions()
	found.current, currentErr = s.readCurrent()
	found.unread = errors.Join(currentErr, listErr)
	err := s.choose(&found, func(version uint64) candidate {
		record, ok := st.Record(version)
		if !ok {
			return candidate{fault: fmt.Errorf("%s has no record of its admission", setName(version))}
		}
		return s.inspect(version, st.Node, func([]byte) (judge, error) { return byRecord(record), nil })
	})
	return found, err
}

func (s *Scope) readCurrent() (uint64, error) {
	text, err := s.fsys.ReadFile(currentFile, maxCurrent)
	if err != nil {
		return 0, err
	}
	version, err := parseCurrent(text)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", currentFile, err)
	}
	return version, nil
}

// setVersions lists the set directories, newest first.
func (s *Scope) setVersions() ([]uint64, error) {
	entries, err := s.fsys.ReadDir(setsDir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var versions []uint64
	for _, e := range entries {
		if version, err := parseSetName(e.Name()); err == nil && e.IsDir() {
			versions = append(versions, version)
		}
	}
	slices.Sort(versions)
	slices.Reverse(versions)
	return versions, nil
}

// choose picks the set that current names if it is whole, else the newest that
// is, else the first of them of which at least the root can be trusted.
func (s *Scope) choose(found *survey, look func(version uint64) candidate) error {
	found.chosen, found.problem = candidate{}, found.unread
	var partial candidate
	for _, version := range found.order() {
		c := look(version)
		if version == found.current && tooNew(c.fault) {
			return s.refuseTooNew(c.fault)
		}
		if c.whole() {
			found.chosen = c
			return nil
		}
		if c.usable && !partial.usable {
			partial = c
		}
		found.problem = errors.Join(found.problem, c.fault)
	}
	found.chosen = partial
	return nil
}

// order puts what is active before the rest, newest first.
func (f *survey) order() []uint64 {
	if f.current == 0 {
		return f.versions
	}
	rest := slices.DeleteFunc(slices.Clone(f.versions), func(v uint64) bool { return v == f.current })
	return append([]uint64{f.current}, rest...)
}

// recovered tells that what runs is not what current named, whole.
func (f *survey) recovered() bool {
	return f.chosen.set.Version != f.current || !f.chosen.whole()
}

// loadRecorded runs what its record vouches for.
func (s *Scope) loadRecorded(st State, found survey, inUse ...uint64) (*Loaded, error) {
	s.lost = false
	next := found.stateAfter(st)
	unsettled, err := tolerable(s.settleRecorded(next, found, inUse))
	if err != nil {
		return nil, err
	}
	if unsettled != nil {
		s.state = next
	}
	return &Loaded{Active: found.chosen.set, State: s.state, Recovered: found.recovered(), Problem: found.problem, Unsettled: unsettled}, nil
}

// settleRecorded puts on disk what was found. What is forgotten is forgotten in
// state.json first: a crash in between finds the same damage again.
func (s *Scope) settleRecorded(next State, found survey, inUse []uint64) error {
	if err := s.saveState(next); err != nil {
		return err
	}
	if err := s.activate(found); err != nil {
		return err
	}
	return s.Clean(inUse...)
}

// tolerable parts an error after which the disk is as it was, so that what was
// found can run, from one after which nobody can tell how it is (SET-2).
func tolerable(err error) (unsettled, unknown error) {
	if _, ok := errors.AsType[*UnknownError](err); ok {
		return nil, err
	}
	return err, nil
}

// stateAfter is the state once the chosen set is the active one.
func (f *survey) stateAfter(st State) State {
	st.Active = f.chosen.set.Version
	if f.recovered() {
		return st.dropping(f.bad())
	}
	return st.settled()
}

// bad is the set that current named, when another one takes its place; else 0.
func (f *survey) bad() uint64 {
	if f.current == f.chosen.set.Version {
		return 0
	}
	return f.current
}

// activate makes the chosen set the active one where it is not.
func (s *Scope) activate(found survey) error {
	if found.chosen.set.Version == found.current {
		return nil
	}
	if err := s.clearWay(currentFile); err != nil {
		return err
	}
	return s.writeCurrent(found.chosen.set.Version)
}

// clearWay removes a directory or a link that somebody put where a file of ours
// is due: it cannot be renamed over.
func (s *Scope) clearWay(name string) error {
	info, err := s.fsys.Lstat(name)
	if err != nil || info.Mode().IsRegular() {
		return nil
	}
	if err := s.fsys.RemoveAll(name); err != nil {
		return fmt.Errorf("remove what stands at %s: %w", name, err)
	}
	return nil
}

// loadWithoutTrust runs what the anchor and a root's own block vouch for. It
// writes no state: a scope never pins trust again by itself (SET-6).
func (s *Scope) loadWithoutTrust(found survey, stateErr error) (*Loaded, error) {
	recorded := found.problem
	pinned, err := s.Anchor()
	if err != nil {
		return nil, err
	}
	if err := s.chooseBySignature(&found, pinned); err != nil {
		return nil, err
	}
	problem := errors.Join(stateErr, recorded, found.problem)
	if !found.chosen.usable {
		return nil, s.refuseNothing(problem)
	}
	active := found.chosen.set
	s.state, s.lost = State{Node: active.Artifacts[envelope.AgentName].Node, Active: active.Version}, true
	unsettled, err := tolerable(s.settleWithoutTrust(found))
	if err != nil {
		return nil, err
	}
	return &Loaded{Active: active, State: s.state, Recovered: found.recovered(), TrustLost: true, Problem: problem, Unsettled: unsettled}, nil
}

func (s *Scope) settleWithoutTrust(found survey) error {
	if err := s.activate(found); err != nil {
		return err
	}
	return s.Clean()
}

// chooseBySignature chooses among the sets that the anchor and a root's own
// block vouch for.
func (s *Scope) chooseBySignature(found *survey, pinned envelope.Anchor) error {
	return s.choose(found, func(version uint64) candidate {
		c := s.inspect(version, "", func(root []byte) (judge, error) { return bySignature(pinned, root) })
		return c.coherent(pinned)
	})
}

func (s *Scope) refuseNothing(problem error) error {
	if problem == nil {
		problem = errors.New("there are no sets")
	}
	return refuse(NothingUsable, s.name, "nothing below %s can run: enrol again with flor enroll <bundle>: %w", setsDir, problem)
}

// dropping returns st without the record of a damaged set. Its retirements
// stay: unlike an unflipped set, it may have been active.
func (st State) dropping(bad uint64) State {
	st = st.keeping(func(v uint64) bool { return v != bad })
	if _, ok := st.Record(st.Pending); !ok {
		st.Pending = 0
	}
	return st
}
