package ca_test

import (
	"crypto"
	"crypto/ed25519"
	"crypto/x509"
	"testing"
	"time"

	"github.com/florete/flor/compiler/ca"
	"github.com/florete/flor/envelope/schema"
)

// Whatever is missing, or is none, is refused by its own reason: no caller's
// slip ends the program that holds the authority.
func TestNothingIsRefusedAndNoCrash(t *testing.T) {
	t.Parallel()
	authority, key := newAuthority(t)
	id, err := schema.ManagementPlaneID(td, "primary")
	if err != nil {
		t.Fatal(err)
	}
	newRoot := func(key crypto.Signer) error {
		_, err := ca.NewAuthority(td, key, validity, now)
		return err
	}
	open := func(cert *x509.Certificate, key crypto.Signer) error {
		_, err := ca.OpenAuthority(cert, key)
		return err
	}
	issue := func(pub crypto.PublicKey, validity time.Duration) error {
		_, err := authority.Issue(id, pub, validity, now)
		return err
	}
	of := func(_ any, err error) error { return err }
	short := ed25519.PrivateKey{1, 2, 3}
	tests := []struct {
		name string
		err  error
		want ca.Reason
	}{
		{"a root without a key", newRoot(nil), ca.ReasonKeyUnsuitable},
		{"a root with an empty key", newRoot(ed25519.PrivateKey(nil)), ca.ReasonKeyUnsuitable},
		{"a root with a short key", newRoot(short), ca.ReasonKeyUnsuitable},
		{"an authority without a certificate", open(nil, key), ca.ReasonRootUnsuitable},
		{"an authority with an empty certificate", open(new(x509.Certificate), key), ca.ReasonRootUnsuitable},
		{"an authority without a key", open(authority.Certificate(), nil), ca.ReasonKeyUnsuitable},
		{"an authority with a short key", open(authority.Certificate(), short), ca.ReasonKeyUnsuitable},
		{"a certificate without a key", issue(nil, validity), ca.ReasonKeyUnsuitable},
		{"a certificate with a short key", issue(ed25519.PublicKey{1}, validity), ca.ReasonKeyUnsuitable},
		{"a certificate for no time", issue(key.Public(), 0), ca.ReasonValidityUnsuitable},
		{"a certificate for less", issue(key.Public(), -time.Hour), ca.ReasonValidityUnsuitable},
		{"no request", of(authority.Sign(nil, validity, now)), ca.ReasonRequestRefused},
		{"an empty request", of(authority.Sign(new(x509.CertificateRequest), validity, now)), ca.ReasonRequestRefused},
		{"no certificate for a key", ca.CheckKey(nil, key.Public()), ca.ReasonKeyMismatch},
		{"no key for a certificate", ca.CheckKey(authority.Certificate(), nil), ca.ReasonKeyMismatch},
		{"the trust domain of nothing", of(ca.RootTrustDomain(nil)), ca.ReasonRootUnsuitable},
		{"nothing as a JWK", of(ca.EncodeJWK(nil)), ca.ReasonKeyUnsuitable},
		{"nothing as an encrypted JWK", of(ca.EncryptJWK(nil, []byte("pw"))), ca.ReasonKeyUnsuitable},
		{"a short key as PEM", of(ca.EncodePEM(short)), ca.ReasonKeyUnsuitable},
		{"a JWK of nothing", of(ca.DecodeJWK(nil)), ca.ReasonKeyMalformed},
		{"an encrypted JWK of nothing", of(ca.DecryptJWK(nil, nil)), ca.ReasonKeyMalformed},
		{"PEM of nothing", of(ca.DecodePEM(nil)), ca.ReasonKeyMalformed},
		{"a certificate of nothing", of(ca.DecodeCertificate(nil)), ca.ReasonCertificateMalformed},
		{"a request of nothing", of(ca.DecodeRequest(nil)), ca.ReasonRequestRefused},
		{"nothing in a key ring", ca.Keyring{Dir: t.TempDir()}.Save(ca.RootKey, nil, nil), ca.ReasonKeyUnsuitable},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			wantReason(t, tt.err, tt.want)
		})
	}
}
