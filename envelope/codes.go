package envelope

import (
	"errors"
	"fmt"
)

// Reason is why a text, a signature or a trust block was refused. The list is
// closed: every [Refusal] of this package carries one of the constants below.
type Reason string

// Reasons a text is refused for (ENV-1 … ENV-5, ENV-7, ENV-14, ENV-16, ENV-17).
const (
	TooLarge         Reason = "too-large"
	NotJSON          Reason = "not-json"
	DuplicateName    Reason = "duplicate-name"
	NameCase         Reason = "name-case"
	TooDeep          Reason = "too-deep"
	NotObject        Reason = "not-an-object"
	UnknownMember    Reason = "unknown-member"
	MissingMember    Reason = "missing-member"
	NullMember       Reason = "null-member"
	WrongType        Reason = "wrong-type"
	BadPlane         Reason = "bad-plane"
	BadVersion       Reason = "bad-version"
	UnsafeName       Reason = "unsafe-name"
	BadTime          Reason = "bad-time"
	InexactNumber    Reason = "inexact-number"
	BadSchemaVersion Reason = "bad-schema-version"
	SchemaTooNew     Reason = "schema-too-new"
	SchemaTooOld     Reason = "schema-too-old"
	EmptySet         Reason = "empty-set"
	BadSignatureForm Reason = "bad-signature-form"
	UnsignableDraft  Reason = "unsignable-draft"
)

// Reasons a signature or a trust block is refused for (ENV-6, ENV-10 … ENV-13).
const (
	NoSigners       Reason = "no-signers"
	UnknownAlg      Reason = "unknown-alg"
	UnknownKeyID    Reason = "unknown-key-id"
	BadSignature    Reason = "bad-signature"
	SignerRetired   Reason = "signer-retired"
	SignerExpired   Reason = "signer-not-valid-now"
	SignerNotListed Reason = "signer-not-listed"
	NotRoot         Reason = "not-a-root"
	BadRootPayload  Reason = "bad-root-payload"
	BadAnchor       Reason = "bad-anchor"
	NoMgmtSigner    Reason = "no-mgmt-signer"
	BadSignerID     Reason = "bad-signer-id"
	BadSignerKey    Reason = "bad-signer-key"
	BadSignerCert   Reason = "bad-signer-cert"
	DuplicateSigner Reason = "duplicate-signer"
)

