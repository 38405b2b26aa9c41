package ca_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

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
	if ring.Has(ca.SignerKey("primary")) {
		t.Error("an empty ring has a key")
	}
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
