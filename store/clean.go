package store

import (
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/florete/flor/store/durable"
)

// Clean removes everything below artifacts/mgmt but the active set, one
// previous admitted set, and the sets that living processes were spawned with
// or given, which the caller names (SET-4). It runs before a set is staged:
// what is staged at the time goes, and so does a half-written state file. Where the trust is lost every set stays,
// because nobody can tell which of them was admitted. Workload directories are
// never touched.
func (s *Scope) Clean(inUse ...uint64) error {
	versions, err := s.setVersions()
	if err != nil {
		return fmt.Errorf("list %s: %w", setsDir, err)
	}
	keep := versions
	if !s.lost {
		keep = s.state.retained(inUse)
	}
	if err := s.cleanMgmt(keep); err != nil {
		return err
	}
	if s.lost {
		return nil
	}
	if err := s.fsys.RemoveAll(stateFile + durable.TmpSuffix); err != nil {
		return fmt.Errorf("remove what is left of %s: %w", stateFile, err)
	}
	return s.saveState(s.state.keeping(func(v uint64) bool {
		return slices.Contains(keep, v) && slices.Contains(versions, v)
	}))
}

// retained lists the versions to keep.
func (st State) retained(inUse []uint64) []uint64 {
	keep := append(slices.Clone(inUse), st.Active)
	for _, r := range slices.Backward(st.Sets) {
		if r.Version != st.Active {
			return append(keep, r.Version)
		}
	}
	return keep
}

func (s *Scope) cleanMgmt(keep []uint64) error {
	ours := []string{path.Base(currentFile), path.Base(setsDir)}
	if err := s.removeOthers(mgmtDir, ours); err != nil {
		return err
	}
	names := make([]string, 0, len(keep))
	for _, version := range keep {
		names = append(names, setName(version))
	}
	return s.removeOthers(setsDir, names)
}

// removeOthers removes what stands in dir under another name than these.
func (s *Scope) removeOthers(dir string, keep []string) error {
	entries, err := s.fsys.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("list %s: %w", dir, err)
	}
	var errs []error
	for _, e := range entries {
		if !slices.Contains(keep, e.Name()) {
			errs = append(errs, s.remove(path.Join(dir, e.Name()), e.IsDir()))
		}
	}
	return errors.Join(errs...)
}

// remove takes a set away by way of its .partial name; a stranger just goes.
func (s *Scope) remove(name string, isDir bool) error {
	_, notSet := parseSetName(path.Base(name))
	var err error
	if isDir && notSet == nil {
		err = durable.RemoveDir(s.fsys, name)
	} else {
		err = s.fsys.RemoveAll(name)
	}
	if err != nil {
		return fmt.Errorf("remove %s: %w", name, err)
	}
	return nil
}
