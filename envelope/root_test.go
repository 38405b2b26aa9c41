package envelope_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/florete/flor/envelope"
	"github.com/florete/flor/envelope/envelopetest"
	"github.com/google/go-cmp/cmp"
	"github.com/spiffe/go-spiffe/v2/spiffeid"
)

// rootPayload is the least payload that has a trust block.
type rootPayload struct {
	Trust envelope.Block `json:"trust"`
}

func readBlock(payload []byte) (envelope.Block, error) {
	var p rootPayload
	err := json.Unmarshal(payload, &p)
	return p.Trust, err
}

func signRoot(by *envelopetest.Identity, listed ...*envelopetest.Identity) []byte {
	return by.Sign("alpha", envelope.AgentName, 42, rootPayload{envelopetest.Block(listed...)})
}

// TestWhoMaySignARoot walks through ENV-12 and ENV-13.
func TestWhoMaySignARoot(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 4, 20, 12, 0, 0, 0, time.UTC)
	ca := envelopetest.NewAuthorityAt("rete-lovers", now)
	impostor := envelopetest.NewAuthorityAt("rete-lovers", now)
	primary, spare, third := ca.Signer("primary"), ca.Signer("spare"), ca.Signer("third")
	forged := impostor.Signer("forged")
	expired, early := ca.Signer("expired", envelopetest.Valid(now.Add(-4*time.Minute), now.Add(-time.Minute))), ca.Signer("early", envelopetest.NotYetValid)
	renewed := ca.IssueFor(expired.ID, expired.Key)
	rekeyed, rekeyedLate := ca.Signer("primary"), ca.Signer("primary", envelopetest.NotYetValid)
	renamed := ca.IssueFor(spare.ID, primary.Key)
	mesh := ca.CtrlSigner("mesh")

	held := ca.Held(envelopetest.Block(primary, spare))
	heldExpired := ca.Held(envelopetest.Block(expired, spare))
	first := envelope.Held{Anchor: ca.Anchor()}
	retired := func(h envelope.Held, gone ...*envelopetest.Identity) envelope.Held {
		for _, g := range gone {
			h.Retired = append(h.Retired, g.Entry().Pubkey)
		}
		return h
	}
	withCtrl := envelopetest.Block(primary)
	withCtrl.Ctrl = []envelope.Entry{mesh.Entry()}

	tests := map[string]struct {
		held envelope.Held
		text []byte
		want envelope.Reason
	}{
		// (a) the held block
		"a held signer":                                      {held, signRoot(primary, primary, spare), ""},
		"a held signer that adds a signer":                   {held, signRoot(primary, primary, spare, third), ""},
		"a held signer that drops another":                   {held, signRoot(primary, primary), ""},
		"a held signer that does not list itself":            {held, signRoot(primary, spare), envelope.SignerNotListed},
		"a held signer whose key is listed under another ID": {held, signRoot(primary, renamed), envelope.SignerNotListed},
		"a held signer, and a block without signers":         {held, signRoot(primary), envelope.NoMgmtSigner},
		"a held signer, and one forged entry":                {held, signRoot(primary, primary, forged), envelope.BadSignerCert},
		"a held signer that lists a retired key":             {retired(held, third), signRoot(primary, primary, third), envelope.SignerRetired},
		"a held signer that is retired":                      {retired(held, primary), signRoot(primary, primary), envelope.SignerRetired},
		"a held signer whose certificate expired":            {heldExpired, signRoot(expired, expired), envelope.SignerExpired},
		"a held signer beside an expired one":                {heldExpired, signRoot(spare, spare, expired), ""},
		"a held signer whose certificate was renewed":        {heldExpired, signRoot(renewed, renewed), ""},
		"a held signer that lists an entry to become valid":  {held, signRoot(primary, primary, early), ""},
		"a held signer that is retired and lists another":    {retired(held, primary), signRoot(primary, spare), envelope.SignerRetired},
		"a held signer whose ID is listed with another key":  {held, signRoot(primary, rekeyed), envelope.SignerNotListed},
		// (b) the way back
		"a new signer, listed by itself":                    {held, signRoot(third, third), ""},
		"a new signer under the ID of a held one":           {held, signRoot(rekeyed, rekeyed, spare), ""},
		"a first enrolment":                                 {first, signRoot(primary, primary), ""},
		"a new signer that does not list itself":            {held, signRoot(third, spare), envelope.UnknownKeyID},
		"a new signer of another CA":                        {held, signRoot(forged, forged), envelope.BadSignerCert},
		"a new signer of another CA that lists a held one":  {held, signRoot(forged, primary), envelope.UnknownKeyID},
		"a new signer whose certificate expired":            {held, signRoot(expired, expired), envelope.SignerExpired},
		"a new signer whose certificate is to become valid": {held, signRoot(early, early), envelope.SignerExpired},
		"a new signer that is retired":                      {retired(held, third), signRoot(third, third), envelope.SignerRetired},
		"a new signer that lists a retired key":             {retired(held, spare), signRoot(third, third, spare), envelope.SignerRetired},
		"a first enrolment that lists a retired key":        {retired(first, spare), signRoot(primary, primary, spare), envelope.SignerRetired},
		"a first enrolment of an invalid block":             {first, signRoot(primary), envelope.NoMgmtSigner},
		"a first enrolment of another CA":                   {first, signRoot(forged, forged), envelope.BadSignerCert},
		"a new signer under a held ID, to become valid":     {held, signRoot(rekeyedLate, rekeyedLate), envelope.SignerExpired},
		// what is no root
		"a member that is not named agent": {held, primary.Sign("alpha", "wire", 42, rootPayload{envelopetest.Block(primary)}), envelope.NotRoot},
		"the name in another case":         {held, primary.Sign("alpha", "Agent", 42, rootPayload{envelopetest.Block(primary)}), envelope.NotRoot},
		"a ctrl artifact with a block":     {ca.Held(withCtrl), mesh.SignDraft(envelope.Draft{Plane: envelope.Ctrl, ObeysMgmtVersion: 1, Version: 1, Node: "alpha", Name: "agent", Payload: rootPayload{withCtrl}}), envelope.NotRoot},
		"a payload without a block":        {held, primary.Sign("alpha", "agent", 42, "text"), envelope.BadRootPayload},
		"a text that does not parse":       {held, []byte("{"), envelope.NotJSON},
		"nothing pinned":                   {envelope.Held{}, signRoot(primary, primary), envelope.BadAnchor},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v, trust, err := tc.held.VerifyRoot(tc.text, readBlock, now)
			wantReason(t, err, tc.want)
			if err != nil && (v.Raw() != nil || trust != nil) {
				t.Error("a refused root yields something verified")
			}
			if err == nil && v.Core().Name != envelope.AgentName {
				t.Errorf("verified %s", v.Core().Ref())
			}
		})
	}
}

