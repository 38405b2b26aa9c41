package envelope

import (
	"bytes"
	"crypto"
	"crypto/ed25519"
	"encoding/base64"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spiffe/go-spiffe/v2/spiffeid"
)

// algorithm is the only signature algorithm (ENV-6).
const algorithm = "ed25519"

// Draft is an artifact before it is signed.
type Draft struct {
	Plane            PlaneKind
	ObeysMgmtVersion uint64    // of a ctrl artifact; must be 0 for mgmt
	Version          uint64    // 1 … MaxVersion
	Node, Name       string    // safe by ENV-4
	GeneratedAt      time.Time // cut to whole seconds, written in UTC
	// Payload is marshalled in the order of its fields, maps sorted by key;
	// []byte and jsontext.Value are taken as JSON text.
	Payload any
}

// wire is an artifact without signature, members in the order of ENV-9.
type wire struct {
	SchemaVersion string         `json:"schema_version"`
	Plane         jsontext.Value `json:"plane"`
	Version       uint64         `json:"version"`
	Node          string         `json:"node"`
	Name          string         `json:"name"`
	GeneratedAt   string         `json:"generated_at"`
	Payload       any            `json:"payload"`
}

// Sign makes the artifact of a draft, signed as id with an Ed25519 key (ENV-6),
// written by ENV-9 without the newline that a file ends with. The key may sit
// in hardware: it is asked to sign once, and the result is verified and parsed
// before it is returned.
//
// A draft that would not parse is refused with the reason that [Parse] gives;
// an id that is not of the draft's plane or a key that is not Ed25519 with
// [UnsignableDraft].
func Sign(d Draft, id spiffeid.ID, key crypto.Signer) ([]byte, error) {
	s, err := d.sign(id, key)
	if err != nil {
		return nil, about(d.ref(), err)
	}
	if err := s.verify(); err != nil {
		return nil, about(d.ref(), err)
	}
	if _, err := Parse(s.text); err != nil {
		return nil, about(d.ref(), err)
	}
	return s.text, nil
}

// Sign signs a draft as the function of that name does, and reads it back as
// whoever trusts t would: besides what that one refuses, it refuses what
// [TrustSet.Verify] does. It costs one verification, and not two.
func (t *TrustSet) Sign(d Draft, id spiffeid.ID, key crypto.Signer) (Verified, error) {
	s, err := d.sign(id, key)
	if err != nil {
		return Verified{}, about(d.ref(), err)
	}
	return t.Verify(s.text)
}

func (d Draft) ref() Ref { return Ref{Node: d.Node, Plane: d.Plane, Name: d.Name} }

func (d Draft) sign(id spiffeid.ID, key crypto.Signer) (signed, error) {
	if !d.Plane.hasSigner(id) {
		return signed{}, refuse(UnsignableDraft, "%s cannot sign for plane %q", id, d.Plane)
	}
	if d.Plane == Mgmt && d.ObeysMgmtVersion != 0 {
		return signed{}, refuse(UnsignableDraft, "a mgmt artifact obeys no mgmt version")
	}
	return signObject(d.wire(), id, key)
}

func (d Draft) wire() wire {
	w := wire{
		SchemaVersion: SchemaVersion,
		Version:       d.Version,
		Node:          d.Node,
		Name:          d.Name,
		GeneratedAt:   d.GeneratedAt.UTC().Format(timeLayout),
		Payload:       d.Payload,
	}
	w.Plane = Artifact{Core: Core{Plane: d.Plane}, ObeysMgmtVersion: d.ObeysMgmtVersion}.appendPlane(nil)
	if text, ok := d.Payload.([]byte); ok {
		w.Payload = jsontext.Value(text)
	}
	return w
}

// SignObject signs any JSON object the way ENV-6 signs an artifact: unsigned is
// marshalled by ENV-9 ([]byte and jsontext.Value are taken as JSON text) and
// gets a member "signature" at its end, over the RFC 8785 form of the rest.
// The enrolment bundle's manifest is signed like this. What [VerifyObject] would
// not read, being over [MaxEnvelope], is refused.
func SignObject(unsigned any, id spiffeid.ID, key crypto.Signer) ([]byte, error) {
	s, err := signObject(unsigned, id, key)
	if err != nil {
		return nil, err
	}
	if err := s.verify(); err != nil {
		return nil, err
	}
	return withinLimit(s.text, MaxEnvelope)
}

