package bundle

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

func passphrase(text string) func() ([]byte, error) {
	return func() ([]byte, error) { return []byte(text), nil }
}

// sealed is a bundle and the same one encrypted under "secret". Deriving its key
// costs what a thief is meant to pay, so that the tests share it.
var sealed = sync.OnceValue(func() (s struct{ plain, wrapped []byte }) {
	k := newKitchen()
	var archive bytes.Buffer
	err := Write(&archive, k.contents(), k.signer.ID, k.signer.Key)
	if err != nil {
		panic(err)
	}
	s.plain = archive.Bytes()
	if s.wrapped, err = Encrypt(s.plain, []byte("secret")); err != nil {
		panic(err)
	}
	return s
})

// TestEncryptedBundle is BND-4.
func TestEncryptedBundle(t *testing.T) {
	t.Parallel()
	plain, wrapped := sealed().plain, sealed().wrapped
	if bytes.Contains(wrapped, plain[:64]) {
		t.Error("the plain text shows")
	}
	_, err := Read(bytes.NewReader(wrapped), time.Now())
	wantReason(t, err, Encrypted)

	r, err := Unwrap(bytes.NewReader(wrapped), passphrase("secret"))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, plain) {
		t.Errorf("what comes out is not what went in: %v", err)
	}
	_, err = Unwrap(bytes.NewReader(wrapped), passphrase("wrong"))
	wantReason(t, err, BadPassphrase)
	damaged := bytes.Clone(wrapped)
	if i := len(damaged) / 2; damaged[i] == 'A' {
		damaged[i] = 'B'
	} else {
		damaged[i] = 'A'
	}
	_, err = Unwrap(bytes.NewReader(damaged), passphrase("secret"))
	wantReason(t, err, BadPassphrase)
	_, err = Unwrap(bytes.NewReader(wrapped[:len(wrapped)/2]), passphrase("secret"))
	wantReason(t, err, BadArchive)

	header := bytes.SplitN(wrapped, []byte("."), 2)[0]
	text, err := base64.RawURLEncoding.DecodeString(string(header))
	for _, want := range []string{`"alg":"PBES2-HS512+A256KW"`, `"enc":"A256GCM"`, `"p2c":210000`} {
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("header %s has no %s, %v", text, want, err)
		}
	}
}

func TestUnwrapLeavesAPlainBundleAlone(t *testing.T) {
	t.Parallel()
	plain := newKitchen().bake(t)
	r, err := Unwrap(bytes.NewReader(plain), func() ([]byte, error) { t.Error("asked for a passphrase"); return nil, nil })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Read(r, time.Now()); err != nil {
		t.Error(err)
	}
}

func TestUnwrapRefuses(t *testing.T) {
	t.Parallel()
	never := func() ([]byte, error) { return nil, errors.New("asked for a passphrase") }
	seal := func(alg jose.KeyAlgorithm, key any, count int) []byte {
		e, err := jose.NewEncrypter(jose.A256GCM, jose.Recipient{Algorithm: alg, Key: key, PBES2Count: count}, nil)
		if err != nil {
			t.Fatal(err)
		}
		o, err := e.Encrypt([]byte("x"))
		if err != nil {
			t.Fatal(err)
		}
		text, err := o.CompactSerialize()
		if err != nil {
			t.Fatal(err)
		}
		return []byte(text)
	}
	dear := seal(jose.PBES2_HS512_A256KW, []byte("secret"), 1000)
	header, rest, _ := bytes.Cut(dear, []byte("."))
	text, err := base64.RawURLEncoding.DecodeString(string(header))
	if err != nil {
		t.Fatal(err)
	}
	for _, count := range []string{"1000001", "0", "-1", "1e99", `"x"`} {
		h := base64.RawURLEncoding.EncodeToString([]byte(strings.Replace(string(text), `"p2c":1000`, `"p2c":`+count, 1)))
		_, err := Unwrap(bytes.NewReader([]byte(h+"."+string(rest))), never)
		wantReason(t, err, WorkFactor)
	}
	for name, data := range map[string][]byte{
		"another algorithm": seal(jose.DIRECT, make([]byte, 32), 0),
		"no JWE":            []byte("eyJ not one"),
		"an empty header":   []byte("eyJ9...."),
	} {
		_, err := Unwrap(bytes.NewReader(data), never)
		t.Log(name)
		wantReason(t, err, BadArchive)
	}
	_, err = Unwrap(io.LimitReader(zeros{}, maxEncrypted+1), never)
	wantReason(t, err, TooLarge)
}

func TestUnwrapGivesUpWithTheAsker(t *testing.T) {
	t.Parallel()
	errNoTerminal := errors.New("no terminal")
	if _, err := Unwrap(bytes.NewReader(sealed().wrapped), func() ([]byte, error) { return nil, errNoTerminal }); !errors.Is(err, errNoTerminal) {
		t.Errorf("got %v", err)
	}
}

// TestUnwrapRefusesAnEmptyPassphrase before it does any work.
func TestUnwrapRefusesAnEmptyPassphrase(t *testing.T) {
	t.Parallel()
	_, err := Unwrap(bytes.NewReader(sealed().wrapped), passphrase(""))
	wantReason(t, err, BadPassphrase)
}

// TestUnwrapJSON: the JSON form of JWE is one too, with the same cap on its work.
func TestUnwrapJSON(t *testing.T) {
	t.Parallel()
	parts := strings.Split(strings.TrimSpace(string(sealed().wrapped)), ".")
	header, err := base64.RawURLEncoding.DecodeString(parts[0])
	if err != nil {
		t.Fatal(err)
	}
	inJSON := func(protected string) io.Reader {
		return strings.NewReader(fmt.Sprintf("\n{\"protected\":%q,\"encrypted_key\":%q,\"iv\":%q,\"ciphertext\":%q,\"tag\":%q}\n",
			base64.RawURLEncoding.EncodeToString([]byte(protected)), parts[1], parts[2], parts[3], parts[4]))
	}
	r, err := Unwrap(inJSON(string(header)), passphrase("secret"))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, sealed().plain) {
		t.Errorf("what comes out is not what went in: %v", err)
	}
	never := func() ([]byte, error) { return nil, errors.New("asked for a passphrase") }
	_, err = Unwrap(inJSON(strings.Replace(string(header), "210000", "1000001", 1)), never)
	wantReason(t, err, WorkFactor)
	_, err = Unwrap(strings.NewReader(`{"artifacts":[]}`), never)
	wantReason(t, err, BadArchive)
}
