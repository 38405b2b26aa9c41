package compiler_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io/fs"
	"math/big"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/florete/flor/compiler"
	"github.com/florete/flor/compiler/diag"
	"github.com/florete/flor/compiler/diag/diagtest"
	"github.com/florete/flor/compiler/facade"
)

// now is the time at which the tests validate.
var now = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

// certificate says what a test certificate should be. The zero value, with a
// name, is a signer as it should be.
type certificate struct {
	uri                  string
	from, to             time.Time
	usage                x509.KeyUsage
	extended             []x509.ExtKeyUsage
	isCA, ecdsa, strange bool
}

const signerURI = "spiffe://rete-lovers/management-plane/primary"

// longTrustDomain leaves no room for a name beside it in a hostname.
var longTrustDomain = strings.Repeat("a-trust-domain-of-many-words.", 8) + "example"

// certificates are the files that the repositories of the tests may name.
var certificates = sync.OnceValue(func() map[string][]byte {
	root := newKey(false)
	ca := template(certificate{uri: "spiffe://rete-lovers", isCA: true, to: now.AddDate(10, 0, 0), usage: x509.KeyUsageCertSign})
	longCA := template(certificate{uri: "spiffe://" + longTrustDomain, isCA: true, to: now.AddDate(10, 0, 0), usage: x509.KeyUsageCertSign})
	sign := func(c certificate) []byte {
		key, signer, parent := newKey(c.ecdsa), root, ca
		if c.strange {
			signer = newKey(false)
		}
		return encode(template(c), parent, key.Public(), signer)
	}
	good := certificate{uri: signerURI}
	long := "spiffe://" + longTrustDomain + "/management-plane/primary"
	spare := certificate{uri: "spiffe://rete-lovers/management-plane/spare"}
	primary := sign(good)
	return map[string][]byte{
		"certs/ca.crt":                        encode(ca, ca, root.Public(), root),
		"certs/other-ca.crt":                  sign(certificate{uri: "spiffe://other", isCA: true, usage: x509.KeyUsageCertSign}),
		"certs/leaf-ca.crt":                   sign(good),
		"certs/silent-ca.crt":                 sign(certificate{isCA: true, usage: x509.KeyUsageCRLSign}),
		"certs/old-ca.crt":                    sign(certificate{isCA: true, usage: x509.KeyUsageCertSign, to: now.AddDate(0, 0, -1)}),
		"certs/management-planes/primary.crt": primary,
		"certs/management-planes/again.crt":   primary,
		"certs/management-planes/spare.crt":   sign(spare),
		"certs/long-ca.crt":                   encode(longCA, longCA, root.Public(), root),
		"certs/long.crt":                      encode(template(certificate{uri: long}), longCA, newKey(false).Public(), root),
		"certs/expired.crt":                   sign(certificate{uri: signerURI, to: now.AddDate(0, 0, -1)}),
		"certs/early.crt":                     sign(certificate{uri: signerURI, from: now.AddDate(0, 0, 1)}),
		"certs/soon.crt":                      sign(certificate{uri: signerURI, to: now.AddDate(0, 0, 10)}),
		"certs/last-fifth.crt":                sign(certificate{uri: signerURI, to: now.AddDate(0, 0, 20)}),
		"certs/ecdsa.crt":                     sign(certificate{uri: signerURI, ecdsa: true}),
		"certs/other-issuer.crt":              encode(template(good), template(certificate{isCA: true}), newKey(false).Public(), root),
		"certs/foreign.crt":                   sign(certificate{uri: signerURI, strange: true}),
		"certs/two-uris.crt":                  sign(certificate{uri: signerURI + " spiffe://rete-lovers/user/x"}),
		"certs/usage.crt":                     sign(certificate{uri: signerURI, usage: x509.KeyUsageKeyEncipherment}),
		"certs/extended.crt":                  sign(certificate{uri: signerURI, extended: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}),
		"certs/signing-ca.crt":                sign(certificate{uri: signerURI, isCA: true, usage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature}),
		"certs/key.crt":                       pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("x")}),
		"certs/jwk.crt":                       []byte(`{"kty":"OKP","crv":"Ed25519","d":"x","x":"x"}` + "\n"),
		"certs/jwe.crt":                       []byte("eyJhbGciOiJQQkVTMi1IUzUxMitBMjU2S1cifQ.x.x.x.x\n"),
		"certs/two.crt":                       append(slices.Clone(primary), primary...),
		"certs/text.crt":                      []byte("nothing\n"),
		"certs/damaged.crt":                   pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("x")}),
	}
})

