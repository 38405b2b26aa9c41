package store

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"

	"github.com/florete/flor/envelope"
	"github.com/florete/flor/envelope/schema"
	"github.com/florete/flor/store/durable"
)

// journalDir holds a re-enrolment, laid out like a scope root, from the moment
// at which it counts until all of it is in place. It is never half there: its
// name is given to it when it is whole, and taken from it before any of it goes.
const journalDir = "enrolment"

// Replace puts the identity and the set of e in the place of what the scope
// holds (BND-3). The caller has verified both by h, which [Scope.Holding]
// returned. Workload state stays, and so do retired keys. The mark stays or
// rises: an older set is refused with reason OlderThanMark, another set of a
// version that was admitted with reason SetConflict; resetMark lifts both and
// makes the set's version the mark.
//
// A crash leaves what was there or what e brings, whole: which of the two is
// settled by [Open]. Load must be called anew.
func (s *Scope) Replace(h *Holding, e Enrolment, resetMark bool) error {
	if err := h.Check(e.Set, resetMark); err != nil {
		return err
	}
	tree, err := scopeTree(e, h.after(e.Set, resetMark))
	if err != nil {
		return err
	}
	if err := durable.PublishDir(s.fsys, journalDir, tree); err != nil {
		return fmt.Errorf("write down the re-enrolment of scope %s: %w", s.name, err)
	}
	return s.finishEnrolment()
}

// Check tells whether the scope may go on with this set, as far as versions
// can tell (BND-3). Its refusals are those of [Scope.Replace].
func (h *Holding) Check(set *schema.Set, resetMark bool) error {
	if resetMark {
		return nil
	}
	if set.Version < h.Mark {
		return refuse(OlderThanMark, h.Scope, "the bundle's set has version %d and the mark is %d: issue a new bundle, "+
			"or let the mark fall with --reset-mark", set.Version, h.Mark)
	}
	r, ok := h.state.Record(set.Version)
	if ok && !maps.Equal(r.Members, recordOf(set).Members) {
		return refuse(SetConflict, h.Scope, "another set of version %d was admitted here: compile and issue a newer one, "+
			"or give up what is known of versions with --reset-mark", set.Version)
	}
	return nil
}

// after is the state once set has replaced what the scope holds. Newer sets
// are forgotten: what current names is always the newest.
func (h *Holding) after(set *schema.Set, resetMark bool) State {
	st := h.state.keeping(func(version uint64) bool { return version < set.Version }).withRecord(recordOf(set))
	st.Node, st.Pending = set.Node, 0
	st.Retired = h.Held.Adopt(set.Trust).Retired
	st.Mark = max(h.Mark, set.Version)
	if resetMark {
		st.Mark = set.Version
	}
	return st
}

// finishEnrolment puts a re-enrolment that counts into place, from the
// beginning however far it had come, and forgets one that does not yet count.
func (s *Scope) finishEnrolment() error {
	if err := durable.DiscardStaged(s.fsys, journalDir); err != nil {
		return err
	}
	_, err := s.fsys.Lstat(journalDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = s.applyEnrolment()
	}
	if err == nil {
		err = durable.RemoveDir(s.fsys, journalDir)
	}
	if err != nil && !errors.As(err, new(*durable.UnknownError)) {
		return refuse(HalfEnrolled, s.name, "finish the re-enrolment in %s: %w: set that right and start again, or enrol with --force", journalDir, err)
	}
	return err
}

// applyEnrolment copies, so that doing it again changes nothing.
func (s *Scope) applyEnrolment() error {
	current, err := s.fsys.ReadFile(path.Join(journalDir, currentFile), maxCurrent)
	if err != nil {
		return err
	}
	version, err := parseCurrent(current)
	if err != nil {
		return err
	}
	if err := s.restoreDirs(path.Dir(mgmtDir), mgmtDir, ctrlDir, setsDir, agentDir, workloadsDir); err != nil {
		return err
	}
	for _, dir := range []string{identityDir, setDir(version)} {
		if err := s.applyDir(dir); err != nil {
			return err
		}
	}
	for _, name := range []string{stateFile, currentFile} {
		if err := s.applyFile(name); err != nil {
			return err
		}
	}
	return nil
}

// restoreDirs makes the directories of a scope root that damage took away.
func (s *Scope) restoreDirs(names ...string) error {
	for _, name := range names {
		_, err := s.fsys.Lstat(name)
		if errors.Is(err, fs.ErrNotExist) {
			err = errors.Join(s.fsys.Mkdir(name, dirPerm), s.fsys.SyncDir(path.Dir(name)))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *Scope) applyDir(dir string) error {
	entries, err := readTree(s.fsys, path.Join(journalDir, dir), "")
	if err != nil {
		return err
	}
	return durable.ReplaceDir(s.fsys, dir, durable.Tree{Perm: dirPerm, Entries: entries})
}

func (s *Scope) applyFile(name string) error {
	text, err := s.fsys.ReadFile(path.Join(journalDir, name), maxState)
	if err != nil {
		return err
	}
	if err := s.clearWay(name); err != nil {
		return err
	}
	return durable.ReplaceFile(s.fsys, name, text, filePerm)
}

// readTree reads what is below dir, parents first.
func readTree(fsys durable.FS, dir, below string) ([]durable.Entry, error) {
	found, err := fsys.ReadDir(path.Join(dir, below))
	if err != nil {
		return nil, err
	}
	var entries []durable.Entry
	for _, f := range found {
		name := path.Join(below, f.Name())
		if f.IsDir() {
			inside, err := readTree(fsys, dir, name)
			if err != nil {
				return nil, err
			}
			entries = append(append(entries, directories(name)...), inside...)
			continue
		}
		text, err := fsys.ReadFile(path.Join(dir, name), envelope.MaxEnvelope)
		if err != nil {
			return nil, err
		}
		entries = append(entries, durable.Entry{Name: name, Mode: filePerm, Data: text})
	}
	return entries, nil
}
