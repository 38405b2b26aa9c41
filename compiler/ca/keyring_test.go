package ca_test

import (
	"crypto/ed25519"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/florete/flor/compiler/ca"
)

func never(string) ([]byte, error) { return nil, errors.New("asked for a passphrase without need") }

func TestKeyringKeepsKeysForTheirOwnerOnly(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name       string
		key        ca.KeyName
		passphrase []byte
		file       string
	}{
		{"the root, encrypted", ca.RootKey, []byte("pw"), "ca.jwe"},
		{"a signer, encrypted", ca.SignerKey("primary"), []byte("pw"), "mgmt/primary.jwe"},
		{"a signer, plain", ca.SignerKey("primary"), nil, "mgmt/primary.jwk"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ring := ca.Keyring{Dir: filepath.Join(t.TempDir(), "ring")}
			key := newKey(t)
			if err := ring.Save(tt.key, key, tt.passphrase); err != nil {
				t.Fatal(err)
			}
			info, err := os.Stat(filepath.Join(ring.Dir, tt.file))
			if err != nil {
				t.Fatal(err)
			}
			if info.Mode().Perm() != 0o600 {
				t.Errorf("mode is %v", info.Mode())
			}
			ask := never
			if tt.passphrase != nil {
				ask = func(string) ([]byte, error) { return tt.passphrase, nil }
			}
			got, err := ring.Load(tt.key, ask)
			if err != nil || !key.Equal(got) {
				t.Errorf("read back %v, error %v", got, err)
			}
		})
	}
}

func TestKeyringNeverOverwrites(t *testing.T) {
	t.Parallel()
	ring := ca.Keyring{Dir: t.TempDir()}
	if err := ring.Save(ca.RootKey, newKey(t), nil); err != nil {
		t.Fatal(err)
	}
	wantReason(t, ring.Save(ca.RootKey, newKey(t), []byte("pw")), ca.ReasonKeyExists)
}

func TestKeyringRefuses(t *testing.T) {
	t.Parallel()
	ring := ca.Keyring{Dir: t.TempDir()}
	_, err := ring.Load(ca.RootKey, never)
	wantReason(t, err, ca.ReasonKeyAbsent)
	for _, name := range []ca.KeyName{ca.SignerKey("../ca"), ca.SignerKey(""), ca.SignerKey("CON"), "elsewhere/x"} {
		wantReason(t, ring.Save(name, newKey(t), nil), ca.ReasonNameUnsuitable)
		_, err := ring.Load(name, never)
		wantReason(t, err, ca.ReasonNameUnsuitable)
	}
	if has, err := ring.Has(ca.SignerKey("primary")); has || err != nil {
		t.Errorf("an empty ring has a key: %v, error %v", has, err)
	}
}

// Where a key cannot be looked for it is not said to be absent.
func TestAKeyringThatCannotBeReadIsNotAnEmptyOne(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	ring := ca.Keyring{Dir: filepath.Join(file, "ring")}
	if has, err := ring.Has(ca.RootKey); has || !errors.Is(err, unix.ENOTDIR) {
		t.Errorf("has the key: %v, error %v", has, err)
	}
	if err := ring.Vacant(ca.RootKey); !errors.Is(err, unix.ENOTDIR) {
		t.Errorf("vacant: %v", err)
	}
	if err := ring.Save(ca.RootKey, newKey(t), nil); !errors.Is(err, unix.ENOTDIR) {
		t.Errorf("save: %v", err)
	}
}

// A key that is replaced stays, however often within one second, and comes back
// when it is undone.
func TestReplacingLosesNoKey(t *testing.T) {
	t.Parallel()
	ring := ca.Keyring{Dir: t.TempDir()}
	keys := []ed25519.PrivateKey{newKey(t), newKey(t), newKey(t)}
	var undo func() error
	for _, key := range keys {
		var err error
		if undo, err = ring.Replace(ca.RootKey, key, nil, now); err != nil {
			t.Fatal(err)
		}
	}
	wantKeys(t, ring.Dir, map[string]ed25519.PrivateKey{"": keys[2], "one": keys[0], "two": keys[1]})
	if err := undo(); err != nil {
		t.Fatal(err)
	}
	if got, err := ring.Load(ca.RootKey, never); err != nil || !keys[1].Equal(got) {
		t.Errorf("undone, the ring has another key than before, error %v", err)
	}
	wantKeys(t, ring.Dir, map[string]ed25519.PrivateKey{"": keys[1], "one": keys[0], "three": keys[2]})
}

// wantKeys reads every file of a ring, and finds each key once.
func wantKeys(t *testing.T, dir string, want map[string]ed25519.PrivateKey) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "ca.jwk*"))
	if err != nil || len(files) != len(want) {
		t.Errorf("files %v, want %d, error %v", files, len(want), err)
	}
	for name, key := range want {
		found := 0
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := ca.DecodeJWK(text); err == nil && key.Equal(got) {
				found++
			}
		}
		if found != 1 {
			t.Errorf("key %q is there %d times", name, found)
		}
	}
}

// An encrypted key needs a passphrase; that nobody can be asked is no crash.
func TestAnEncryptedKeyWithoutAnybodyToAsk(t *testing.T) {
	t.Parallel()
	ring := ca.Keyring{Dir: t.TempDir()}
	if err := ring.Save(ca.RootKey, newKey(t), []byte("pw")); err != nil {
		t.Fatal(err)
	}
	_, err := ring.Load(ca.RootKey, nil)
	wantReason(t, err, ca.ReasonPassphraseRequired)
}

func TestKeyringDirFollowsTheEnvironment(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		env  map[string]string
		want string
	}{
		{"RETECTL_HOME goes first", map[string]string{"RETECTL_HOME": "/k", "XDG_DATA_HOME": "/d", "HOME": "/h"}, "/k/rete-lovers"},
		{"then XDG_DATA_HOME", map[string]string{"XDG_DATA_HOME": "/d", "HOME": "/h"}, "/d/retectl/rete-lovers"},
		{"a relative XDG_DATA_HOME counts as unset", map[string]string{"XDG_DATA_HOME": "d", "HOME": "/h"}, "/h/.local/share/retectl/rete-lovers"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := ca.KeyringDir(td, func(name string) string { return tt.env[name] })
			if err != nil || got != filepath.FromSlash(tt.want) {
				t.Errorf("got %q, error %v", got, err)
			}
		})
	}
	if _, err := ca.KeyringDir(td, func(string) string { return "" }); err == nil {
		t.Error("a place was found in an empty environment")
	}
}
