package envelope_test

import (
	"errors"
	"testing"
	"time"

	"github.com/florete/flor/envelope"
	"github.com/florete/flor/envelope/envelopetest"
)

// TestMisuseIsToldAndNoPanic: what a program forgot to give is refused in words.
func TestMisuseIsToldAndNoPanic(t *testing.T) {
	t.Parallel()
	authority := envelopetest.NewAuthority("demo")
	signer := authority.Signer("operator")
	root := signer.Sign("alpha", envelope.AgentName, 1, authority.AgentPayload("alpha", envelopetest.Block(signer)))
	anchor := envelope.Anchor{TrustDomain: authority.TrustDomain, CA: authority.CA}
	for name, tt := range map[string]struct {
		call func() error
		want envelope.Reason
	}{
		"a root whose block nobody reads": {func() error {
			_, _, err := envelope.Held{Anchor: anchor}.VerifyRoot(root, nil, time.Now())
			return err
		}, envelope.BadRootPayload},
		"an entry of no certificate": {func() error {
			_, err := envelope.NewEntry(nil)
			return err
		}, envelope.BadSignerCert},
		"a signature without a key": {func() error {
			_, err := envelope.SignObject(map[string]int{"a": 1}, signer.ID, nil)
			return err
		}, envelope.UnsignableDraft},
		"an object that nobody is trusted for": {func() error {
			_, err := envelope.VerifyObject(root, nil)
			return err
		}, envelope.NoSigners},
		"an anchor of nothing": {func() error {
			_, err := envelope.Anchor{}.TrustSet(envelopetest.Block(signer))
			return err
		}, envelope.BadAnchor},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refusal, ok := errors.AsType[*envelope.Refusal](tt.call())
			if !ok || refusal.Reason != tt.want {
				t.Errorf("got %v, want %s", refusal, tt.want)
			}
		})
	}
}
