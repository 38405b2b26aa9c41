package envelope_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/florete/flor/envelope"
	"github.com/florete/flor/envelope/envelopetest"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

// TestSignedTextIsWrittenByENV9 pins the producer's spelling, byte for byte.
func TestSignedTextIsWrittenByENV9(t *testing.T) {
	t.Parallel()
	ca := envelopetest.NewAuthority("rete-lovers")
	mesh := ca.CtrlSigner("mesh")
	text := mesh.SignDraft(envelope.Draft{
		Plane:            envelope.Ctrl,
		ObeysMgmtVersion: 7,
		Version:          42,
		Node:             "alpha",
		Name:             "wire",
		GeneratedAt:      time.Date(2026, 4, 20, 14, 0, 0, 999, time.FixedZone("", 2*60*60)),
		Payload: struct {
			SchemaVersion string         `json:"schema_version"`
			B             []string       `json:"b"`
			A             map[string]int `json:"a"`
			Empty         []int          `json:"empty"`
		}{"1.0", []string{"<&>"}, map[string]int{"z": 1, "a": 2}, nil},
	})
	want := `{
  "schema_version": "1.0",
  "plane": {
    "ctrl": {
      "obeys_mgmt_version": 7
    }
  },
  "version": 42,
  "node": "alpha",
  "name": "wire",
  "generated_at": "2026-04-20T12:00:00Z",
  "payload": {
    "schema_version": "1.0",
    "b": [
      "<&>"
    ],
    "a": {
      "a": 2,
      "z": 1
    },
    "empty": []
  },
  "signature": {
    "alg": "ed25519",
    "key_id": "spiffe://rete-lovers/control-plane/mesh",
    "value": "VALUE"
  }
}`
	a, err := envelope.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Replace(string(text), a.Signature.Value, "VALUE", 1)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestPayloadsGivenAsText(t *testing.T) {
	t.Parallel()
	primary := envelopetest.NewAuthority("rete-lovers").Signer("primary")
	for name, payload := range map[string]any{
		"bytes":     []byte(`{"b":1,"a":[]}`),
		"jsontext":  jsontext.Value(`{"b":1,"a":[]}`),
		"with room": []byte(" {\"b\" :1 , \"a\":[ ]}\n"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, err := envelope.Parse(primary.Sign("alpha", "wire", 1, payload))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff("{\n    \"b\": 1,\n    \"a\": []\n  }", string(a.Payload())); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// oddSigner is a key in bad hardware: it fails, or signs with another key.
type oddSigner struct {
	public crypto.PublicKey
	key    ed25519.PrivateKey
}

func (s oddSigner) Public() crypto.PublicKey { return s.public }

func (s oddSigner) Sign(r io.Reader, message []byte, opts crypto.SignerOpts) ([]byte, error) {
	if s.key == nil {
		return nil, errors.New("no such slot")
	}
	return s.key.Sign(r, message, opts)
}

func TestDraftsThatCannotBeSigned(t *testing.T) {
	t.Parallel()
	ca := envelopetest.NewAuthority("rete-lovers")
	primary, mesh := ca.Signer("primary"), ca.CtrlSigner("mesh")
	other := ca.Signer("other").Key.(ed25519.PrivateKey)
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	block := envelopetest.Block(primary)
	block.Ctrl = []envelope.Entry{mesh.Entry()}
	trust, err := ca.Anchor().TrustSet(block)
	if err != nil {
		t.Fatal(err)
	}
	good := envelope.Draft{Plane: envelope.Mgmt, Version: 1, Node: "alpha", Name: "wire", Payload: 1}
	but := func(change func(*envelope.Draft)) envelope.Draft {
		d := good
		change(&d)
		return d
	}
	tests := map[string]struct {
		draft envelope.Draft
		by    *envelopetest.Identity
		key   crypto.Signer
		want  envelope.Reason
	}{
		"a good draft":               {good, primary, primary.Key, ""},
		"no plane":                   {but(func(d *envelope.Draft) { d.Plane = "" }), primary, primary.Key, envelope.UnsignableDraft},
		"mgmt by a ctrl signer":      {good, mesh, mesh.Key, envelope.UnsignableDraft},
		"ctrl by a mgmt signer":      {but(func(d *envelope.Draft) { d.Plane = envelope.Ctrl }), primary, primary.Key, envelope.UnsignableDraft},
		"ctrl that obeys nothing":    {but(func(d *envelope.Draft) { d.Plane = envelope.Ctrl }), mesh, mesh.Key, envelope.BadVersion},
		"mgmt that obeys":            {but(func(d *envelope.Draft) { d.ObeysMgmtVersion = 1 }), primary, primary.Key, envelope.UnsignableDraft},
		"version 0":                  {but(func(d *envelope.Draft) { d.Version = 0 }), primary, primary.Key, envelope.BadVersion},
		"a version of 2^53":          {but(func(d *envelope.Draft) { d.Version = 1 << 53 }), primary, primary.Key, envelope.BadVersion},
		"an unsafe node":             {but(func(d *envelope.Draft) { d.Node = ".." }), primary, primary.Key, envelope.UnsafeName},
		"no name":                    {but(func(d *envelope.Draft) { d.Name = "" }), primary, primary.Key, envelope.UnsafeName},
		"a year of five digits":      {but(func(d *envelope.Draft) { d.GeneratedAt = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC) }), primary, primary.Key, envelope.BadTime},
		"no payload":                 {but(func(d *envelope.Draft) { d.Payload = nil }), primary, primary.Key, envelope.NullMember},
		"an inexact number":          {but(func(d *envelope.Draft) { d.Payload = []byte("1e400") }), primary, primary.Key, envelope.InexactNumber},
		"a payload that is not JSON": {but(func(d *envelope.Draft) { d.Payload = []byte("{") }), primary, primary.Key, envelope.UnsignableDraft},
		"a payload of channels":      {but(func(d *envelope.Draft) { d.Payload = make(chan int) }), primary, primary.Key, envelope.UnsignableDraft},
		"a payload too large":        {but(func(d *envelope.Draft) { d.Payload = strings.Repeat("x", envelope.MaxEnvelope) }), primary, primary.Key, envelope.TooLarge},
		"an ECDSA key":               {good, primary, ec, envelope.UnsignableDraft},
		"no key":                     {good, primary, nil, envelope.UnsignableDraft},
		"a key that fails":           {good, primary, oddSigner{public: other.Public()}, envelope.UnsignableDraft},
		"a key that is another":      {good, primary, oddSigner{primary.Cert.PublicKey, other}, envelope.BadSignature},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := envelope.Sign(tc.draft, tc.by.ID, tc.key)
			wantReason(t, err, tc.want)
			if (text != nil) != (err == nil) {
				t.Errorf("text %q with error %v", text, err)
			}
			member, err := trust.Sign(tc.draft, tc.by.ID, tc.key)
			wantReason(t, err, tc.want)
			if diff := cmp.Diff(text, member.Raw()); diff != "" {
				t.Errorf("read back (-signed +read back):\n%s", diff)
			}
		})
	}
}

// Who signs for others to believe learns at once that they would not.
func TestSigningIsReadBackAsNodesWill(t *testing.T) {
	t.Parallel()
	ca := envelopetest.NewAuthority("rete-lovers")
	listed, other := ca.Signer("primary"), ca.Signer("other")
	trust := trustOf(t, ca, listed)
	draft := envelope.Draft{Plane: envelope.Mgmt, Version: 1, Node: "alpha", Name: "wire", Payload: 1}
	for name, tc := range map[string]struct {
		id   *envelopetest.Identity
		key  crypto.Signer
		want envelope.Reason
	}{
		"a listed signer":                {listed, listed.Key, ""},
		"a signer that is not listed":    {other, other.Key, envelope.UnknownKeyID},
		"a listed signer by another key": {listed, other.Key, envelope.BadSignature},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := trust.Sign(draft, tc.id.ID, tc.key)
			wantReason(t, err, tc.want)
		})
	}
}

