package store

import (
	"fmt"

	"github.com/florete/flor/envelope/schema"
	"github.com/florete/flor/store/durable"
)

// UnknownError is that of package durable, for callers who keep nothing else
// by it: nobody can tell which of two states the disk is in (SET-2).
type UnknownError = durable.UnknownError

// Admit makes a staged set the active one: it gets its final name, its record
// and its trust are written with a pending mark, and only then current is
// flipped (SET-3, SET-6, AGT-4 step 4). On error the old set is active, unless
// the error is an *UnknownError: then the process ends as a crash and
// reads the truth again.
func (s *Scope) Admit(st *Staged) (State, error) {
	if st.dryRoot != nil {
		return s.state, refuse(StagedElsewhere, s.name, "version %d was staged for a dry run", st.set.Version)
	}
	next, err := s.afterAdmission(st.set)
	if err != nil {
		return s.state, err
	}
	if err := st.publish(); err != nil {
		return s.state, err
	}
	before := s.state
	if err := s.saveState(next); err != nil {
		return s.state, err
	}
	if s.state.Active == st.set.Version && s.CheckCurrent() == nil { // one that has been mended
		return s.state, nil
	}
	if err := s.writeCurrent(st.set.Version); err != nil {
		s.state = before
		return s.state, err
	}
	return s.state, nil
}

// afterAdmission is the state once set is the active one, apart from Active:
// that follows from the flip alone.
func (s *Scope) afterAdmission(set *schema.Set) (State, error) {
	held, err := s.Held(s.state)
	if err != nil {
		return State{}, err
	}
	next := s.state.withRecord(recordOf(set))
	next.Pending = set.Version
	next.Retired = held.Adopt(set.Trust).Retired
	return next, nil
}

// recordOf is what is written down about an admitted set (SET-6).
func recordOf(set *schema.Set) SetRecord {
	r := SetRecord{Version: set.Version, Members: map[string]string{}, Trust: set.Trust.Block()}
	for _, m := range set.Members {
		r.Members[m.Core().Name] = digest(m.Canonical())
	}
	return r
}

func (st *Staged) publish() error {
	if st.settled {
		return nil
	}
	if st.mends {
		return st.mend()
	}
	if err := durable.PublishStaged(st.fsys, st.dir); err != nil {
		return fmt.Errorf("publish %s: %w", st.dir, err)
	}
	st.settled = true
	return nil
}

// mend replaces the damaged members one by one. At every instant each is as it
// was or as it was admitted, so that no crash leaves less than there was.
func (st *Staged) mend() error {
	for _, m := range st.set.Members {
		if sameMember(st.fsys, st.dir, m) == nil {
			continue
		}
		if err := durable.PublishStagedFile(st.fsys, st.dir, artifactFile(m.Core().Name)); err != nil {
			return fmt.Errorf("mend %s: %w", st.dir, err)
		}
	}
	if err := durable.DiscardStaged(st.fsys, st.dir); err != nil {
		return fmt.Errorf("mend %s: %w", st.dir, err)
	}
	st.settled, st.mends = true, false
	return nil
}

// ConfirmMark moves the mark to the active set, which has proved that it runs
// (AGT-4 step 6). The mark never falls; a version that is not the active one
// is refused with reason NotActive.
func (s *Scope) ConfirmMark(version uint64) (State, error) {
	if s.lost {
		return s.state, s.refuseLost()
	}
	if version != s.state.Active {
		return s.state, refuse(NotActive, s.name, "version %d is not the active one, which is %d", version, s.state.Active)
	}
	next := s.state
	next.Mark = max(next.Mark, version)
	next.Pending = 0
	err := s.saveState(next)
	return s.state, err
}
