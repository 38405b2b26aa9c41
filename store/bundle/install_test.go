package bundle

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/florete/flor/store"
	"github.com/florete/flor/store/durable"
	"github.com/florete/flor/store/identity"
)

func readBundle(t *testing.T, archive []byte) *Bundle {
	t.Helper()
	b, err := Read(bytes.NewReader(archive), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestInstall is BND-2: what an agent's start and a vertex find afterwards.
func TestInstall(t *testing.T) {
	t.Parallel()
	k := newKitchen()
	stateDir := filepath.Join(t.TempDir(), "deep", "state")
	if err := readBundle(t, k.bake(t)).Install(stateDir, "lovers", Options{}); err != nil {
		t.Fatal(err)
	}
	lock, err := store.LockScope(stateDir, "lovers")
	if err != nil {
		t.Fatalf("the lock was not given up: %v", err)
	}
	defer lock.Release()
	s, err := store.Open(stateDir, "lovers")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	loaded, err := s.Load()
	if err != nil || loaded.Problem != nil {
		t.Fatal(err, loaded)
	}
	if loaded.Active.Version != 3 || loaded.State.Mark != 3 || loaded.State.Node != "alpha" {
		t.Errorf("active %d, mark %d, node %q", loaded.Active.Version, loaded.State.Mark, loaded.State.Node)
	}
	identities, err := identity.Open(s.IdentityDir())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := identities.SVID(service); err != nil {
		t.Error(err)
	}
	info, err := os.Stat(filepath.Join(s.IdentityDir(), "certs", "web.key"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("key: %v, %v", info.Mode(), err)
	}
	if text, err := os.ReadFile(filepath.Join(s.IdentityDir(), "rete.json")); string(text) != "{\"trust_domain\":\"rete-lovers\"}\n" {
		t.Errorf("rete.json: %q, %v", text, err)
	}
}

func TestInstallWhileTheAgentRuns(t *testing.T) {
	t.Parallel()
	b, stateDir := readBundle(t, newKitchen().bake(t)), t.TempDir()
	if err := b.Install(stateDir, "lovers", Options{}); err != nil {
		t.Fatal(err)
	}
	lock, err := store.LockScope(stateDir, "lovers")
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Release()
	var held *store.HeldError
	if err := b.Install(stateDir, "lovers", Options{}); !errors.As(err, &held) || held.PID != os.Getpid() {
		t.Errorf("got %v, want a HeldError that names process %d", err, os.Getpid())
	}
}

// TestInstallReadsBack: success is reported of what was found on disk only.
func TestInstallReadsBack(t *testing.T) {
	t.Parallel()
	b := readBundle(t, newKitchen().bake(t))
	delete(b.files, "identity/certs/web.key")
	wantReason(t, b.Install(t.TempDir(), "lovers", Options{}), NotInstalled)
}

func TestInstallForAServiceUser(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root can give files away")
	}
	stateDir := t.TempDir()
	if err := readBundle(t, newKitchen().bake(t)).Install(stateDir, "lovers", Options{Owner: &durable.Owner{UID: 4711, GID: 4711}}); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(filepath.Join(stateDir, "retes", "lovers"), func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if got := ownerOf(t, path); got != 4711 {
			t.Errorf("%s belongs to uid %d", path, got)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