// TestAlteredRoots: a block counts for nothing when the root is not its
// signer's text.
func TestAlteredRoots(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 4, 20, 12, 0, 0, 0, time.UTC)
	ca := envelopetest.NewAuthorityAt("rete-lovers", now)
	primary, third := ca.Signer("primary"), ca.Signer("third")
	held := ca.Held(envelopetest.Block(primary))
	for name, by := range map[string]*envelopetest.Identity{"a held signer": primary, "a new signer": third} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := signRoot(by, by)
			_, _, err := held.VerifyRoot(replaceOnce(t, text, `"version": 42`, `"version": 43`), readBlock, now)
			wantReason(t, err, envelope.BadSignature)
			_, _, err = held.VerifyRoot(replaceOnce(t, text, `"ed25519"`, `"none"`), readBlock, now)
			wantReason(t, err, envelope.UnknownAlg)
		})
	}
}

func TestRootsOfANewerSchema(t *testing.T) {
	t.Parallel()
	ca := envelopetest.NewAuthority("rete-lovers")
	primary := ca.Signer("primary")
	newer := func([]byte) (envelope.Block, error) {
		return envelope.Block{}, envelope.CheckSchemaVersion("the agent payload", "1.1", "1.0")
	}
	_, _, err := ca.Held(envelopetest.Block(primary)).VerifyRoot(signRoot(primary, primary), newer, time.Now())
	wantReason(t, err, envelope.SchemaTooNew)
}

// TestBlockReaderErrorsAreKept: what the reader of the payload said stays
// within reach of errors.Is.
func TestBlockReaderErrorsAreKept(t *testing.T) {
	t.Parallel()
	ca := envelopetest.NewAuthority("rete-lovers")
	primary := ca.Signer("primary")
	unread := errors.New("not read")
	_, _, err := ca.Held(envelopetest.Block(primary)).VerifyRoot(signRoot(primary, primary), func([]byte) (envelope.Block, error) {
		return envelope.Block{}, unread
	}, time.Now())
	wantReason(t, err, envelope.BadRootPayload)
	if !errors.Is(err, unread) {
		t.Errorf("%v does not wrap the reader's error", err)
	}
}

