package ca

import (
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"net/url"
	"strings"
	"time"

	"github.com/spiffe/go-spiffe/v2/spiffeid"
)

const (
	// DefaultRootValidity is how long a root lives unless asked otherwise.
	DefaultRootValidity = 3650 * 24 * time.Hour

	// clockSkew is how far before its making a certificate becomes valid, so
	// that a node whose clock is behind can use it at once.
	clockSkew = 5 * time.Minute

	serialBits = 128
)

// Authority is a root certificate together with its private key. Make one with
// NewAuthority or OpenAuthority; it is immutable and safe for concurrent use if
// its key is.
type Authority struct {
	td   spiffeid.TrustDomain
	cert *x509.Certificate
	key  crypto.Signer
}

// NewAuthority makes the self-signed root of td around key (PKI-3): common name
// "<rete> Root CA", URI SAN spiffe://<rete>, path length 0. It is valid from five
// minutes before now until validity after it. A key that is none or not Ed25519
// is ReasonKeyUnsuitable, a validity of nothing or less ReasonValidityUnsuitable;
// another error is that of signing.
func NewAuthority(td spiffeid.TrustDomain, key crypto.Signer, validity time.Duration, now time.Time) (*Authority, error) {
	pub, err := publicOf(key)
	if err != nil {
		return nil, err
	}
	if validity <= 0 {
		return nil, &Refusal{ReasonValidityUnsuitable, fmt.Errorf("a root cannot live for %v", validity)}
	}
	serial, err := newSerial()
	if err != nil {
		return nil, err
	}
	template := rootTemplate(td, serial, validity, now)
	cert, err := create(template, template, pub, key)
	if err != nil {
		return nil, err
	}
	return &Authority{td: td, cert: cert, key: key}, nil
}

// OpenAuthority takes an existing root into use. It refuses a certificate that
// is not the root of one trust domain (ReasonRootUnsuitable), a key that is none
// or not Ed25519 (ReasonKeyUnsuitable), and one that is not the certificate's own
// (ReasonKeyMismatch). It does not ask whether the root has expired: Issue does.
func OpenAuthority(cert *x509.Certificate, key crypto.Signer) (*Authority, error) {
	td, err := RootTrustDomain(cert)
	if err != nil {
		return nil, err
	}
	pub, err := publicOf(key)
	if err != nil {
		return nil, err
	}
	if err := CheckKey(cert, pub); err != nil {
		return nil, err
	}
	return &Authority{td: td, cert: cert, key: key}, nil
}

// TrustDomain is the rete that this authority is the root of.
func (a *Authority) TrustDomain() spiffeid.TrustDomain { return a.td }

// Certificate is the root certificate. Do not modify it.
func (a *Authority) Certificate() *x509.Certificate { return a.cert }

// Issue makes the certificate of id for the public key pub, valid from five
// minutes ago until validity from now, but never past the root's own end. The
// kind of id decides the usages (PKI-3). An id of another trust domain or of a
// kind without a profile is ReasonIDUnsuitable, a key that is none or not Ed25519
// ReasonKeyUnsuitable, a validity of nothing or less, or a root that has ended,
// ReasonValidityUnsuitable; another error is that of signing.
func (a *Authority) Issue(id spiffeid.ID, pub crypto.PublicKey, validity time.Duration, now time.Time) (*x509.Certificate, error) {
	p, err := profileOf(id, a.td)
	if err != nil {
		return nil, err
	}
	if err := checkPublic(pub); err != nil {
		return nil, err
	}
	if err := a.checkPeriod(validity, now); err != nil {
		return nil, err
	}
	serial, err := newSerial()
	if err != nil {
		return nil, err
	}
	template := leafTemplate(id, p, serial)
	template.NotBefore = latest(now.Add(-clockSkew), a.cert.NotBefore)
	template.NotAfter = earliest(now.Add(validity), a.cert.NotAfter)
	return create(template, a.cert, pub, a.key)
}

// Sign issues a certificate for a request that was made elsewhere, so that a
// private key need never leave the machine that made it. Of the request only
// the public key and the one URI SAN are taken; anything else in it that asks
// for more is refused, as ReasonRequestRefused. Further errors are those of Issue.
func (a *Authority) Sign(request *x509.CertificateRequest, validity time.Duration, now time.Time) (*x509.Certificate, error) {
	id, err := requestedID(request)
	if err != nil {
		return nil, &Refusal{ReasonRequestRefused, err}
	}
	return a.Issue(id, request.PublicKey, validity, now)
}

func (a *Authority) checkPeriod(validity time.Duration, now time.Time) error {
	if validity <= 0 {
		return &Refusal{ReasonValidityUnsuitable, fmt.Errorf("a certificate cannot live for %v", validity)}
	}
	if !now.Before(a.cert.NotAfter) {
		return &Refusal{ReasonValidityUnsuitable, fmt.Errorf("the root of %s ended at %s; make a new one", a.td, a.cert.NotAfter.Format(time.RFC3339))}
	}
	return nil
}

// RootTrustDomain checks that cert can be the root of a rete, and says of which;
// what cannot is ReasonRootUnsuitable.
func RootTrustDomain(cert *x509.Certificate) (spiffeid.TrustDomain, error) {
	td, err := rootTrustDomain(cert)
	if err != nil {
		return spiffeid.TrustDomain{}, &Refusal{ReasonRootUnsuitable, err}
	}
	return td, nil
}

