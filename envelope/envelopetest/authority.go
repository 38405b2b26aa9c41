package envelopetest

import (
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net/url"
	"time"

	"github.com/florete/flor/envelope"
	"github.com/florete/flor/envelope/schema"
	"github.com/spiffe/go-spiffe/v2/spiffeid"
)

// Authority is the root CA of one trust domain, as a compiler would make it.
// It may be used from several goroutines.
type Authority struct {
	TrustDomain spiffeid.TrustDomain
	CA          *x509.Certificate
	Key         ed25519.PrivateKey // of CA

	now time.Time
}

// Identity is a principal's ID with its certificate and key. The certificate
// is Ed25519 and carries the usages that fit the ID's kind, unless a Change
// said otherwise.
type Identity struct {
	ID   spiffeid.ID
	Cert *x509.Certificate
	Key  crypto.Signer
}

// Change alters a certificate before the CA signs it: how a test asks for one
// that is wrong.
type Change func(*x509.Certificate)

// Lifetimes of what an Authority issues, counted from the time it was made for.
const (
	Backdate = 5 * time.Minute
	CALife   = 3650 * 24 * time.Hour
	LeafLife = 365 * 24 * time.Hour
)

// NewAuthority makes the CA of a trust domain, such as "rete-lovers", with
// everything that it issues valid now. It panics when the name is not that of a
// trust domain, as everything in this package panics on a mistake of the test.
func NewAuthority(trustDomain string) *Authority {
	return NewAuthorityAt(trustDomain, time.Now())
}

// NewAuthorityAt is NewAuthority for tests with a clock of their own.
func NewAuthorityAt(trustDomain string, now time.Time) *Authority {
	td := spiffeid.RequireTrustDomainFromString(trustDomain)
	key := newKey()
	ca := &x509.Certificate{
		SerialNumber:          serial(),
		Subject:               pkix.Name{CommonName: trustDomain + " Root CA"},
		URIs:                  []*url.URL{td.ID().URL()},
		NotBefore:             now.Add(-Backdate),
		NotAfter:              now.Add(CALife),
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
		MaxPathLenZero:        true,
	}
	a := &Authority{TrustDomain: td, Key: key, now: now}
	a.CA = a.sign(ca, ca, key.Public())
	return a
}

// Anchor returns what an enrolment in this authority's trust domain pins.
func (a *Authority) Anchor() envelope.Anchor {
	return envelope.Anchor{TrustDomain: a.TrustDomain, CA: a.CA}
}

// Signer issues the identity of the mgmt signer of that name.
func (a *Authority) Signer(name string, changes ...Change) *Identity {
	return a.Issue(must(schema.ManagementPlaneID(a.TrustDomain, name)), changes...)
}

// CtrlSigner issues the identity of the ctrl signer of that name.
func (a *Authority) CtrlSigner(name string, changes ...Change) *Identity {
	return a.Issue(must(schema.ControlPlaneID(a.TrustDomain, name)), changes...)
}

// Issue issues an identity for any ID, with a new Ed25519 key.
func (a *Authority) Issue(id spiffeid.ID, changes ...Change) *Identity {
	return a.IssueFor(id, newKey(), changes...)
}

// IssueFor issues an identity for any ID and a key that the caller has: to
// renew a certificate, or to give one key to two IDs.
func (a *Authority) IssueFor(id spiffeid.ID, key crypto.Signer, changes ...Change) *Identity {
	leaf := &x509.Certificate{
		SerialNumber:          serial(),
		URIs:                  []*url.URL{id.URL()},
		NotBefore:             a.now.Add(-Backdate),
		NotAfter:              a.now.Add(LeafLife),
		KeyUsage:              x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           usages(id),
		BasicConstraintsValid: true,
	}
	for _, change := range changes {
		change(leaf)
	}
	return &Identity{ID: id, Cert: a.sign(leaf, a.CA, key.Public()), Key: key}
}

// sign issues a certificate and reads it back.
func (a *Authority) sign(cert, issuer *x509.Certificate, public crypto.PublicKey) *x509.Certificate {
	return must(x509.ParseCertificate(must(x509.CreateCertificate(rand.Reader, cert, issuer, public, a.Key))))
}

// usages returns the extended key usages of the ID's kind; those who sign
// artifacts have none.
func usages(id spiffeid.ID) []x509.ExtKeyUsage {
	switch kind, _ := schema.KindOf(id); kind {
	case schema.KindService, schema.KindVertex:
		return []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	case schema.KindUser, schema.KindNode:
		return []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	default:
		return nil
	}
}

func newKey() ed25519.PrivateKey {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	return must(key, err)
}

func serial() *big.Int {
	return must(rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127)))
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
