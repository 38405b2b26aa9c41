package envelope

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spiffe/go-spiffe/v2/spiffeid"
)

// Anchor is what enrolment pinned: the last authority over a rete's trust.
type Anchor struct {
	TrustDomain spiffeid.TrustDomain
	CA          *x509.Certificate
}

// Block is a trust block as a root carries it: the authorised signers of each
// plane (ENV-10). It says nothing until [Anchor.TrustSet] has found it valid.
type Block struct {
	Mgmt []Entry `json:"authorized_mgmt_signers"`
	Ctrl []Entry `json:"authorized_ctrl_signers,omitempty"`
}

// Entry is one authorised signer (ENV-10).
type Entry struct {
	SPIFFEID string `json:"spiffe_id"`
	Pubkey   string `json:"pubkey"` // Ed25519, 32 bytes, standard base64
	Cert     string `json:"cert"`   // DER, standard base64
}

// NewEntry returns the entry of a signer's certificate, which must have one
// URI SAN and an Ed25519 key. Whether it is valid in some scope is for
// [Anchor.TrustSet] to say.
func NewEntry(cert *x509.Certificate) (Entry, error) {
	id, err := soleID(cert)
	if err != nil {
		return Entry{}, err
	}
	key, ok := cert.PublicKey.(ed25519.PublicKey)
	if !ok {
		return Entry{}, refuse(BadSignerKey, "the key in the certificate of %s is not an Ed25519 key", id)
	}
	return Entry{
		SPIFFEID: id.String(),
		Pubkey:   base64.StdEncoding.EncodeToString(key),
		Cert:     base64.StdEncoding.EncodeToString(cert.Raw),
	}, nil
}

// signer is a valid entry.
type signer struct {
	id     spiffeid.ID
	key    ed25519.PublicKey
	pubkey string // key as the entry spells it
	cert   *x509.Certificate
}

// validAt tells whether the signer's certificate is within its window (ENV-13).
func (s signer) validAt(now time.Time) bool {
	return !now.Before(s.cert.NotBefore) && !now.After(s.cert.NotAfter)
}

// TrustSet is a valid trust block: who may sign for which plane. It does not
// change and may be used from several goroutines. A nil TrustSet authorises
// nobody.
type TrustSet struct {
	block Block
	mgmt  []signer
	ctrl  []signer
}

// TrustSet checks a trust block by ENV-10 against the anchor: the whole block
// is valid, or it is refused with the reason of its first fault. Validity
// windows are not judged here (ENV-13).
//
// Every error is a [*Refusal].
func (a Anchor) TrustSet(b Block) (*TrustSet, error) {
	if err := a.check(); err != nil {
		return nil, err
	}
	if len(b.Mgmt) == 0 {
		return nil, refuse(NoMgmtSigner, "the trust block authorises no mgmt signer")
	}
	mgmt, err := a.signers(Mgmt, b.Mgmt)
	if err != nil {
		return nil, err
	}
	ctrl, err := a.signers(Ctrl, b.Ctrl)
	if err != nil {
		return nil, err
	}
	if err := distinct(slices.Concat(mgmt, ctrl)); err != nil {
		return nil, err
	}
	return &TrustSet{block: b.clone(), mgmt: mgmt, ctrl: ctrl}, nil
}

// check refuses an anchor that could vouch for nobody.
func (a Anchor) check() error {
	switch {
	case a.TrustDomain.IsZero():
		return refuse(BadAnchor, "the trust anchor names no trust domain")
	case a.CA == nil:
		return refuse(BadAnchor, "the trust anchor has no CA certificate")
	case !a.CA.IsCA:
		return refuse(BadAnchor, "the certificate of the trust anchor is not that of a CA")
	}
	return nil
}

func (a Anchor) signers(plane PlaneKind, entries []Entry) ([]signer, error) {
	signers := make([]signer, 0, len(entries))
	for i, e := range entries {
		s, err := a.signer(plane, e)
		if err != nil {
			return nil, within(fmt.Sprintf("authorized_%s_signers[%d]", plane, i), err)
		}
		signers = append(signers, s)
	}
	return signers, nil
}

// signer checks one entry of the plane's list.
func (a Anchor) signer(plane PlaneKind, e Entry) (signer, error) {
	id, err := spiffeid.FromString(e.SPIFFEID)
	if err != nil {
		return signer{}, refuse(BadSignerID, "spiffe_id %q: %w", clip(e.SPIFFEID), err)
	}
	if id.TrustDomain() != a.TrustDomain || !plane.hasSigner(id) {
		return signer{}, refuse(BadSignerID, "%s cannot sign for plane %s of %s", id, plane, a.TrustDomain)
	}
	key, err := decodeBase64(e.Pubkey)
	if err != nil || len(key) != ed25519.PublicKeySize {
		return signer{}, refuse(BadSignerKey, "pubkey of %s is not %d bytes in standard base64", id, ed25519.PublicKeySize)
	}
	cert, err := a.vouchedFor(id, key, e.Cert)
	if err != nil {
		return signer{}, err
	}
	return signer{id: id, key: key, pubkey: e.Pubkey, cert: cert}, nil
}

