package vertex

import (
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/quic-go/quic-go"
	"github.com/spiffe/go-spiffe/v2/bundle/x509bundle"
	"github.com/spiffe/go-spiffe/v2/spiffeid"
	"github.com/spiffe/go-spiffe/v2/svid/x509svid"
)

// Identities gives a vertex the certificates of the principals it acts for.
// Both methods are called at start, every 30 s and by [Vertex.Reload], from
// one goroutine at a time; what they return is not changed afterwards.
type Identities interface {
	// SVID returns certificate and key of a principal of this node, or an
	// error when there is none (VTX-12).
	SVID(spiffeid.ID) (*x509svid.SVID, error)
	// Bundle returns the CA certificates of the node's trust domain.
	Bundle() (*x509bundle.Bundle, error)
}

// material is a principal's certificate, ready for handshakes.
type material struct {
	certificate tls.Certificate
	leaf        *x509.Certificate
	print       string
}

// keyring holds what [Identities] last gave.
type keyring struct {
	source  Identities
	current atomic.Pointer[keys]
}

type keys struct {
	bundle *x509bundle.Bundle
	byID   map[spiffeid.ID]*material
	faults map[spiffeid.ID]error // why a principal has no material
}

func newKeyring(source Identities, ids []spiffeid.ID) (*keyring, error) {
	k := &keyring{source: source}
	return k, k.load(ids)
}

// load reads everything again. A principal whose material can no longer be
// read keeps what it had: handshakes judge its validity anyway.
func (k *keyring) load(ids []spiffeid.ID) error {
	bundle, err := readBundle(k.source)
	if err != nil {
		return err
	}
	old := k.current.Load()
	next := &keys{bundle, map[spiffeid.ID]*material{}, map[spiffeid.ID]error{}}
	for _, id := range ids {
		m, err := k.read(id)
		if err != nil && old != nil {
			m = old.byID[id]
		}
		if m == nil {
			next.faults[id] = err
			continue
		}
		next.byID[id] = m
	}
	k.current.Store(next)
	return nil
}

var (
	errNoIdentities = errors.New("there are no identities: ids is nil")
	errNoBundle     = errors.New("Identities.Bundle returned neither a bundle nor an error")
)

func readBundle(source Identities) (*x509bundle.Bundle, error) {
	if source == nil {
		return nil, errNoIdentities
	}
	bundle, err := source.Bundle()
	if err == nil && bundle == nil {
		err = errNoBundle
	}
	if err != nil {
		return nil, fmt.Errorf("reading the CA of the trust domain: %w", err)
	}
	return bundle, nil
}

var errNoCertificate = errors.New("the identity has no certificate")

func (k *keyring) read(id spiffeid.ID) (*material, error) {
	svid, err := k.source.SVID(id)
	if err != nil {
		return nil, err
	}
	if svid == nil || len(svid.Certificates) == 0 {
		return nil, errNoCertificate
	}
	m := &material{leaf: svid.Certificates[0], print: fingerprint(svid.Certificates[0])}
	m.certificate = tls.Certificate{PrivateKey: svid.PrivateKey, Leaf: m.leaf}
	for _, c := range svid.Certificates {
		m.certificate.Certificate = append(m.certificate.Certificate, c.Raw)
	}
	return m, nil
}

func (k *keyring) material(id spiffeid.ID) *material { return k.current.Load().byID[id] }

// fingerprint is the form that "revoked" lists: SHA-256, lower-case hex.
func fingerprint(c *x509.Certificate) string {
	sum := sha256.Sum256(c.Raw)
	return hex.EncodeToString(sum[:])
}

// resetKey derives the key of stateless resets from a local private key, so
// that it is the same after a restart and known to nobody else (VTX-1). Where
// there is none that can be read, as in a key store, it is a new one.
func (k *keyring) resetKey() (*quic.StatelessResetKey, error) {
	var key quic.StatelessResetKey
	secret, err := k.secret()
	if err != nil {
		_, err := rand.Read(key[:])
		return &key, err
	}
	derived, err := hkdf.Key(sha256.New, secret, nil, "flor-vertex stateless reset", len(key))
	copy(key[:], derived)
	return &key, err
}

var errNoKey = errors.New("no principal has a certificate")

func (k *keyring) secret() ([]byte, error) {
	m := k.first()
	if m == nil {
		return nil, errNoKey
	}
	return x509.MarshalPKCS8PrivateKey(m.certificate.PrivateKey)
}

// first is the material of the principal whose ID sorts first.
func (k *keyring) first() *material {
	var ids []spiffeid.ID
	for id := range k.current.Load().byID {
		ids = append(ids, id)
	}
	if len(ids) == 0 {
		return nil
	}
	return k.material(slices.MinFunc(ids, func(a, b spiffeid.ID) int {
		return slices.Compare([]byte(a.String()), []byte(b.String()))
	}))
}
