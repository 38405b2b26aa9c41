package envelope

import (
	"crypto/ed25519"

	"github.com/spiffe/go-spiffe/v2/spiffeid"
)

// Verified is an artifact whose signature was verified (ENV-11). Only
// [TrustSet.Verify] and [Held.VerifyRoot] make one; the zero value has an empty
// core and stands for nothing. It does not change and may be used from several
// goroutines; the slices it hands out are shared and must not be written to.
type Verified struct {
	artifact Artifact
	keyID    spiffeid.ID
}

// Core returns the routing core.
func (v Verified) Core() Core { return v.artifact.Core }

// Artifact returns the parsed artifact.
func (v Verified) Artifact() Artifact { return v.artifact }

// Raw returns the artifact's exact text (ENV-8).
func (v Verified) Raw() []byte { return v.artifact.Raw() }

// Payload returns the payload's original text (ENV-8).
func (v Verified) Payload() []byte { return v.artifact.Payload() }

// CanonicalPayload returns the payload's canonical form (ENV-8).
func (v Verified) CanonicalPayload() []byte { return v.artifact.CanonicalPayload() }

// Canonical returns the RFC 8785 form of the artifact, signature included.
func (v Verified) Canonical() []byte { return v.artifact.Canonical() }

// KeyID returns who signed.
func (v Verified) KeyID() spiffeid.ID { return v.keyID }

// Verify reads and verifies one artifact (ENV-11). The steps, of which the
// first that fails is the refusal's reason: size; strict parse; schema gate;
// the plane has signers; algorithm; key_id is one of them; signature. Whether
// the signer's certificate is valid now is not asked: that is judged once, at
// the admission of a root (ENV-13).
//
// Every error is a [*Refusal].
func (t *TrustSet) Verify(text []byte) (Verified, error) {
	a, err := Parse(text)
	if err != nil {
		return Verified{}, err
	}
	by, err := t.verify(a.Plane, a.Signature, a.Signed())
	if err != nil {
		return Verified{}, about(a.Ref(), err)
	}
	return Verified{a, by.id}, nil
}

// verify verifies a signature over a canonical form for a plane, and returns
// the signer.
func (t *TrustSet) verify(plane PlaneKind, s Signature, form []byte) (signer, error) {
	if len(t.signers(plane)) == 0 {
		return signer{}, refuse(NoSigners, "nobody is authorised to sign for plane %s", plane)
	}
	if err := s.checkAlg(); err != nil {
		return signer{}, err
	}
	by, ok := t.signer(plane, s.KeyID)
	if !ok {
		return signer{}, unknownKeyID(plane, s)
	}
	if err := s.verify(by.key, form); err != nil {
		return signer{}, err
	}
	return by, nil
}

func (s Signature) checkAlg() error {
	if s.Alg != algorithm {
		return refuse(UnknownAlg, "signature algorithm %q is not %s", clip(s.Alg), algorithm)
	}
	return nil
}

// verify verifies the signature by one key.
func (s Signature) verify(key ed25519.PublicKey, form []byte) error {
	value, err := decodeBase64(s.Value)
	if err != nil || len(value) != ed25519.SignatureSize {
		return refuse(BadSignatureForm, "the signature's value is not %d bytes in standard base64", ed25519.SignatureSize)
	}
	if !ed25519.Verify(key, form, value) {
		return refuse(BadSignature, "the signature as %s does not match: the text was altered, or signed with another key", clip(s.KeyID))
	}
	return nil
}

func unknownKeyID(plane PlaneKind, s Signature) error {
	return refuse(UnknownKeyID, "%q is not authorised to sign for plane %s", clip(s.KeyID), plane)
}