// vouchedFor returns the certificate by which the anchor's CA vouches for an
// entry's ID and key.
func (a Anchor) vouchedFor(id spiffeid.ID, key ed25519.PublicKey, text string) (*x509.Certificate, error) {
	der, err := decodeBase64(text)
	if err != nil {
		return nil, refuse(BadSignerCert, "cert of %s is not standard base64", id)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, refuse(BadSignerCert, "cert of %s: %w", id, err)
	}
	if err := a.chains(cert); err != nil {
		return nil, refuse(BadSignerCert, "cert of %s does not chain to the pinned CA: %w", id, err)
	}
	if err := signs(cert, id, key); err != nil {
		return nil, refuse(BadSignerCert, "cert of %s %w", id, err)
	}
	return cert, nil
}

// chains refuses a certificate that the anchor's CA did not issue. Expiry is
// not judged (ENV-13): the time of the check is the first at which both
// certificates were valid.
func (a Anchor) chains(cert *x509.Certificate) error {
	roots := x509.NewCertPool()
	roots.AddCert(a.CA)
	at := cert.NotBefore
	if at.Before(a.CA.NotBefore) {
		at = a.CA.NotBefore
	}
	_, err := cert.Verify(x509.VerifyOptions{
		Roots:       roots,
		CurrentTime: at,
		KeyUsages:   []x509.ExtKeyUsage{x509.ExtKeyUsageAny},
	})
	return err
}

// signs refuses a certificate that is not that of the signer: exactly its ID
// and key, for signing and nothing else.
func signs(cert *x509.Certificate, id spiffeid.ID, key ed25519.PublicKey) error {
	if sole, err := soleID(cert); err != nil || sole != id {
		return fmt.Errorf("does not carry exactly this ID")
	}
	switch public, ok := cert.PublicKey.(ed25519.PublicKey); {
	case !ok || !bytes.Equal(public, key):
		return fmt.Errorf("is for another key than pubkey")
	case cert.IsCA:
		return fmt.Errorf("is that of a CA")
	case cert.KeyUsage&x509.KeyUsageDigitalSignature == 0:
		return fmt.Errorf("lacks the key usage digitalSignature")
	case len(cert.ExtKeyUsage)+len(cert.UnknownExtKeyUsage) > 0:
		return fmt.Errorf("has an extended key usage, which a signer's must not")
	}
	return nil
}

// soleID returns the SPIFFE ID of a certificate that has exactly one URI SAN.
func soleID(cert *x509.Certificate) (spiffeid.ID, error) {
	if cert == nil {
		return spiffeid.ID{}, refuse(BadSignerCert, "there is no certificate: it is nil")
	}
	if len(cert.URIs) != 1 {
		return spiffeid.ID{}, refuse(BadSignerCert, "the certificate has %d URI SANs instead of one", len(cert.URIs))
	}
	id, err := spiffeid.FromURI(cert.URIs[0])
	if err != nil {
		return spiffeid.ID{}, refuse(BadSignerCert, "the certificate's URI SAN: %w", err)
	}
	return id, nil
}

// distinct refuses two signers with one ID or one key.
func distinct(signers []signer) error {
	seen := make(map[string]bool, 2*len(signers))
	for _, s := range signers {
		if seen[s.id.String()] || seen[s.pubkey] {
			return refuse(DuplicateSigner, "the ID or the key of %s is listed twice", s.id)
		}
		seen[s.id.String()], seen[s.pubkey] = true, true
	}
	return nil
}

// hasSigner tells whether an ID is of the kind that signs for the plane.
func (p PlaneKind) hasSigner(id spiffeid.ID) bool {
	kind, name, _ := strings.Cut(strings.TrimPrefix(id.Path(), "/"), "/")
	if name == "" || strings.Contains(name, "/") {
		return false
	}
	return p == Mgmt && kind == "management-plane" || p == Ctrl && kind == "control-plane"
}

// Block returns the trust block. Changing it does not change the TrustSet.
func (t *TrustSet) Block() Block {
	if t == nil {
		return Block{}
	}
	return t.block.clone()
}

// Keys returns the public keys of all signers of both planes in standard
// base64, in the order of the block.
func (t *TrustSet) Keys() []string {
	if t == nil {
		return nil
	}
	var keys []string
	for _, s := range slices.Concat(t.mgmt, t.ctrl) {
		keys = append(keys, s.pubkey)
	}
	return keys
}

// signers returns who may sign for the plane.
func (t *TrustSet) signers(plane PlaneKind) []signer {
	switch {
	case t == nil:
		return nil
	case plane == Mgmt:
		return t.mgmt
	default:
		return t.ctrl
	}
}

// signer finds the signer of the plane that key_id names.
func (t *TrustSet) signer(plane PlaneKind, keyID string) (signer, bool) {
	for _, s := range t.signers(plane) {
		if s.id.String() == keyID {
			return s, true
		}
	}
	return signer{}, false
}

func (b Block) clone() Block {
	return Block{Mgmt: slices.Clone(b.Mgmt), Ctrl: slices.Clone(b.Ctrl)}
}

// decodeBase64 decodes standard base64 in its one canonical spelling.
func decodeBase64(s string) ([]byte, error) {
	b, err := base64.StdEncoding.Strict().DecodeString(s)
	if err != nil {
		return nil, err
	}
	if len(s) != base64.StdEncoding.EncodedLen(len(b)) { // the decoder skips line breaks
		return nil, fmt.Errorf("line breaks in base64")
	}
	return b, nil
}