func rootTrustDomain(cert *x509.Certificate) (spiffeid.TrustDomain, error) {
	var none spiffeid.TrustDomain
	if cert == nil {
		return none, errors.New("there is no certificate")
	}
	if !cert.BasicConstraintsValid || !cert.IsCA {
		return none, errors.New("the certificate is not that of a CA")
	}
	if cert.KeyUsage&x509.KeyUsageCertSign == 0 {
		return none, errors.New("the certificate lacks the usage keyCertSign")
	}
	if len(cert.URIs) != 1 {
		return none, fmt.Errorf("the certificate has %d URI SANs, and a root has one", len(cert.URIs))
	}
	if err := checkPublic(cert.PublicKey); err != nil {
		return none, err
	}
	id, err := spiffeid.FromURI(cert.URIs[0])
	if err != nil {
		return none, fmt.Errorf("the URI SAN is not a SPIFFE ID: %w", err)
	}
	if id.Path() != "" {
		return none, fmt.Errorf("the URI SAN %s names a principal and not a trust domain", id)
	}
	return id.TrustDomain(), nil
}

// CheckKey says whether pub is the key that cert certifies; if not, or if there
// is no certificate, it is ReasonKeyMismatch.
func CheckKey(cert *x509.Certificate, pub crypto.PublicKey) error {
	if cert == nil {
		return &Refusal{ReasonKeyMismatch, errors.New("there is no certificate for the private key")}
	}
	certified, ok := cert.PublicKey.(interface{ Equal(crypto.PublicKey) bool })
	if !ok || !certified.Equal(pub) {
		return &Refusal{ReasonKeyMismatch, fmt.Errorf("the private key does not belong to the certificate %q", certificateLabel(cert))}
	}
	return nil
}

func certificateLabel(cert *x509.Certificate) string {
	if len(cert.URIs) > 0 {
		return cert.URIs[0].String()
	}
	return cert.Subject.String()
}

func rootTemplate(td spiffeid.TrustDomain, serial *big.Int, validity time.Duration, now time.Time) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber:          serial,
		Subject:               pkix.Name{CommonName: td.Name() + " Root CA"},
		URIs:                  []*url.URL{td.ID().URL()},
		NotBefore:             now.Add(-clockSkew),
		NotAfter:              now.Add(validity),
		BasicConstraintsValid: true,
		IsCA:                  true,
		MaxPathLenZero:        true,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
}

// leafTemplate leaves the subject empty, which makes the SAN critical.
func leafTemplate(id spiffeid.ID, p profile, serial *big.Int) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber:          serial,
		URIs:                  []*url.URL{id.URL()},
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           p.extended,
	}
}

// create signs the template and reads the result back, so that what is returned
// is what was written and not what was meant.
func create(template, parent *x509.Certificate, pub crypto.PublicKey, key crypto.Signer) (*x509.Certificate, error) {
	der, err := x509.CreateCertificate(rand.Reader, template, parent, pub, key)
	if err != nil {
		return nil, fmt.Errorf("sign certificate: %w", err)
	}
	return x509.ParseCertificate(der)
}

// newSerial draws 128 random bits; zero, which RFC 5280 forbids, is drawn anew.
func newSerial() (*big.Int, error) {
	limit := new(big.Int).Lsh(big.NewInt(1), serialBits)
	for {
		serial, err := rand.Int(rand.Reader, limit)
		if err != nil || serial.Sign() > 0 {
			return serial, err
		}
	}
}

func checkPublic(pub crypto.PublicKey) error {
	if pub == nil {
		return &Refusal{ReasonKeyUnsuitable, errors.New("there is no key")}
	}
	key, ok := pub.(ed25519.PublicKey)
	if !ok {
		return &Refusal{ReasonKeyUnsuitable, fmt.Errorf("the key is a %T, and only Ed25519 is used", pub)}
	}
	if len(key) != ed25519.PublicKeySize {
		return &Refusal{ReasonKeyUnsuitable, fmt.Errorf("the key has %d bytes, an Ed25519 key has %d", len(key), ed25519.PublicKeySize)}
	}
	return nil
}

// publicOf is the public half of a key that is one.
func publicOf(key crypto.Signer) (crypto.PublicKey, error) {
	if key == nil {
		return nil, checkPublic(nil)
	}
	if private, ok := key.(ed25519.PrivateKey); ok {
		if err := checkPrivate(private); err != nil {
			return nil, err
		}
	}
	pub := key.Public()
	return pub, checkPublic(pub)
}

func checkPrivate(key ed25519.PrivateKey) error {
	if len(key) != ed25519.PrivateKeySize {
		return &Refusal{ReasonKeyUnsuitable, fmt.Errorf("the private key has %d bytes, an Ed25519 key has %d", len(key), ed25519.PrivateKeySize)}
	}
	return nil
}

func requestedID(request *x509.CertificateRequest) (spiffeid.ID, error) {
	if request == nil {
		return spiffeid.ID{}, errors.New("there is no request")
	}
	if err := request.CheckSignature(); err != nil {
		return spiffeid.ID{}, fmt.Errorf("its signature does not hold: %w", err)
	}
	if len(request.DNSNames)+len(request.EmailAddresses)+len(request.IPAddresses) > 0 {
		return spiffeid.ID{}, errors.New("it asks for names other than a SPIFFE ID")
	}
	if len(request.URIs) != 1 {
		return spiffeid.ID{}, fmt.Errorf("it has %d URI SANs; ask for exactly one SPIFFE ID", len(request.URIs))
	}
	return spiffeid.FromURI(request.URIs[0])
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earliest(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// Fingerprint is the SHA-256 of a certificate as people compare it: upper-case
// hex, bytes separated by colons, as openssl prints it. The certificate is not
// nil.
func Fingerprint(cert *x509.Certificate) string {
	sum := sha256.Sum256(cert.Raw)
	return strings.ReplaceAll(fmt.Sprintf("% X", sum[:]), " ", ":")
}
