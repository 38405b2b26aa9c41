package envelope

import (
	"bytes"
	"time"
)

// Artifact is one strictly parsed, not verified artifact (ENV-1 … ENV-5,
// ENV-7, ENV-14). [Parse] makes it; the zero value is no artifact. It does not
// change and may be used from several goroutines; the slices it hands out are
// shared and must not be written to.
type Artifact struct {
	Core
	ObeysMgmtVersion uint64    // of a ctrl artifact; 0 for mgmt
	GeneratedAt      time.Time // UTC, whole seconds; nothing orders or expires by it (ENV-3)
	Signature        Signature

	raw, payload     []byte // sub-slices of the text
	canonicalPayload []byte
	unsigned, signed []byte // canonical forms without and with the signature
}

// Signature is the signature member of an artifact, as written.
type Signature struct {
	Alg   string `json:"alg"`    // "ed25519" is the only one that verifies
	KeyID string `json:"key_id"` // SPIFFE ID of the signer
	Value string `json:"value"`  // 64 bytes in standard base64 (ENV-6)
}

// Raw returns the artifact's exact text, without white space around it.
func (a Artifact) Raw() []byte { return a.raw }

// Payload returns the payload's original text (ENV-8).
func (a Artifact) Payload() []byte { return a.payload }

// CanonicalPayload returns the payload's canonical form: what is compared as
// "the payload's bytes" (ENV-8).
func (a Artifact) CanonicalPayload() []byte { return a.canonicalPayload }

// Canonical returns the canonical form of the whole artifact, its signature
// included.
func (a Artifact) Canonical() []byte { return a.signed }

// trimSpace removes JSON's white space, and no other, from both ends.
func trimSpace(text []byte) []byte { return bytes.Trim(text, " \t\r\n") }
