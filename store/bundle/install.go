package bundle

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/florete/flor/store"
	"github.com/florete/flor/store/durable"
	"github.com/florete/flor/store/identity"
	"github.com/florete/flor/store/internal/anchor"
)

// Options say how a bundle may be installed. The zero value makes a new scope or
// enrols an existing one again, for this process's account.
type Options struct {
	Owner     *durable.Owner // the account that will run the agent; nil: this process's
	Now       time.Time      // when it happens; zero: now
	Force     bool           // replace whatever the scope is, keeping none of it (BND-3)
	ResetMark bool           // let the mark fall to the bundle's version (BND-3)
}

// Kind is what an installation does to the scope.
type Kind string

// Kinds of an installation.
const (
	First    Kind = "first"    // there is no such scope (BND-2)
	Again    Kind = "again"    // identity and set are replaced, workload state stays (BND-3)
	Replaced Kind = "replaced" // by force: the old scope is moved aside, whole (BND-3)
)

// Installation is an enrolment that has been judged and not yet done. It holds
// the scope's lock until [Installation.Close].
type Installation struct {
	Kind   Kind
	Before *store.Holding // what an existing scope holds; nil where there is none or nothing can be read of it
	Aside  string         // where Commit has moved the old scope: absolute path; empty where it has not

	b        *Bundle
	stateDir string
	scope    string
	o        Options
	lock     *store.Lock
}

// Install makes or renews a scope below stateDir: [Bundle.Begin] and
// [Installation.Commit] in one, for a caller that has nothing to show between
// them.
func (b *Bundle) Install(stateDir, scope string, o Options) error {
	i, err := b.Begin(stateDir, scope, o)
	if err != nil {
		return err
	}
	return errors.Join(i.Commit(), i.Close())
}

// Begin takes the scope's lock and judges what the bundle would do to it; it
// writes nothing. One that is to be enrolled again must hold the same trust
// domain, CA and node, and must follow who signed the bundle by ENV-12; anything
// else needs o.Force. A set older than the mark needs o.ResetMark, also under
// force. A scope whose agent runs is refused with a *store.HeldError.
//
// The Installation is not nil as far as there is something to show: on a refusal
// it has Kind and Before, and is closed already.
func (b *Bundle) Begin(stateDir, scope string, o Options) (*Installation, error) {
	if b == nil || b.Set == nil {
		return nil, refuse(UnsuitableContents, "there is no bundle to install: only one that Read has returned can be")
	}
	lock, err := store.LockForEnrolment(stateDir, scope, o.Owner)
	if err != nil {
		return nil, err
	}
	if o.Now.IsZero() {
		o.Now = time.Now()
	}
	i := &Installation{Kind: First, b: b, stateDir: stateDir, scope: scope, o: o, lock: lock}
	if err := i.judge(); err != nil {
		return i, errors.Join(err, i.Close())
	}
	return i, nil
}

// Close gives the scope's lock up. It may be called again.
func (i *Installation) Close() error {
	lock := i.lock
	i.lock = nil
	if lock == nil {
		return nil
	}
	return lock.Release()
}

// Commit does it, the whole of it or nothing, also through a crash, and reads
// back what it wrote before it reports success (BND-2, BND-3).
func (i *Installation) Commit() error {
	if err := i.write(); err != nil {
		return err
	}
	return i.b.readBack(i.stateDir, i.scope)
}

func (i *Installation) write() (err error) {
	e := store.Enrolment{Identity: i.b.identity(), Set: i.b.Set, Owner: i.o.Owner}
	switch i.Kind {
	case First:
		return store.Create(i.stateDir, i.scope, e)
	case Replaced:
		i.Aside, err = store.CreateInstead(i.stateDir, i.scope, e, i.o.Now)
		return err
	}
	s, err := store.Open(i.stateDir, i.scope)
	if err != nil {
		return err
	}
	return errors.Join(s.Replace(i.Before, e, i.o.ResetMark), s.Close())
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

// readBack finds in the scope what the bundle holds, as an agent's start and a
// vertex would.
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
	if loaded.Problem != nil || loaded.Active.Version != b.SetVersion || loaded.State.Mark < b.SetVersion {
		return fmt.Errorf("version %d is active under mark %d: %w", loaded.Active.Version, loaded.State.Mark, loaded.Problem)
	}
	return nil
}

func (b *Bundle) readBackIdentity(dir string) error {
	identities, err := identity.Open(dir)
	if err != nil {
		return err
	}
	if !identities.CA().Equal(b.CA) || identities.TrustDomain() != b.TrustDomain {
		return errors.New("the trust anchor is another one")
	}
	for _, id := range b.Principals {
		if _, err := identities.SVID(id); err != nil {
			return err
		}
	}
	return nil
}
