package store

import (
	"encoding/pem"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/florete/flor/envelope"
	"github.com/florete/flor/envelope/envelopetest"
	"github.com/florete/flor/envelope/schema"
	"github.com/florete/flor/store/durable"
	"github.com/florete/flor/store/internal/anchor"
)

const (
	testScope = "lovers"
	testNode  = "alpha"
)

// rete is a network of one node with two workloads, for tests.
type rete struct {
	ca     *envelopetest.Authority
	signer *envelopetest.Identity
}

func newRete() rete {
	ca := envelopetest.NewAuthority("rete-lovers")
	return rete{ca: ca, signer: ca.Signer("primary")}
}

func (r rete) texts(version uint64) [][]byte {
	payload := map[string]any{"schema_version": "1.0", "n": version}
	return r.ca.Set(r.signer, testNode, version,
		envelopetest.Member{Name: "edge", Payload: payload}, envelopetest.Member{Name: "web", Payload: payload})
}

func (r rete) set(t *testing.T, version uint64) *schema.Set {
	t.Helper()
	return r.verify(t, envelope.Held{Anchor: r.ca.Anchor()}, r.texts(version))
}

func (r rete) verify(t *testing.T, held envelope.Held, texts [][]byte) *schema.Set {
	t.Helper()
	set, err := schema.VerifySet(held, testNode, texts, time.Now())
	if err != nil {
		t.Fatalf("verify the set: %v", err)
	}
	return set
}

func (r rete) identity() []durable.Entry {
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: r.ca.CA.Raw})
	return []durable.Entry{
		{Name: anchor.CAName, Mode: filePerm, Data: ca},
		{Name: anchor.ReteName, Mode: filePerm, Data: anchor.FormatRete(r.ca.TrustDomain)},
		{Name: "certs", Mode: fs.ModeDir | dirPerm},
	}
}

// enrolment is what version 1 of the network makes of a new scope.
func (r rete) enrolment() (Enrolment, error) {
	set, err := schema.VerifySet(envelope.Held{Anchor: r.ca.Anchor()}, testNode, r.texts(1), time.Now())
	return Enrolment{Identity: r.identity(), Set: set}, err
}

func mustSet(t testing.TB) *schema.Set {
	t.Helper()
	e, err := newRete().enrolment()
	if err != nil {
		t.Fatal(err)
	}
	return e.Set
}

// enrol makes the scope with a set of this version and returns its state home.
func (r rete) enrol(t *testing.T, version uint64) string {
	t.Helper()
	stateDir := filepath.Join(t.TempDir(), "state")
	lock, err := LockForEnrolment(stateDir, testScope, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Release()
	if err := Create(stateDir, testScope, Enrolment{Identity: r.identity(), Set: r.set(t, version)}); err != nil {
		t.Fatal(err)
	}
	return stateDir
}

// open opens the scope as an agent's start does.
func open(t *testing.T, stateDir string) *Scope {
	t.Helper()
	s, err := Open(stateDir, testScope)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func load(t *testing.T, s *Scope) *Loaded {
	t.Helper()
	loaded, err := s.Load()
	if err != nil {
		t.Fatalf("load: %v", err)
	}
	return loaded
}

// admit makes a set of this version the active one, confirmed.
func (r rete) admit(t *testing.T, s *Scope, version uint64) State {
	t.Helper()
	staged, err := s.Stage(r.set(t, version))
	if err != nil {
		t.Fatalf("stage: %v", err)
	}
	if _, err := s.Admit(staged); err != nil {
		t.Fatalf("admit: %v", err)
	}
	st, err := s.ConfirmMark(version)
	if err != nil {
		t.Fatalf("confirm: %v", err)
	}
	return st
}

// twoSets is a scope with v1 retained and v2 active.
func (r rete) twoSets(t *testing.T) (stateDir, root string) {
	t.Helper()
	stateDir = r.enrol(t, 1)
	s := open(t, stateDir)
	load(t, s)
	r.admit(t, s, 2)
	return stateDir, s.Root()
}

// snapshot maps every path below root to its mode and content.
func snapshot(t *testing.T, root string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		content := ""
		if info.Mode().IsRegular() {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			content = string(text)
		}
		name, err := filepath.Rel(root, path)
		found[name] = info.Mode().String() + " " + content
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// overwrite puts content at a path below root, whatever is there.
func overwrite(t *testing.T, root, name, content string) {
	t.Helper()
	path := filepath.Join(root, name)
	if err := errorsFrom(os.RemoveAll(path), os.WriteFile(path, []byte(content), 0o600)); err != nil {
		t.Fatal(err)
	}
}

func errorsFrom(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