// signed is an object with a signature that nobody has verified yet: a key in
// hardware may have made anything of it.
type signed struct {
	text      []byte // with the signature
	form      []byte // what was signed
	signature Signature
	key       ed25519.PublicKey
}

func (s signed) verify() error { return s.signature.verify(s.key, s.form) }

func signObject(unsigned any, id spiffeid.ID, key crypto.Signer) (signed, error) {
	text, err := marshal(unsigned)
	if err != nil {
		return signed{}, &Refusal{Reason: UnsignableDraft, Err: err}
	}
	o, err := strictScanner(text).object()
	if err != nil {
		return signed{}, err
	}
	if _, ok := o.get("signature"); ok || len(o) == 0 {
		return signed{}, refuse(UnsignableDraft, "only an object with members, and without a signature, can be signed")
	}
	s := signed{}
	if s.form, err = canonicalValue(text); err != nil {
		return signed{}, err
	}
	if s.signature, s.key, err = sign(s.form, id, key); err != nil {
		return signed{}, err
	}
	s.text, err = appendSignature(text, s.signature)
	return s, err
}

// sign signs the canonical form.
func sign(form []byte, id spiffeid.ID, key crypto.Signer) (Signature, ed25519.PublicKey, error) {
	if key == nil {
		return Signature{}, nil, refuse(UnsignableDraft, "there is no key to sign as %s: it is nil", id)
	}
	public, ok := key.Public().(ed25519.PublicKey)
	if !ok {
		return Signature{}, nil, refuse(UnsignableDraft, "the key of %s is not an Ed25519 key", id)
	}
	value, err := key.Sign(nil, form, crypto.Hash(0))
	if err != nil {
		return Signature{}, nil, refuse(UnsignableDraft, "signing as %s: %w", id, err)
	}
	return Signature{Alg: algorithm, KeyID: id.String(), Value: base64.StdEncoding.EncodeToString(value)}, public, nil
}

// marshal writes a value by ENV-9, without the newline at the end.
func marshal(value any) ([]byte, error) {
	if text, ok := value.([]byte); ok {
		value = jsontext.Value(text)
	}
	return json.Marshal(value, jsontext.WithIndent(indent), json.Deterministic(true))
}

const indent = "  "

// appendSignature inserts the signature before the brace that ends the object.
func appendSignature(text []byte, s Signature) ([]byte, error) {
	signature, err := json.Marshal(s, jsontext.WithIndent(indent), jsontext.WithIndentPrefix(indent))
	if err != nil {
		return nil, &Refusal{Reason: UnsignableDraft, Err: err}
	}
	text = bytes.TrimSuffix(text, []byte("\n}"))
	text = append(text, ",\n"+indent+`"signature": `...)
	return append(append(text, signature...), "\n}"...), nil
}

// VerifyObject verifies what [SignObject] made: any strict JSON object (ENV-1,
// ENV-7) with a closed member "signature" by a mgmt signer of t, and returns
// who signed. Whether the other members are those that are due is for the
// caller to say.
//
// Every error is a [*Refusal].
func VerifyObject(text []byte, t *TrustSet) (spiffeid.ID, error) {
	text, err := withinLimit(text, MaxEnvelope)
	if err != nil {
		return spiffeid.ID{}, err
	}
	o, err := strictScanner(text).object()
	if err != nil {
		return spiffeid.ID{}, err
	}
	if err := o.has("a signed object", []string{"signature"}); err != nil {
		return spiffeid.ID{}, err
	}
	r := reader{object: o}
	s := r.signature()
	if r.err != nil {
		return spiffeid.ID{}, r.err
	}
	form, err := canonicalValue(o.without("signature"))
	if err != nil {
		return spiffeid.ID{}, err
	}
	by, err := t.verify(Mgmt, s, form)
	return by.id, err
}

// without writes the object again without one member.
func (o object) without(name string) []byte {
	text := []byte{'{'}
	for _, m := range o {
		if m.name == name {
			continue
		}
		if len(text) > 1 {
			text = append(text, ',')
		}
		text = append(append(appendText(text, m.name), ':'), m.value...)
	}
	return append(text, '}')
}
