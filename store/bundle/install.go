package bundle

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/florete/flor/store"
	"github.com/florete/flor/store/durable"
	"github.com/florete/flor/store/identity"
	"github.com/florete/flor/store/internal/anchor"
)

// Install makes the scope of a first enrolment below stateDir: identity, state
// (the mark is SetVersion) and set, the whole of it or nothing, also through a
// crash (BND-2). It holds the scope's lock meanwhile, and reads back what it
// wrote before it reports success. owner is the account that will run the agent;
// nil means this process's.
//
// A scope that exists is refused with store.AlreadyEnrolled, one whose agent
// runs with a *store.HeldError.
func (b *Bundle) Install(stateDir, scope string, owner *durable.Owner) error {
	lock, err := store.LockForEnrolment(stateDir, scope, owner)
	if err != nil {
		return err
	}
	err = store.Create(stateDir, scope, store.Enrolment{Identity: b.identity(), Set: b.Set, Owner: owner})
	if err == nil {
		err = b.readBack(stateDir, scope)
	}
	return errors.Join(err, lock.Release())
}

// identity lays out the identity directory, parents first.
func (b *Bundle) identity() []durable.Entry {
	entries := []durable.Entry{
		{Name: identity.ReteName, Mode: 0o600, Data: anchor.FormatRete(b.TrustDomain)},
		{Name: identity.CertsDir, Mode: fs.ModeDir | 0o700},
	}
	for _, name := range slices.Sorted(maps.Keys(b.files)) {
		if local, ok := strings.CutPrefix(name, identityPrefix); ok {
			entries = append(entries, durable.Entry{Name: local, Mode: 0o600, Data: b.files[name]})
		}
	}
	return entries
}

// readBack finds in the new scope what the bundle holds, as an agent's start
// and a vertex would.
func (b *Bundle) readBack(stateDir, scope string) error {
	s, err := store.Open(stateDir, scope)
	if err != nil {
		return err
	}
	err = errors.Join(b.readBackSet(s), b.readBackIdentity(s.IdentityDir()), s.Close())
	if err != nil {
		return refuse(NotInstalled, "scope %s was written and does not read back: %w", scope, err)
	}
	return nil
}

func (b *Bundle) readBackSet(s *store.Scope) error {
	loaded, err := s.Load()
	if err != nil {
		return err
	}
	if loaded.Problem != nil || loaded.Active.Version != b.SetVersion || loaded.State.Mark != b.SetVersion {
		return fmt.Errorf("version %d is active under mark %d: %w", loaded.Active.Version, loaded.State.Mark, loaded.Problem)
	}
	return nil
}

func (b *Bundle) readBackIdentity(dir string) error {
	identities, err := identity.Open(dir)
	if err != nil {
		return err
	}
	for _, id := range b.Principals {
		if _, err := identities.SVID(id); err != nil {
			return err
		}
	}
	return nil
}
