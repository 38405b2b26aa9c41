package identity

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spiffe/go-spiffe/v2/spiffeid"
	"github.com/spiffe/go-spiffe/v2/svid/x509svid"

	"github.com/florete/flor/envelope/schema"
	"github.com/florete/flor/store/internal/anchor"
)

// usages are the extended key usages of a principal that speaks TLS (PKI-3).
var usages = map[schema.Kind][]x509.ExtKeyUsage{
	schema.KindUser:    {x509.ExtKeyUsageClientAuth},
	schema.KindNode:    {x509.ExtKeyUsageClientAuth},
	schema.KindService: {x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	schema.KindVertex:  {x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
}

// CheckLeaf checks a principal's certificate by SET-8: its kind is one that
// speaks TLS, it carries exactly one URI SAN, equal to id, the usages of its
// kind and no other, it is valid now, and ca issued it. No certificate, and no CA
// to have issued it, are refused (Unreadable, BadAnchor). It is pure.
func CheckLeaf(cert, ca *x509.Certificate, id spiffeid.ID, now time.Time) error {
	switch {
	case cert == nil:
		return refuse(Unreadable, id, "there is no certificate: it is nil")
	case ca == nil:
		return refuse(BadAnchor, id, "there is no CA that could have issued the certificate: it is nil")
	}
	if err := checkID(cert, id); err != nil {
		return err
	}
	if err := checkUsage(cert, id); err != nil {
		return err
	}
	return checkChain(cert, ca, id, now)
}

func checkID(cert *x509.Certificate, id spiffeid.ID) error {
	if len(cert.URIs) != 1 {
		return refuse(WrongID, id, "the certificate has %d URI SANs, not exactly one", len(cert.URIs))
	}
	got, err := spiffeid.FromURI(cert.URIs[0])
	if err != nil {
		return refuse(WrongID, id, "the certificate's URI SAN: %w", err)
	}
	if got != id {
		return refuse(WrongID, id, "the certificate is for %s", got)
	}
	return nil
}

func checkUsage(cert *x509.Certificate, id spiffeid.ID) error {
	kind, err := schema.KindOf(id)
	if err != nil {
		return refuse(WrongKind, id, "%w", err)
	}
	want, ok := usages[kind]
	switch {
	case !ok:
		return refuse(WrongKind, id, "a %s signs and has no certificate for TLS", kind)
	case cert.IsCA:
		return refuse(WrongUsage, id, "the certificate is that of a CA")
	case cert.KeyUsage != x509.KeyUsageDigitalSignature:
		return refuse(WrongUsage, id, "the key usage is not digitalSignature alone")
	case !sameUsages(cert, want):
		return refuse(WrongUsage, id, "the extended key usages are not those of a %s", kind)
	}
	return nil
}

func sameUsages(cert *x509.Certificate, want []x509.ExtKeyUsage) bool {
	got := slices.Clone(cert.ExtKeyUsage)
	slices.Sort(got)
	return len(cert.UnknownExtKeyUsage) == 0 && slices.Equal(slices.Compact(got), want)
}

func checkChain(cert, ca *x509.Certificate, id spiffeid.ID, now time.Time) error {
	roots := x509.NewCertPool()
	roots.AddCert(ca)
	_, err := cert.Verify(x509.VerifyOptions{
		Roots: roots, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny},
	})
	var invalid x509.CertificateInvalidError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return refuse(NotValidNow, id, "%s: %w", outOfWindow(cert, now), err)
	}
	return refuse(BadChain, id, "%w", err)
}

// outOfWindow says what the clock has to do with a certificate that is not valid,
// and what to do first: a new one is no remedy for a clock that is wrong.
func outOfWindow(cert *x509.Certificate, now time.Time) string {
	remedy := "set the clock if it is wrong; if it is right, enrol with a new bundle"
	if now.Before(cert.NotBefore) {
		remedy = "set the clock"
	}
	return fmt.Sprintf("the clock says %s, the certificate is valid from %s to %s: %s", now.UTC().Format(time.RFC3339),
		cert.NotBefore.UTC().Format(time.RFC3339), cert.NotAfter.UTC().Format(time.RFC3339), remedy)
}

// ParseSVID reads a certificate and its key, PEM both, the key in PKCS #8, and
// checks them for id by SET-8. It is pure.
func ParseSVID(certPEM, keyPEM []byte, ca *x509.Certificate, id spiffeid.ID, now time.Time) (*x509svid.SVID, error) {
	cert, err := anchor.ParseCertificate(certPEM)
	if err != nil {
		return nil, refuse(Unreadable, id, "certificate: %w", err)
	}
	if err := CheckLeaf(cert, ca, id, now); err != nil {
		return nil, err
	}
	svid, err := x509svid.Parse(certPEM, keyPEM)
	if err != nil {
		return nil, refuse(KeyMismatch, id, "%w", err)
	}
	return svid, nil
}

// Fingerprint returns the SHA-256 of a certificate for people: upper-case hex,
// bytes separated by colons, as openssl prints it. That of none, which is nil, is
// empty.
func Fingerprint(cert *x509.Certificate) string {
	if cert == nil {
		return ""
	}
	sum := sha256.Sum256(cert.Raw)
	parts := make([]string, len(sum))
	for i, b := range sum {
		parts[i] = strings.ToUpper(hex.EncodeToString([]byte{b}))
	}
	return strings.Join(parts, ":")
}

// SameFingerprint tells whether text, in any case and with or without colons,
// is the fingerprint of cert; of none, which is nil, no text is.
func SameFingerprint(text string, cert *x509.Certificate) bool {
	plain := func(s string) string { return strings.ToUpper(strings.ReplaceAll(strings.TrimSpace(s), ":", "")) }
	return cert != nil && plain(text) == plain(Fingerprint(cert))
}
