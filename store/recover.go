package store

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/florete/flor/envelope"
)

// CheckMember tells why the set of a's version does not hold a on disk any more,
// as it was admitted: the same canonical text, signature included (SET-6). It
// judges integrity only. It may be called from any goroutine.
func (s *Scope) CheckMember(a envelope.Artifact) error {
	text, err := s.readMember(a.Version, a.Ref().Name)
	if err != nil || bytes.Equal(text, a.Raw()) {
		return err
	}
	canonical, err := envelope.Canonical(text)
	if err != nil {
		return err
	}
	if !bytes.Equal(canonical, a.Canonical()) {
		return errors.New("it is not the text that was admitted")
	}
	return nil
}

// CheckCurrent tells why the file current does not name the active set any more
// (SET-3).
func (s *Scope) CheckCurrent() error {
	version, err := s.readCurrent()
	if err == nil && version != s.state.Active {
		err = fmt.Errorf("%s names %s, but %s is active", currentFile, setName(version), setName(s.state.Active))
	}
	return err
}

// Stamp is what the file system says of the members of a set and of the file
// current without reading them: inode, size and time of change. Two that are equal
// say that nobody has written, replaced or removed any of them in between; that
// the disk still holds what was written, only reading tells. It may be called from
// any goroutine.
func (s *Scope) Stamp(version uint64, members ...string) string {
	files := []string{filepath.Join(s.dir, filepath.FromSlash(currentFile))}
	for _, name := range members {
		files = append(files, s.ArtifactPath(version, name))
	}
	var stamp []byte
	for _, file := range files {
		info, err := os.Lstat(file)
		if err != nil {
			stamp = fmt.Appendln(stamp, err)
			continue
		}
		stat, _ := info.Sys().(*syscall.Stat_t)
		stamp = fmt.Appendln(stamp, file, stat.Ino, info.Size(), info.ModTime().UnixNano(), info.Mode())
	}
	return string(stamp)
}

// Recover makes the last known good the active set, after damage that was found
// while its workloads run, by what Load found at the start (SET-5): the active
// one if only current is damaged, else the newest retained set that is whole.
// The sets inUse stay, the damaged one excepted. Where none is whole nothing is
// changed and the reason is NothingUsable; a scope whose trust is lost is refused
// with TrustStateLost.
func (s *Scope) Recover(inUse ...uint64) (*Loaded, error) {
	if s.lost {
		return nil, s.refuseLost()
	}
	found, err := s.survey(s.state)
	if err != nil {
		return nil, err
	}
	if !found.chosen.whole() {
		return nil, refuse(NothingUsable, s.name, "no retained set is whole: %w", found.problem)
	}
	st, bad := s.state, s.state.Active
	if found.chosen.set.Version != bad {
		st = st.dropping(bad)
		inUse = slices.DeleteFunc(slices.Clone(inUse), func(v uint64) bool { return v == bad })
	}
	s.written = nil // it is written anew, whatever became of it
	return s.loadRecorded(st, found, inUse...)
}
