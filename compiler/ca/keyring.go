package ca

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/spiffe/go-spiffe/v2/spiffeid"

	"github.com/florete/flor/envelope"
	"github.com/florete/flor/store/durable"
)

const (
	encryptedSuffix = ".jwe"
	plainSuffix     = ".jwk"

	keyMode fs.FileMode = 0o600
	dirMode fs.FileMode = 0o700
)

// KeyName is the name of a key in a Keyring, without its suffix.
type KeyName string

// RootKey is the key of the root CA.
const RootKey KeyName = "ca"

// SignerKey is the key of the management signer of that name.
func SignerKey(name string) KeyName { return KeyName("mgmt/" + name) }

// Keyring is the directory of one rete's private keys (PKI-2): ca.jwe and
// mgmt/<name>.jwe, or .jwk where there is no passphrase. The directory is made
// when the first key is saved.
type Keyring struct {
	// Dir is the directory. It must not lie in the operator's repository.
	Dir string
}

// KeyringDir says where the keys of a rete are kept: $RETECTL_HOME/<rete>, else
// $XDG_DATA_HOME/retectl/<rete>, else below the user's home directory.
func KeyringDir(td spiffeid.TrustDomain, getenv func(string) string) (string, error) {
	if home := getenv("RETECTL_HOME"); home != "" {
		return filepath.Join(home, td.Name()), nil
	}
	if data := getenv("XDG_DATA_HOME"); filepath.IsAbs(data) {
		return filepath.Join(data, "retectl", td.Name()), nil
	}
	home := getenv("HOME")
	if home == "" {
		return "", errors.New("no place for keys: set RETECTL_HOME or HOME")
	}
	return filepath.Join(home, ".local", "share", "retectl", td.Name()), nil
}

// Has reports whether the ring holds the key, in whichever form.
func (k Keyring) Has(name KeyName) bool {
	_, err := k.find(name)
	return err == nil
}

// Passphrase gives the passphrase of the key file at path. It is asked only
// when a passphrase is needed.
type Passphrase func(path string) ([]byte, error)

// Load reads a key. ask is called only for an encrypted one.
func (k Keyring) Load(name KeyName, ask Passphrase) (ed25519.PrivateKey, error) {
	file, err := k.find(name)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(k.Dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	text, err := durable.OS(root).ReadFile(file, MaxKeyFile)
	if err != nil {
		return nil, fmt.Errorf("read key %s: %w", k.path(file), err)
	}
	key, err := decode(text, k.path(file), ask)
	if err != nil {
		return nil, fmt.Errorf("key %s: %w", k.path(file), err)
	}
	return key, nil
}

func decode(text []byte, file string, ask Passphrase) (ed25519.PrivateKey, error) {
	if filepath.Ext(file) == plainSuffix {
		return DecodeJWK(text)
	}
	passphrase, err := ask(file)
	if err != nil {
		return nil, err
	}
	return DecryptJWK(text, passphrase)
}

// Save writes a key, encrypted under passphrase, or plain when passphrase is
// nil. A key of that name is never overwritten: its last copy may be this one.
// The file is the owner's alone (0600).
func (k Keyring) Save(name KeyName, key ed25519.PrivateKey, passphrase []byte) error {
	if err := name.check(); err != nil {
		return err
	}
	if file, err := k.find(name); err == nil {
		return &Refusal{ReasonKeyExists, fmt.Errorf("%s exists; move it away first if you mean to replace it", k.path(file))}
	}
	file, text, err := encode(name, key, passphrase)
	if err != nil {
		return err
	}
	return k.write(file, text)
}

func encode(name KeyName, key ed25519.PrivateKey, passphrase []byte) (file string, text []byte, err error) {
	if passphrase == nil {
		text, err = EncodeJWK(key)
		return string(name) + plainSuffix, text, err
	}
	text, err = EncryptJWK(key, passphrase)
	return string(name) + encryptedSuffix, text, err
}

func (k Keyring) write(file string, text []byte) error {
	if err := os.MkdirAll(filepath.Join(k.Dir, path.Dir(file)), dirMode); err != nil {
		return fmt.Errorf("make key ring: %w", err)
	}
	root, err := os.OpenRoot(k.Dir)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := durable.ReplaceFile(durable.OS(root), file, text, keyMode); err != nil {
		return fmt.Errorf("write key %s: %w", k.path(file), err)
	}
	return nil
}

// find returns the file that holds the key; the encrypted form goes first.
func (k Keyring) find(name KeyName) (string, error) {
	if err := name.check(); err != nil {
		return "", err
	}
	for _, suffix := range []string{encryptedSuffix, plainSuffix} {
		file := string(name) + suffix
		_, err := os.Lstat(k.path(file))
		if err == nil {
			return file, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	return "", &Refusal{ReasonKeyAbsent, fmt.Errorf("no %[1]s%[2]s or %[1]s%[3]s in %[4]s", name, encryptedSuffix, plainSuffix, k.Dir)}
}

func (k Keyring) path(file string) string { return filepath.Join(k.Dir, filepath.FromSlash(file)) }

// check keeps a key name inside the ring.
func (n KeyName) check() error {
	if n == RootKey {
		return nil
	}
	dir, base := path.Split(string(n))
	if dir != "mgmt/" {
		return &Refusal{ReasonNameUnsuitable, fmt.Errorf("%q is not a key of a key ring", n)}
	}
	if err := envelope.SafeName(base); err != nil {
		return &Refusal{ReasonNameUnsuitable, err}
	}
	return nil
}

// SetAside renames a key's file to <file>.<UTC>, so that another may take its
// name, and returns the new path. A key that is not there is no error.
func (k Keyring) SetAside(name KeyName, now time.Time) (string, error) {
	file, err := k.find(name)
	if isReason(err, ReasonKeyAbsent) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	aside := k.path(file) + "." + now.UTC().Format("20060102T150405Z")
	return aside, os.Rename(k.path(file), aside)
}

func isReason(err error, reason Reason) bool {
	var refusal *Refusal
	return errors.As(err, &refusal) && refusal.Reason == reason
}
