package mint

import (
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"math/big"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/florete/flor/envelope"
)

// Instants of the vectors: when each is judged, and from when to when what is
// issued is valid unless a change says otherwise.
const (
	Now       = "2026-04-20T12:00:00Z"
	validFrom = "2026-01-01T00:00:00Z"
	leafUntil = "2027-01-01T00:00:00Z"
	caUntil   = "2036-01-01T00:00:00Z"
)

// At reads an instant written like [Now].
func At(text string) time.Time { return must(time.Parse(time.RFC3339, text)) }

// Key returns the private key of a label: its seed is the SHA-256 of
// "flor conformance key: " and the label.
func Key(label string) ed25519.PrivateKey {
	seed := sha256.Sum256([]byte("flor conformance key: " + label))
	return ed25519.NewKeyFromSeed(seed[:])
}

// Change alters a certificate before the CA signs it.
type Change func(*x509.Certificate)

// Authority is the root CA of a trust domain.
type Authority struct {
	TrustDomain string
	Cert        *x509.Certificate
	key         ed25519.PrivateKey
}

// Identity is a SPIFFE ID with a certificate and its key.
type Identity struct {
	ID   string
	Cert *x509.Certificate
	Key  crypto.Signer
}

// NewAuthority makes the CA of a trust domain with a key of the caller's.
func NewAuthority(trustDomain string, key ed25519.PrivateKey, changes ...Change) *Authority {
	ca := &x509.Certificate{
		SerialNumber:          serial(trustDomain, key.Public()),
		Subject:               pkix.Name{CommonName: trustDomain + " Root CA"},
		URIs:                  uris("spiffe://" + trustDomain),
		NotBefore:             At(validFrom),
		NotAfter:              At(caUntil),
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
		MaxPathLenZero:        true,
		SubjectKeyId:          keyID(key.Public()),
	}
	for _, change := range changes {
		change(ca)
	}
	a := &Authority{TrustDomain: trustDomain, key: key}
	a.Cert = certify(ca, ca, key.Public(), key)
	return a
}

// Issue issues a certificate for the path of an ID, with the key of a label.
func (a *Authority) Issue(path, label string, changes ...Change) *Identity {
	return a.IssueFor("spiffe://"+a.TrustDomain+path, Key(label), changes...)
}

// IssueFor issues a certificate for any ID and any key.
func (a *Authority) IssueFor(id string, key crypto.Signer, changes ...Change) *Identity {
	leaf := &x509.Certificate{
		SerialNumber:          serial(id, key.Public()),
		URIs:                  uris(id),
		NotBefore:             At(validFrom),
		NotAfter:              At(leafUntil),
		KeyUsage:              x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           usages(id),
		BasicConstraintsValid: true,
	}
	for _, change := range changes {
		change(leaf)
	}
	return &Identity{ID: id, Cert: certify(leaf, a.Cert, key.Public(), a.key), Key: key}
}

// Entry is the identity's entry in a trust block.
func (i *Identity) Entry() envelope.Entry {
	entry := envelope.Entry{SPIFFEID: i.ID, Cert: base64.StdEncoding.EncodeToString(i.Cert.Raw)}
	if key, ok := i.Key.Public().(ed25519.PublicKey); ok {
		entry.Pubkey = base64.StdEncoding.EncodeToString(key)
	}
	return entry
}

// pubkey is the identity's public key as trust blocks spell it.
func (i *Identity) pubkey() string { return i.Entry().Pubkey }

// certPEM is a certificate as files have it.
func certPEM(cert *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Raw})
}

// keyPEM is the identity's private key as files have it.
func (i *Identity) keyPEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: must(x509.MarshalPKCS8PrivateKey(i.Key))})
}

func certify(cert, issuer *x509.Certificate, public crypto.PublicKey, by ed25519.PrivateKey) *x509.Certificate {
	// Ed25519 takes nothing from the reader.
	return must(x509.ParseCertificate(must(x509.CreateCertificate(rand.Reader, cert, issuer, public, by))))
}

func usages(id string) []x509.ExtKeyUsage {
	switch kind := strings.Split(strings.TrimPrefix(id, "spiffe://"), "/"); {
	case len(kind) < 2:
		return nil
	case kind[1] == "service", kind[1] == "vertex":
		return []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	case kind[1] == "user", kind[1] == "node":
		return []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	}
	return nil
}

func uris(texts ...string) []*url.URL {
	var all []*url.URL
	for _, text := range texts {
		all = append(all, must(url.Parse(text)))
	}
	return all
}

func serial(of string, public crypto.PublicKey) *big.Int {
	sum := sha256.Sum256(slices.Concat([]byte(of), must(x509.MarshalPKIXPublicKey(public))))
	return new(big.Int).SetBytes(sum[:15]) // 15 bytes: never negative, whatever the first bit
}

func keyID(public crypto.PublicKey) []byte {
	sum := sha256.Sum256(must(x509.MarshalPKIXPublicKey(public)))
	return sum[:20]
}

// Changes that several vectors use.

func validBetween(from, until string) Change {
	return func(c *x509.Certificate) { c.NotBefore, c.NotAfter = At(from), At(until) }
}

func sans(ids ...string) Change {
	return func(c *x509.Certificate) { c.URIs = uris(ids...) }
}

func extUsages(usages ...x509.ExtKeyUsage) Change {
	return func(c *x509.Certificate) { c.ExtKeyUsage = usages }
}

func keyUsage(usage x509.KeyUsage) Change {
	return func(c *x509.Certificate) { c.KeyUsage = usage }
}

func asCA(c *x509.Certificate) {
	c.IsCA = true
	c.KeyUsage |= x509.KeyUsageCertSign
}

var (
	expired     = validBetween("2025-01-01T00:00:00Z", "2026-02-01T00:00:00Z")
	notYetValid = validBetween("2026-05-01T00:00:00Z", "2027-01-01T00:00:00Z")
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