// codes gives each reason its stable code and its meaning in one line.
var codes = map[Reason]struct{ code, meaning string }{
	TooLarge:         {"FL1001", "the text is larger than the limit for its kind"},
	NotJSON:          {"FL1002", "the text is not one JSON text in UTF-8"},
	DuplicateName:    {"FL1003", "an object has two members of one name"},
	NameCase:         {"FL1004", "a member name differs from a known name by case only"},
	TooDeep:          {"FL1005", "objects and arrays are nested too deeply"},
	NotObject:        {"FL1006", "the text is JSON, but not an object"},
	UnknownMember:    {"FL1007", "a closed object has a member that it does not define"},
	MissingMember:    {"FL1008", "a required member is absent"},
	NullMember:       {"FL1009", "a member is null"},
	WrongType:        {"FL1010", "a member has the wrong JSON type"},
	BadPlane:         {"FL1011", "the plane is neither mgmt nor ctrl"},
	BadVersion:       {"FL1012", "a version is not a plain integer from 1 to 2^53-1"},
	UnsafeName:       {"FL1013", "a node or artifact name is not a safe path component"},
	BadTime:          {"FL1014", "generated_at is not a date written YYYY-MM-DDTHH:MM:SSZ"},
	InexactNumber:    {"FL1015", "a number does not denote exactly what its canonical form denotes"},
	BadSchemaVersion: {"FL1016", "a schema_version is not written MAJOR.MINOR"},
	SchemaTooNew:     {"FL1017", "the schema_version is newer than this program reads"},
	SchemaTooOld:     {"FL1018", "the schema_version is older than this program reads"},
	EmptySet:         {"FL1019", "a set document without members"},
	BadSignatureForm: {"FL1020", "the signature's value is not 64 bytes in canonical base64"},
	UnsignableDraft:  {"FL1021", "a draft that cannot become a valid artifact"},

	NoSigners:       {"FL1101", "nobody is authorised to sign for the artifact's plane"},
	UnknownAlg:      {"FL1102", "the signature algorithm is not ed25519"},
	UnknownKeyID:    {"FL1103", "key_id names nobody who is authorised for the plane"},
	BadSignature:    {"FL1104", "the signature does not match the artifact"},
	SignerRetired:   {"FL1105", "a signing key that this node has seen retired"},
	SignerExpired:   {"FL1106", "the signer's certificate is not valid now"},
	SignerNotListed: {"FL1107", "a root's trust block does not list the key that signed the root"},
	NotRoot:         {"FL1108", "the artifact cannot be a root: not mgmt, or not named agent"},
	BadRootPayload:  {"FL1109", "the root's payload does not yield a trust block"},
	BadAnchor:       {"FL1110", "the scope's trust anchor cannot be used"},
	NoMgmtSigner:    {"FL1111", "a trust block without a mgmt signer"},
	BadSignerID:     {"FL1112", "a signer's SPIFFE ID is not of this trust domain and plane"},
	BadSignerKey:    {"FL1113", "a signer's public key is not 32 bytes in canonical base64"},
	BadSignerCert:   {"FL1114", "a signer's certificate does not vouch for its entry"},
	DuplicateSigner: {"FL1115", "two signers of a trust block share an ID or a key"},
}

// Code returns the reason's stable code, such as "FL1104"; a word that is not in
// the list has none.
func (r Reason) Code() string { return codes[r].code }

// Codes maps every code this package raises to its reason and its meaning, in
// one line.
func Codes() map[string]string {
	m := make(map[string]string, len(codes))
	for reason, c := range codes {
		m[c.code] = string(reason) + ": " + c.meaning
	}
	return m
}

// Refusal says that an input was understood and turned down. It is the one
// error type of this package (ENV-11); match it with [errors.As].
type Refusal struct {
	// Reason is one of the closed list of constants of this package.
	Reason Reason
	// Artifact is the artifact that was refused, as far as it was known by
	// then; its zero value means unknown.
	Artifact Ref
	// Err says what exactly was wrong, in words. It is never nil.
	Err error
}

// Error prints code, reason, artifact and words.
func (r *Refusal) Error() string {
	if r.Artifact == (Ref{}) {
		return fmt.Sprintf("%s %s: %v", r.Code(), r.Reason, r.Err)
	}
	return fmt.Sprintf("%s %s: %s: %v", r.Code(), r.Reason, r.Artifact, r.Err)
}

// Code returns the stable code of the reason.
func (r *Refusal) Code() string { return r.Reason.Code() }

// Unwrap returns the cause.
func (r *Refusal) Unwrap() error { return r.Err }

// reasonOf returns the reason of a Refusal, and "" for any other error.
func reasonOf(err error) Reason {
	var r *Refusal
	if errors.As(err, &r) {
		return r.Reason
	}
	return ""
}

// refuse makes a Refusal whose artifact is not known (yet).
func refuse(reason Reason, format string, args ...any) error {
	return &Refusal{Reason: reason, Err: fmt.Errorf(format, args...)}
}

// about names the artifact in a refusal that does not know it yet.
func about(ref Ref, err error) error {
	var r *Refusal
	if !errors.As(err, &r) || r.Artifact != (Ref{}) {
		return err
	}
	named := *r
	named.Artifact = ref
	return &named
}

// within says in which place a refusal arose.
func within(place string, err error) error {
	var r *Refusal
	if !errors.As(err, &r) {
		return err
	}
	placed := *r
	placed.Err = fmt.Errorf("%s: %w", place, r.Err)
	return &placed
}
