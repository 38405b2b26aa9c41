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
// $XDG_DATA_HOME/retectl/<rete>, else below the user's home directory. It fails
// when the environment names none of them, and does not look at the disk.
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

// Has reports whether the ring holds the key, in whichever form. An error means
// that it cannot be told, as in a directory that may not be read.
func (k Keyring) Has(name KeyName) (bool, error) {
	_, err := k.find(name)
	if isReason(err, ReasonKeyAbsent) {
		return false, nil
	}
	return err == nil, err
}

// Vacant refuses a name under which the ring holds a key already
// (ReasonKeyExists), as Save does.
func (k Keyring) Vacant(name KeyName) error {
	file, err := k.find(name)
	switch {
	case err == nil:
		return &Refusal{ReasonKeyExists, fmt.Errorf("%s exists; move it away first if you mean to replace it", k.path(file))}
	case isReason(err, ReasonKeyAbsent):
		return nil
	}
	return err
}

// Passphrase gives the passphrase of the key file at path. It is asked only
// when a passphrase is needed.
type Passphrase func(path string) ([]byte, error)

// Load reads a key. ask is called only for an encrypted one, and its error is
// returned. A key that is not there is ReasonKeyAbsent; what is there and no key is
// refused as DecodeJWK and DecryptJWK do.
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
	if ask == nil {
		return DecryptJWK(text, nil)
	}
	passphrase, err := ask(file)
	if err != nil {
		return nil, err
	}
	return DecryptJWK(text, passphrase)
}

// Save writes a key, encrypted under passphrase, or plain when passphrase is
// nil. A key of that name is never overwritten (ReasonKeyExists): its last copy
// may be this one. The file is the owner's alone (0600), and on the disk when Save
// returns.
func (k Keyring) Save(name KeyName, key ed25519.PrivateKey, passphrase []byte) error {
	if err := k.Vacant(name); err != nil {
		return err
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

// Replace saves a key as Save does, and first sets aside one that has its name:
// its file is renamed to <file>.<UTC>, with a number behind it where that is taken.
// What is called in the end is undo, when the rest of what the key is for failed:
// the new key is set aside, and the old one has its name again. No key is ever
// removed.
func (k Keyring) Replace(name KeyName, key ed25519.PrivateKey, passphrase []byte, now time.Time) (undo func() error, err error) {
	old, err := k.setAside(name, now)
	if err != nil {
		return nil, err
	}
	undo = func() error {
		if _, err := k.setAside(name, now); err != nil {
			return err
		}
		return old.back()
	}
	if err := k.Save(name, key, passphrase); err != nil {
		return nil, errors.Join(err, undo())
	}
	return undo, nil
}

// moved is a file that was renamed; the zero value is none.
type moved struct{ from, to string }

func (m moved) back() error {
	if m.to == "" {
		return nil
	}
	return os.Rename(m.to, m.from)
}

// setAside renames the file of a key; one that is not there is no error.
func (k Keyring) setAside(name KeyName, now time.Time) (moved, error) {
	file, err := k.find(name)
	if isReason(err, ReasonKeyAbsent) {
		return moved{}, nil
	}
	if err != nil {
		return moved{}, err
	}
	m := moved{from: k.path(file)}
	if m.to, err = untaken(m.from + "." + now.UTC().Format("20060102T150405Z")); err != nil {
		return moved{}, err
	}
	return m, os.Rename(m.from, m.to)
}

// untaken is a path like path that nothing has.
func untaken(path string) (string, error) {
	free := path
	for n := 2; ; n++ {
		_, err := os.Lstat(free)
		if errors.Is(err, fs.ErrNotExist) {
			return free, nil
		}
		if err != nil {
			return "", err
		}
		free = fmt.Sprintf("%s.%d", path, n)
	}
}

func isReason(err error, reason Reason) bool {
	var refusal *Refusal
	return errors.As(err, &refusal) && refusal.Reason == reason
}