func trustOf(t *testing.T, ca *envelopetest.Authority, mgmt ...*envelopetest.Identity) *envelope.TrustSet {
	t.Helper()
	trust, err := ca.Anchor().TrustSet(envelopetest.Block(mgmt...))
	if err != nil {
		t.Fatal(err)
	}
	return trust
}

func TestSignedObjects(t *testing.T) {
	t.Parallel()
	ca := envelopetest.NewAuthority("rete-lovers")
	primary, mesh := ca.Signer("primary"), ca.CtrlSigner("mesh")
	block := envelopetest.Block(primary)
	block.Ctrl = []envelope.Entry{mesh.Entry()}
	set := trustSet(t, ca, block)
	sign := func(unsigned any, by *envelopetest.Identity) []byte {
		text, err := envelope.SignObject(unsigned, by.ID, by.Key)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	good := sign(map[string]any{"node": "alpha", "\u20ac\"": []int{1}}, primary)
	tests := map[string]struct {
		set  *envelope.TrustSet
		text []byte
		want envelope.Reason
	}{
		"a signed object":          {set, good, ""},
		"members in another order": {set, []byte(`{"signature":` + string(good[strings.Index(string(good), `"signature": `)+13:len(good)-1]) + `,"€\u0022":[1],"node":"alpha"}`), ""},
		"an altered member":        {set, replaceOnce(t, good, "alpha", "beta"), envelope.BadSignature},
		"a member more":            {set, replaceOnce(t, good, `"node"`, `"more":1,"node"`), envelope.BadSignature},
		"a ctrl signer":            {set, sign(map[string]int{"a": 1}, mesh), envelope.UnknownKeyID},
		"nobody to verify by":      {nil, good, envelope.NoSigners},
		"no signature":             {set, []byte(`{"a":1}`), envelope.MissingMember},
		"a null signature":         {set, []byte(`{"signature":null}`), envelope.NullMember},
		"a signature of strangers": {set, replaceOnce(t, good, `"alg"`, `"x":1,"alg"`), envelope.UnknownMember},
		"a duplicate":              {set, replaceOnce(t, good, `"node"`, `"node":"beta","node"`), envelope.DuplicateName},
		"an inexact number":        {set, replaceOnce(t, good, "alpha\"", "alpha\",\"n\":-0"), envelope.InexactNumber},
		"an array":                 {set, []byte(`[]`), envelope.NotObject},
		"too much":                 {set, []byte(strings.Repeat("x", envelope.MaxEnvelope+1)), envelope.TooLarge},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id, err := envelope.VerifyObject(tc.text, tc.set)
			wantReason(t, err, tc.want)
			if err == nil && id != primary.ID {
				t.Errorf("signed by %s", id)
			}
			if err != nil && !id.IsZero() {
				t.Errorf("a refused object is signed by %s", id)
			}
		})
	}
}

func TestObjectsThatCannotBeSigned(t *testing.T) {
	t.Parallel()
	primary := envelopetest.NewAuthority("rete-lovers").Signer("primary")
	for name, tc := range map[string]struct {
		unsigned any
		want     envelope.Reason
	}{
		"a signature already": {map[string]int{"signature": 1}, envelope.UnsignableDraft},
		"no members":          {struct{}{}, envelope.UnsignableDraft},
		"an array":            {[]int{1}, envelope.NotObject},
		"an inexact number":   {[]byte(`{"a":-0}`), envelope.InexactNumber},
		"a duplicate":         {[]byte(`{"a":1,"a":1}`), envelope.UnsignableDraft},
		"more than is read":   {map[string]string{"a": strings.Repeat("x", envelope.MaxEnvelope-100)}, envelope.TooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := envelope.SignObject(tc.unsigned, primary.ID, primary.Key)
			wantReason(t, err, tc.want)
		})
	}
}
