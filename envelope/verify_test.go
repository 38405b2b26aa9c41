package envelope_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/florete/flor/envelope"
	"github.com/florete/flor/envelope/envelopetest"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func trustSet(t testing.TB, ca *envelopetest.Authority, b envelope.Block) *envelope.TrustSet {
	t.Helper()
	set, err := ca.Anchor().TrustSet(b)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func TestVerifyReturnsWhatWasSigned(t *testing.T) {
	t.Parallel()
	ca := envelopetest.NewAuthority("rete-lovers")
	primary := ca.Signer("primary")
	text := primary.Sign("alpha", "wire", 42, map[string]string{"schema_version": "1.0"})
	v, err := trustSet(t, ca, envelopetest.Block(primary)).Verify(append(text, '\n'))
	if err != nil {
		t.Fatal(err)
	}
	a, err := envelope.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	got := []string{v.Core().Ref().String(), v.KeyID().String(), string(v.Raw()), string(v.Payload()), string(v.CanonicalPayload()), string(v.Canonical())}
	want := []string{"alpha/mgmt/wire", primary.ID.String(), string(text), string(a.Payload()), `{"schema_version":"1.0"}`, string(a.Canonical())}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(a.GeneratedAt, v.Artifact().GeneratedAt); diff != "" {
		t.Error(diff)
	}
}

// TestVerifyStepsInOrder is ENV-11: each step fails alone, and of a text that
// fails several steps the first is named.
func TestVerifyStepsInOrder(t *testing.T) {
	t.Parallel()
	ca := envelopetest.NewAuthority("rete-lovers")
	primary, spare, mesh := ca.Signer("primary"), ca.Signer("spare"), ca.CtrlSigner("mesh")
	both := envelopetest.Block(primary)
	both.Ctrl = []envelope.Entry{mesh.Entry()}
	set, mgmtOnly := trustSet(t, ca, both), trustSet(t, ca, envelopetest.Block(primary))

	good := string(primary.Sign("alpha", "wire", 42, map[string]string{"a": "b"}))
	ctrl := string(mesh.SignDraft(envelope.Draft{Plane: envelope.Ctrl, ObeysMgmtVersion: 1, Version: 2, Node: "alpha", Name: "wire", Payload: 1}))
	edit := func(text string, pairs ...string) string { return strings.NewReplacer(pairs...).Replace(text) }
	value := good[strings.Index(good, `"value": "`)+10 : strings.LastIndex(good, `"`)]
	primaryID, spareID := primary.ID.String(), spare.ID.String()
	tests := map[string]struct {
		set  *envelope.TrustSet
		text string
		want envelope.Reason
	}{
		"a good mgmt artifact":            {set, good, ""},
		"a good ctrl artifact":            {set, ctrl, ""},
		"too large, and no JSON":          {set, strings.Repeat("x", envelope.MaxEnvelope+1), envelope.TooLarge},
		"no JSON":                         {set, good[1:], envelope.NotJSON},
		"a newer schema, wrongly signed":  {set, edit(good, `"1.0"`, `"1.1"`), envelope.SchemaTooNew},
		"ctrl, and none is authorised":    {mgmtOnly, edit(ctrl, "ed25519", "none"), envelope.NoSigners},
		"nobody is authorised":            {nil, good, envelope.NoSigners},
		"another algorithm, unknown key":  {set, edit(good, "ed25519", "Ed25519", primaryID, spareID), envelope.UnknownAlg},
		"no algorithm":                    {set, edit(good, "ed25519", "none"), envelope.UnknownAlg},
		"an unknown key, no signature":    {set, edit(good, primaryID, spareID, value, "x"), envelope.UnknownKeyID},
		"a key ID in another case":        {set, edit(good, "management-plane/primary", "management-plane/Primary"), envelope.UnknownKeyID},
		"mgmt signed by a ctrl signer":    {set, edit(good, primaryID, mesh.ID.String()), envelope.UnknownKeyID},
		"ctrl signed by a mgmt signer":    {set, edit(ctrl, mesh.ID.String(), primaryID), envelope.UnknownKeyID},
		"a signature that is not base64":  {set, edit(good, value, "*"+value[1:]), envelope.BadSignatureForm},
		"a short signature":               {set, edit(good, value, "AAAA"), envelope.BadSignatureForm},
		"an empty signature":              {set, edit(good, value, ""), envelope.BadSignatureForm},
		"a signature without padding":     {set, edit(good, value, strings.TrimRight(value, "=")), envelope.BadSignatureForm},
		"a signature spelled otherwise":   {set, edit(good, value, respelled(value)), envelope.BadSignatureForm},
		"a signature with a line break":   {set, edit(good, value, value[:8]+`\n`+value[8:]), envelope.BadSignatureForm},
		"a signature in the URL alphabet": {set, edit(good, value, "-_"+value[2:]), envelope.BadSignatureForm},
		"a signature of something else":   {set, edit(good, value, strings.Repeat("A", 86)+"=="), envelope.BadSignature},
		"an altered payload":              {set, edit(good, `"b"`, `"c"`), envelope.BadSignature},
		"an altered version":              {set, edit(good, "42", "43"), envelope.BadSignature},
		"an altered date":                 {set, edit(good, "2026", "2027"), envelope.BadSignature},
		"an altered node":                 {set, edit(good, "alpha", "beta"), envelope.BadSignature},
		"an altered plane":                {set, edit(ctrl, `"obeys_mgmt_version":1`, `"obeys_mgmt_version":2`, `"obeys_mgmt_version": 1`, `"obeys_mgmt_version": 2`), envelope.BadSignature},
		"white space that was not there":  {set, edit(good, "\n", "\n\n"), ""},
		"an escape that was not there":    {set, edit(good, `"alpha"`, `"\u0061lpha"`), ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := tc.set.Verify([]byte(tc.text))
			wantReason(t, err, tc.want)
		})
	}
}

