package store

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"

	"github.com/florete/flor/envelope"
	"github.com/florete/flor/envelope/schema"
	"github.com/florete/flor/store/durable"
)

// Staged is a verified set on disk, not yet admitted: what a check may read.
type Staged struct {
	set     *schema.Set
	fsys    durable.FS
	base    string // absolute path of the directory fsys stands for
	dir     string // final name of the set's directory, below base
	settled bool   // it stands under its final name already
	mends   bool   // what stands there is damaged: it was admitted, and is not whole any more
	dryRoot *os.Root
}

// Path returns the absolute path of a member.
func (st *Staged) Path(name string) string {
	return filepath.Join(st.base, filepath.FromSlash(st.where()), artifactFile(name))
}

func (st *Staged) where() string {
	if st.settled {
		return st.dir
	}
	return st.dir + durable.PartialSuffix
}

// Discard removes what was staged; what had been there before stays.
func (st *Staged) Discard() error {
	var err error
	if !st.settled {
		err = durable.DiscardStaged(st.fsys, st.dir)
	}
	if st.dryRoot != nil {
		err = errors.Join(err, st.dryRoot.Close())
	}
	return err
}

// Stage writes a verified set to sets/v<N>.partial (SET-3). Where sets/v<N>
// exists it must be the same set canonically, or what damage has left of it
// where the record of its admission names the members of this one; another one
// is refused with reason SetConflict.
func (s *Scope) Stage(set *schema.Set) (*Staged, error) {
	if s.lost {
		return nil, s.refuseLost()
	}
	st := &Staged{set: set, fsys: s.fsys, base: s.dir, dir: setDir(set.Version)}
	switch _, err := s.fsys.Lstat(st.dir); {
	case err == nil:
		conflict := s.refuseOther(set)
		st.settled, st.mends = conflict == nil, s.admitted(set)
		if st.settled || !st.mends {
			return st, conflict
		}
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("stage %s: %w", setName(set.Version), err)
	}
	if err := durable.StageDir(s.fsys, st.dir, treeOf(set)); err != nil {
		return nil, fmt.Errorf("stage %s: %w", setName(set.Version), err)
	}
	return st, nil
}

// admitted tells whether the record of admissions has this very set.
func (s *Scope) admitted(set *schema.Set) bool {
	r, ok := s.state.Record(set.Version)
	return ok && maps.Equal(r.Members, recordOf(set).Members)
}

// refuseOther refuses to take the set that stands under the version's name for
// one that differs.
func (s *Scope) refuseOther(set *schema.Set) error {
	if err := sameSet(s.fsys, setDir(set.Version), set); err != nil {
		return refuse(SetConflict, s.name, "%s exists and differs from the set that was offered: %w", setDir(set.Version), err)
	}
	return nil
}

// StageDryRun writes a verified set below dir, a runtime root, where nothing
// outlives the next boot. It can be checked and discarded, never admitted.
func StageDryRun(dir string, set *schema.Set) (*Staged, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("stage for a dry run: %w", err)
	}
	st := &Staged{set: set, fsys: durable.OS(root), base: dir, dir: "dry-run", dryRoot: root}
	if err := durable.StageDir(st.fsys, st.dir, treeOf(set)); err != nil {
		return nil, errors.Join(fmt.Errorf("stage for a dry run: %w", err), root.Close())
	}
	return st, nil
}

// treeOf has the members' texts, byte for byte (ENV-8).
func treeOf(set *schema.Set) durable.Tree {
	tree := durable.Tree{Perm: dirPerm}
	for _, m := range set.Members {
		tree.Entries = append(tree.Entries, durable.Entry{Name: artifactFile(m.Core().Name), Mode: filePerm, Data: m.Raw()})
	}
	return tree
}

// sameSet compares a directory with a set in canonical form.
func sameSet(fsys durable.FS, dir string, set *schema.Set) error {
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		return err
	}
	if len(entries) != len(set.Members) {
		return fmt.Errorf("it has %d members, not %d", len(entries), len(set.Members))
	}
	for _, m := range set.Members {
		if err := sameMember(fsys, dir, m); err != nil {
			return fmt.Errorf("%s: %w", m.Core().Name, err)
		}
	}
	return nil
}

func sameMember(fsys durable.FS, dir string, m envelope.Verified) error {
	text, err := fsys.ReadFile(path.Join(dir, artifactFile(m.Core().Name)), envelope.MaxEnvelope)
	if err != nil {
		return err
	}
	canonical, err := envelope.Canonical(text)
	if err != nil {
		return err
	}
	if !bytes.Equal(canonical, m.Canonical()) {
		return errors.New("the texts differ")
	}
	return nil
}