func newKey(isECDSA bool) crypto.Signer {
	if isECDSA {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		must(err)
		return key
	}
	_, key, err := ed25519.GenerateKey(rand.Reader)
	must(err)
	return key
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func template(c certificate) *x509.Certificate {
	t := &x509.Certificate{
		SerialNumber: big.NewInt(1), KeyUsage: c.usage, ExtKeyUsage: c.extended,
		NotBefore: c.from, NotAfter: c.to, IsCA: c.isCA, BasicConstraintsValid: true,
	}
	if c.isCA {
		t.Subject = pkix.Name{CommonName: "Root CA of " + c.uri}
	}
	if t.KeyUsage == 0 {
		t.KeyUsage = x509.KeyUsageDigitalSignature
	}
	if t.NotBefore.IsZero() {
		t.NotBefore = now.AddDate(0, 0, -100)
	}
	if t.NotAfter.IsZero() {
		t.NotAfter = now.AddDate(1, 0, 0)
	}
	for uri := range strings.FieldsSeq(c.uri) {
		u, err := url.Parse(uri)
		must(err)
		t.URIs = append(t.URIs, u)
	}
	return t
}

func encode(cert, parent *x509.Certificate, key crypto.PublicKey, signer crypto.Signer) []byte {
	der, err := x509.CreateCertificate(rand.Reader, cert, parent, key, signer)
	must(err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// readCertificate stands for the files below certs.
func readCertificate(name string) ([]byte, error) {
	if text, ok := certificates()[name]; ok {
		return text, nil
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

// validateDir loads and validates a repository. The view is nil when either
// found errors.
func validateDir(dir string) (*compiler.View, diag.List, diag.Sources) {
	src, found := facade.Load(facade.Options{Root: dir})
	view, judged := compiler.Validate(src, compiler.ValidateOptions{Now: now, ReadFile: readCertificate})
	if found.HasErrors() {
		view = nil
	}
	return view, append(found, judged...).Sorted(), src.Texts
}

// overBase lays the files of testdata/base.txtar under those of a case, which
// so needs to have only what it is about. The directive "drop" removes one.
func overBase(t *testing.T, c diagtest.Case) {
	t.Helper()
	base, err := txtar.ParseFile("testdata/base.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range base.Files {
		path := filepath.Join(c.Dir, f.Name)
		if _, err := os.Stat(path); err == nil || slices.ContainsFunc(c.Directives, func(d []string) bool { return d[0] == "drop" && d[1] == f.Name }) {
			continue
		}
		if err := os.WriteFile(path, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func checkCase(t *testing.T, c diagtest.Case) (diag.List, diag.Sources) {
	overBase(t, c)
	view, found, texts := validateDir(c.Dir)
	if (view == nil) != found.HasErrors() {
		t.Errorf("view is nil: %t, errors: %t", view == nil, found.HasErrors())
	}
	return found, texts
}

// validationCodes are the codes that facade does not raise.
func validationCodes() []diag.Code {
	foreign := facade.Codes()
	return slices.DeleteFunc(compiler.Registry(), func(c diag.Code) bool { return foreign[c.ID] != "" })
}

// TestEveryCodeHasAnExampleThatYieldsExactlyIt runs the archives of
// pages, one for each code of validation (CMP-3 … CMP-10).
func TestEveryCodeHasAnExampleThatYieldsExactlyIt(t *testing.T) {
	found := diagtest.Run(t, "pages", checkCase)
	for _, code := range validationCodes() {
		if got := found[code.ID]; !slices.Equal(got, []string{code.ID}) {
			t.Errorf("pages/%s.txtar yields %v, want exactly %s once", code.ID, got, code.ID)
		}
		if code.Title == "" || code.Cause == "" || code.Fix == "" {
			t.Errorf("%s lacks a title, cause or fix", code.ID)
		}
	}
	if len(found) != len(validationCodes()) {
		t.Errorf("%d archives for %d codes", len(found), len(validationCodes()))
	}
}

// TestRules runs the archives of testdata/rules: for each rule what passes and
// what fails, and that nothing is an echo.
func TestRules(t *testing.T) { diagtest.Run(t, "testdata/rules", checkCase) }

// TestTheExampleIsCompleteButForItsCertificates keeps examples/my-rete in
// step: an operator adds certificates and nothing else.
func TestTheExampleIsCompleteButForItsCertificates(t *testing.T) {
	t.Parallel()
	const example = "../examples/my-rete"
	view, found, texts := validateDir(example)
	if view == nil || len(found) > 0 {
		diag.Render(os.Stderr, found, texts, false)
		t.Error("the example has faults although its certificates are there")
	}
	src, _ := facade.Load(facade.Options{Root: example})
	_, found = compiler.Validate(src, compiler.ValidateOptions{Now: now, ReadFile: func(name string) ([]byte, error) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}})
	var missing []string
	for _, d := range found {
		missing = append(missing, d.Code+" "+d.Message)
	}
	want := []string{
		"FL0301 the certificate certs/ca.crt does not exist",
		"FL0301 the certificate certs/management-planes/primary.crt does not exist",
	}
	if diff := cmp.Diff(want, missing); diff != "" {
		t.Errorf("without certificates (-want +got):\n%s", diff)
	}
}
