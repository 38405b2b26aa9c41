package bundle

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/go-jose/go-jose/v4"
)

// Work factors of an encrypted bundle, in iterations of PBKDF2 (BND-4).
const (
	Iterations    = 210_000   // what [Encrypt] uses
	MaxIterations = 1_000_000 // what [Unwrap] is willing to do for a file
)

// maxEncrypted is what MaxSize becomes in base64, with room for the rest.
const maxEncrypted = MaxSize/3*4 + 64<<10

// Encrypt wraps a bundle under a passphrase: a JWE in compact form, key
// PBES2-HS512+A256KW, content A256GCM (BND-4).
func Encrypt(bundle, passphrase []byte) ([]byte, error) {
	recipient := jose.Recipient{Algorithm: jose.PBES2_HS512_A256KW, Key: passphrase, PBES2Count: Iterations}
	encrypter, err := jose.NewEncrypter(jose.A256GCM, recipient, nil)
	if err != nil {
		return nil, fmt.Errorf("encrypt the bundle: %w", err)
	}
	wrapped, err := encrypter.Encrypt(bundle)
	if err != nil {
		return nil, fmt.Errorf("encrypt the bundle: %w", err)
	}
	text, err := wrapped.CompactSerialize()
	return []byte(text + "\n"), err
}

// Unwrap returns a reader of the plain bundle in r, which may be a JWE in compact
// or in JSON form. A bundle that is not
// encrypted is returned as it is and ask is not called; for an encrypted one
// ask gives the passphrase. A wrong one is refused with reason BadPassphrase.
func Unwrap(r io.Reader, ask func() ([]byte, error)) (io.Reader, error) {
	data, err := readLimited(r, maxEncrypted)
	if err != nil || !looksEncrypted(data) {
		return bytes.NewReader(data), err
	}
	wrapped, err := parseEncrypted(data)
	if err != nil {
		return nil, err
	}
	if ask == nil {
		return nil, refuse(Encrypted, "this bundle is encrypted, and nothing gives its passphrase: ask is nil")
	}
	passphrase, err := ask()
	if err != nil {
		return nil, err
	}
	if len(passphrase) == 0 {
		return nil, refuse(BadPassphrase, "the passphrase is empty")
	}
	plain, err := wrapped.Decrypt(passphrase)
	if err != nil {
		return nil, refuse(BadPassphrase, "the passphrase is wrong, or the file is damaged: %w", err)
	}
	return bytes.NewReader(plain), nil
}

// parseEncrypted reads the JWE and caps the work that it asks for, before any
// of it is done.
func parseEncrypted(data []byte) (*jose.JSONWebEncryption, error) {
	text := string(bytes.TrimSpace(data))
	parse := jose.ParseEncryptedCompact
	if strings.HasPrefix(text, "{") {
		parse = jose.ParseEncryptedJSON
	}
	wrapped, err := parse(text, []jose.KeyAlgorithm{jose.PBES2_HS512_A256KW}, []jose.ContentEncryption{jose.A256GCM})
	if err != nil {
		return nil, refuse(BadArchive, "the file looks like an encrypted bundle and is none: %w", err)
	}
	iterations, ok := wrapped.Header.ExtraHeaders["p2c"].(float64)
	if !ok || iterations < 1 || iterations > MaxIterations {
		return nil, refuse(WorkFactor, "the file asks for %v iterations, the limit is %d", wrapped.Header.ExtraHeaders["p2c"], MaxIterations)
	}
	return wrapped, nil
}

// looksEncrypted tells a JWE from an archive, which begins with the name of its
// first entry. A JWE in compact form begins with its header, an object in
// base64; in JSON form with a brace.
func looksEncrypted(data []byte) bool {
	text := bytes.TrimLeft(data, " \t\r\n")
	isJWE := bytes.HasPrefix(text, []byte("eyJ")) || bytes.HasPrefix(text, []byte("{"))
	return isJWE && bytes.IndexByte(data[:min(len(data), blockSize)], 0) < 0
}