// TestWindowOfTheSigner: the edges of validity count as valid (ENV-13).
func TestWindowOfTheSigner(t *testing.T) {
	t.Parallel()
	ca := envelopetest.NewAuthority("rete-lovers")
	primary := ca.Signer("primary")
	held, text := ca.Held(envelopetest.Block(primary)), signRoot(primary, primary)
	for name, tc := range map[string]struct {
		now  time.Time
		want envelope.Reason
	}{
		"before":    {primary.Cert.NotBefore.Add(-time.Second), envelope.SignerExpired},
		"the first": {primary.Cert.NotBefore, ""},
		"the last":  {primary.Cert.NotAfter, ""},
		"after":     {primary.Cert.NotAfter.Add(time.Second), envelope.SignerExpired},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, err := held.VerifyRoot(text, readBlock, tc.now)
			wantReason(t, err, tc.want)
		})
	}
}

// TestRotation is add, switch, retire as a node lives it, and what a stolen
// key can do then (ENV-12, ENV-13).
func TestRotation(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 4, 20, 12, 0, 0, 0, time.UTC)
	ca := envelopetest.NewAuthorityAt("rete-lovers", now)
	first, second, third := ca.Signer("first"), ca.Signer("second"), ca.Signer("third")
	held := envelope.Held{Anchor: ca.Anchor()}
	admit := func(text []byte, want envelope.Reason) {
		t.Helper()
		_, trust, err := held.VerifyRoot(text, readBlock, now)
		wantReason(t, err, want)
		if err == nil {
			held = held.Adopt(trust)
		}
	}
	retired := func(want ...*envelopetest.Identity) {
		t.Helper()
		var keys []string
		for _, i := range want {
			keys = append(keys, i.Entry().Pubkey)
		}
		if diff := cmp.Diff(keys, held.Retired); diff != "" {
			t.Fatal(diff)
		}
	}
	admit(signRoot(first, first), "")
	retired()
	admit(signRoot(first, first, second), "") // add
	retired()
	admit(signRoot(second, first, second), "") // switch
	admit(signRoot(second, second), "")        // retire
	retired(first)
	admit(signRoot(first, first), envelope.SignerRetired)
	admit(signRoot(second, first, second), envelope.SignerRetired)
	// The thief of second evicts nobody for ever: the CA lets third come in.
	admit(signRoot(third, third), "")
	retired(first, second)
	admit(signRoot(second, second), envelope.SignerRetired)
}

func TestAdoptLeavesTheOldValueAlone(t *testing.T) {
	t.Parallel()
	ca := envelopetest.NewAuthority("rete-lovers")
	primary, spare := ca.Signer("primary"), ca.Signer("spare")
	held := ca.Held(envelopetest.Block(primary, spare))
	held.Retired = append(make([]string, 0, 8), "earlier")
	next := held.Adopt(trustSet(t, ca, envelopetest.Block(spare)))
	_ = held.Adopt(trustSet(t, ca, envelopetest.Block(primary)))
	if diff := cmp.Diff([]string{"earlier", primary.Entry().Pubkey}, next.Retired); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"earlier"}, held.Retired); diff != "" {
		t.Error(diff)
	}
}

// TestRetiredCtrlKeys: keys of both planes are remembered.
func TestRetiredCtrlKeys(t *testing.T) {
	t.Parallel()
	now := time.Now()
	ca := envelopetest.NewAuthorityAt("rete-lovers", now)
	primary, mesh := ca.Signer("primary"), ca.CtrlSigner("mesh")
	block := envelopetest.Block(primary)
	block.Ctrl = []envelope.Entry{mesh.Entry()}
	held := ca.Held(block).Adopt(trustSet(t, ca, envelopetest.Block(primary)))
	_, _, err := held.VerifyRoot(primary.Sign("alpha", "agent", 2, rootPayload{block}), readBlock, now)
	wantReason(t, err, envelope.SignerRetired)
}

func TestManagementPlaneOfAnotherTrustDomain(t *testing.T) {
	t.Parallel()
	ca := envelopetest.NewAuthority("rete-lovers")
	foreign := ca.Issue(spiffeid.RequireFromString("spiffe://rete-haters/management-plane/primary"))
	_, _, err := envelope.Held{Anchor: ca.Anchor()}.VerifyRoot(signRoot(foreign, foreign), readBlock, time.Now())
	wantReason(t, err, envelope.BadSignerID)
}
