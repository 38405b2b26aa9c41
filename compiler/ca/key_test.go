package ca_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"strings"
	"testing"

	"github.com/go-jose/go-jose/v4"

	"github.com/florete/flor/compiler/ca"
)

func TestKeySurvivesEachForm(t *testing.T) {
	t.Parallel()
	key := newKey(t)
	pass := []byte("correct horse")
	tests := []struct {
		name   string
		encode func() ([]byte, error)
		decode func([]byte) (any, error)
	}{
		{"plain JWK", func() ([]byte, error) { return ca.EncodeJWK(key) },
			func(b []byte) (any, error) { return ca.DecodeJWK(b) }},
		{"encrypted JWK", func() ([]byte, error) { return ca.EncryptJWK(key, pass) },
			func(b []byte) (any, error) { return ca.DecryptJWK(b, pass) }},
		{"PEM", func() ([]byte, error) { return ca.EncodePEM(key) },
			func(b []byte) (any, error) { return ca.DecodePEM(b) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			text, err := tt.encode()
			if err != nil {
				t.Fatal(err)
			}
			got, err := tt.decode(text)
			if err != nil || !key.Equal(got) {
				t.Errorf("read back %v, error %v", got, err)
			}
		})
	}
}

// PKI-2: what the header of the file says is what the rule asks for.
func TestEncryptedKeyUsesTheAlgorithmsOfPKI2(t *testing.T) {
	t.Parallel()
	text, err := ca.EncryptJWK(newKey(t), []byte("correct horse"))
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := jose.ParseEncryptedCompact(strings.TrimSpace(string(text)),
		[]jose.KeyAlgorithm{jose.PBES2_HS512_A256KW}, []jose.ContentEncryption{jose.A256GCM})
	if err != nil {
		t.Fatal(err)
	}
	if rounds := sealed.Header.ExtraHeaders["p2c"]; rounds != float64(210_000) {
		t.Errorf("p2c is %v", rounds)
	}
	if kind := sealed.Header.ExtraHeaders["cty"]; kind != "jwk+json" {
		t.Errorf("cty is %v", kind)
	}
}

func sealWith(t *testing.T, rounds int) []byte {
	t.Helper()
	encrypter, err := jose.NewEncrypter(jose.A256GCM, jose.Recipient{Algorithm: jose.PBES2_HS512_A256KW, Key: []byte("pw"), PBES2Count: rounds}, nil)
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := encrypter.Encrypt([]byte("{}"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := sealed.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return []byte(text)
}

func TestDecryptRefuses(t *testing.T) {
	t.Parallel()
	good, err := ca.EncryptJWK(newKey(t), []byte("correct horse"))
	if err != nil {
		t.Fatal(err)
	}
	altered := bytes.Clone(good)
	if at := len(altered) - 8; altered[at] == 'A' {
		altered[at] = 'B'
	} else {
		altered[at] = 'A' // still base64url, of another authentication tag
	}
	tests := []struct {
		name       string
		text, pass []byte
		want       ca.Reason
	}{
		{"a wrong passphrase", good, []byte("battery staple"), ca.ReasonWrongPassphrase},
		{"no passphrase", good, nil, ca.ReasonPassphraseRequired},
		{"an altered file", altered, []byte("correct horse"), ca.ReasonWrongPassphrase},
		{"a file that is no JWE", []byte("hello"), []byte("pw"), ca.ReasonKeyMalformed},
		{"more rounds than the cap", sealWith(t, ca.MaxIterations+1), []byte("pw"), ca.ReasonWorkFactor},
		{"fewer rounds than we write", sealWith(t, 1000), []byte("pw"), ca.ReasonWorkFactor},
		{"a file that is too large", bytes.Repeat([]byte("a"), ca.MaxKeyFile+1), []byte("pw"), ca.ReasonKeyMalformed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := ca.DecryptJWK(tt.text, tt.pass)
			wantReason(t, err, tt.want)
		})
	}
}

func TestEncryptRefusesAnEmptyPassphrase(t *testing.T) {
	t.Parallel()
	_, err := ca.EncryptJWK(newKey(t), nil)
	wantReason(t, err, ca.ReasonPassphraseRequired)
}

func TestPlainFormsRefuse(t *testing.T) {
	t.Parallel()
	ecKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	ecDER, err := x509.MarshalPKCS8PrivateKey(ecKey)
	if err != nil {
		t.Fatal(err)
	}
	edPEM, err := ca.EncodePEM(newKey(t))
	if err != nil {
		t.Fatal(err)
	}
	public, err := jose.JSONWebKey{Key: newKey(t).Public()}.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	authority, _ := newAuthority(t)
	tests := []struct {
		name   string
		decode func([]byte) error
		text   []byte
		want   ca.Reason
	}{
		{"PEM of another algorithm", decodePEM, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: ecDER}), ca.ReasonKeyUnsuitable},
		{"PEM of a certificate", decodePEM, ca.EncodeCertificate(authority.Certificate()), ca.ReasonKeyMalformed},
		{"PEM of two keys", decodePEM, append(bytes.Clone(edPEM), edPEM...), ca.ReasonKeyMalformed},
		{"PEM of garbage", decodePEM, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("x")}), ca.ReasonKeyMalformed},
		{"no PEM", decodePEM, []byte("hello"), ca.ReasonKeyMalformed},
		{"a public JWK", decodeJWK, public, ca.ReasonKeyUnsuitable},
		{"no JWK", decodeJWK, []byte("{"), ca.ReasonKeyMalformed},
		{"a key where a certificate is due", decodeCert, edPEM, ca.ReasonCertificateMalformed},
		{"a certificate where a request is due", decodeRequest, ca.EncodeCertificate(authority.Certificate()), ca.ReasonRequestRefused},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			wantReason(t, tt.decode(tt.text), tt.want)
		})
	}
}

func decodePEM(b []byte) error     { _, err := ca.DecodePEM(b); return err }
func decodeJWK(b []byte) error     { _, err := ca.DecodeJWK(b); return err }
func decodeCert(b []byte) error    { _, err := ca.DecodeCertificate(b); return err }
func decodeRequest(b []byte) error { _, err := ca.DecodeRequest(b); return err }

// FuzzKeyFiles: no file makes a reader panic, and what is read can be written.
func FuzzKeyFiles(f *testing.F) {
	key, err := ca.NewKey()
	if err != nil {
		f.Fatal(err)
	}
	plain, _ := ca.EncodeJWK(key)
	asPEM, _ := ca.EncodePEM(key)
	f.Add(plain)
	f.Add(asPEM)
	f.Add([]byte("a.b.c.d.e"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if key, err := ca.DecodeJWK(text); err == nil {
			if _, err := ca.EncodePEM(key); err != nil {
				t.Error(err)
			}
		}
		_, _ = ca.DecodePEM(text)
		_, _ = ca.DecryptJWK(text, nil)
		_, _ = ca.DecodeCertificate(text)
		_, _ = ca.DecodeRequest(text)
	})
}