// TestSignThenVerifyHolds is ENV-6 as a law, over any payload.
func TestSignThenVerifyHolds(t *testing.T) {
	t.Parallel()
	ca := envelopetest.NewAuthority("rete-lovers")
	primary := ca.Signer("primary")
	set := trustSet(t, ca, envelopetest.Block(primary))
	rapid.Check(t, func(t *rapid.T) {
		payload := jsonValue(3).Filter(func(v any) bool { return v != nil }).Draw(t, "payload")
		version := rapid.Uint64Range(1, envelope.MaxVersion).Draw(t, "version")
		text := primary.Sign("alpha", "wire", version, payload)
		v, err := set.Verify(text)
		if err != nil {
			t.Fatal(err)
		}
		if v.Core().Version != version || !bytes.Equal(v.Raw(), text) {
			t.Fatalf("signed version %d became %+v", version, v.Core())
		}
		whole, err := envelope.Canonical(text)
		if err != nil || !bytes.Equal(whole, v.Canonical()) {
			t.Fatalf("canonical forms differ: %s, %s, %v", whole, v.Canonical(), err)
		}
	})
}

// jsonValue draws values that JSON holds exactly, at most depth deep.
func jsonValue(depth int) *rapid.Generator[any] {
	scalar := rapid.OneOf(
		rapid.String().AsAny(), rapid.Bool().AsAny(), rapid.Just[any](nil),
		rapid.Int64Range(-envelope.MaxVersion, envelope.MaxVersion).AsAny(),
		rapid.Float64Range(0.1, 1e30).AsAny(),
	)
	if depth == 0 {
		return scalar
	}
	return rapid.OneOf(scalar,
		rapid.SliceOfN(rapid.Deferred(func() *rapid.Generator[any] { return jsonValue(depth - 1) }), 0, 4).AsAny(),
		rapid.MapOfN(rapid.String(), rapid.Deferred(func() *rapid.Generator[any] { return jsonValue(depth - 1) }), 0, 4).AsAny(),
	)
}

// TestFlippedBits: any one flipped bit of a signed artifact either fails
// verification or leaves the canonical form as it was (ENV-7).
func TestFlippedBits(t *testing.T) {
	t.Parallel()
	ca := envelopetest.NewAuthority("rete-lovers")
	primary := ca.Signer("primary")
	set := trustSet(t, ca, envelopetest.Block(primary))
	text := primary.Sign("alpha", "wire", 42, []any{"é\n", 1.5, 9007199254740992, 1e30, true, nil, map[string]any{"b": "/", "a": -1}})
	want, err := envelope.Canonical(text)
	if err != nil {
		t.Fatal(err)
	}
	passed := 0
	for i := range text {
		for bit := range 8 {
			flipped := bytes.Clone(text)
			flipped[i] ^= 1 << bit
			v, err := set.Verify(flipped)
			if err != nil {
				continue
			}
			passed++
			if !bytes.Equal(want, v.Canonical()) {
				t.Fatalf("byte %d, bit %d: %q verifies as something else", i, bit, flipped)
			}
		}
	}
	if passed > 4*bytes.Count(text, []byte(" "))+4*bytes.Count(text, []byte("\n")) {
		t.Errorf("%d flipped texts verify, more than white space explains", passed)
	}
}

// TestReplacedBytes is the law of TestFlippedBits for any byte put anywhere.
func TestReplacedBytes(t *testing.T) {
	t.Parallel()
	ca := envelopetest.NewAuthority("rete-lovers")
	primary := ca.Signer("primary")
	set := trustSet(t, ca, envelopetest.Block(primary))
	rapid.Check(t, func(t *rapid.T) {
		text := primary.Sign("alpha", "wire", 42, jsonValue(2).Filter(func(v any) bool { return v != nil }).Draw(t, "payload"))
		want, _ := envelope.Canonical(text)
		at := rapid.IntRange(0, len(text)-1).Draw(t, "at")
		altered := bytes.Clone(text)
		altered[at] = rapid.OneOf(rapid.Byte(), rapid.SampledFrom([]byte("0123456789.eE+-\"\\ \t"))).Draw(t, "byte")
		if v, err := set.Verify(altered); err == nil && !bytes.Equal(want, v.Canonical()) {
			t.Fatalf("%q verifies as something else", altered)
		}
	})
}
