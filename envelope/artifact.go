package envelope

import "time"

// Artifact is one strictly parsed, not verified artifact (ENV-1 … ENV-5,
// ENV-7, ENV-14). [Parse] makes it; the zero value is no artifact. It does not
// change and may be used from several goroutines; the slices it hands out are
// shared and must not be written to.
type Artifact struct {
	Core
	ObeysMgmtVersion uint64    // of a ctrl artifact, 1 … MaxVersion; 0 for mgmt
	GeneratedAt      time.Time // UTC, whole seconds; nothing orders or expires by it (ENV-3)
	Signature        Signature

	raw, payload     []byte // sub-slices of the text
	canonicalPayload []byte
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

// Canonical returns the RFC 8785 form of the whole artifact, its signature
// included. It is composed anew at each call.
func (a Artifact) Canonical() []byte { return a.canonical(true) }

// Signed returns the bytes that the signature is over: the RFC 8785 form of
// the artifact without its signature member (ENV-6). It is composed anew at
// each call.
func (a Artifact) Signed() []byte { return a.canonical(false) }
