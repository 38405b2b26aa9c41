package envelope

import (
	"crypto/x509"
	"errors"
	"time"

	"github.com/spiffe/go-spiffe/v2/spiffeid"
)

// Anchor is what enrolment pinned.
type Anchor struct {
	TrustDomain spiffeid.TrustDomain
	CA          *x509.Certificate
}

// Block is a trust block: the authorised signers of each plane (ENV-10).
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

// TrustSet is a valid trust block.
type TrustSet struct{ block Block }

// Verified is an artifact whose signature was verified.
type Verified struct{ artifact Artifact }

// Held is what a node holds of a rete's trust.
type Held struct {
	Anchor  Anchor
	Signers *TrustSet // nil at first enrolment
	Retired []string  // public keys, standard base64
}

func NewEntry(cert *x509.Certificate) (Entry, error) { return Entry{}, errors.ErrUnsupported }
func (a Anchor) TrustSet(b Block) (*TrustSet, error) { return nil, errors.ErrUnsupported }
func (t *TrustSet) Verify(text []byte) (Verified, error) {
	return Verified{}, errors.ErrUnsupported
}
func (t *TrustSet) Block() Block              { return t.block }
func (t *TrustSet) Keys(p PlaneKind) []string { return nil }
func (v Verified) Core() Core                 { return v.artifact.Core }
func (v Verified) Raw() []byte                { return v.artifact.raw }
func (v Verified) Payload() []byte            { return v.artifact.payload }
func (v Verified) Canonical() []byte          { return v.artifact.signed }
func (v Verified) CanonicalPayload() []byte   { return v.artifact.canonicalPayload }
func (v Verified) Artifact() Artifact         { return v.artifact }
func (v Verified) KeyID() spiffeid.ID         { return spiffeid.ID{} }
func (h Held) VerifyRoot(text []byte, block func(payload []byte) (Block, error), now time.Time) (Verified, *TrustSet, error) {
	return Verified{}, nil, errors.ErrUnsupported
}
func (h Held) Adopt(t *TrustSet) Held { return h }
