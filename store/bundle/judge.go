package bundle

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/florete/flor/envelope"
	"github.com/florete/flor/envelope/schema"
	"github.com/florete/flor/store"
)

// judge finds out what there is, and decides what the bundle does to it.
func (i *Installation) judge() error {
	err := i.look()
	if refusal, ok := errors.AsType[*store.Refusal](err); ok && refusal.Reason == store.NotEnrolled {
		return nil
	}
	i.Kind = Again
	if i.o.Force {
		i.Kind = Replaced
	}
	if i.Before == nil {
		return i.judgeUnreadable(err)
	}
	return i.b.judgeHolding(i.Before, i.o)
}

// look reads what the scope holds.
func (i *Installation) look() error {
	s, err := store.Open(i.stateDir, i.scope)
	if err != nil {
		return err
	}
	i.Before, err = s.Holding()
	return errors.Join(err, s.Close())
}

// judgeUnreadable lets only force replace what nobody can tell anything of. A
// scope of a newer flor is not damaged: it is told as that.
func (i *Installation) judgeUnreadable(err error) error {
	if i.o.Force {
		return nil
	}
	if refusal, ok := errors.AsType[*store.Refusal](err); ok && refusal.Reason == store.StateTooNew {
		return err
	}
	return refuse(OtherEnrolment, "scope %s cannot be read: %w: enrol under another name with --as, or replace the scope with --force", i.scope, err)
}

// judgeHolding decides by values alone whether the bundle may follow on what a
// scope holds (BND-3).
func (b *Bundle) judgeHolding(h *store.Holding, o Options) error {
	differences := b.differences(h)
	if len(differences) > 0 {
		if o.Force {
			return nil
		}
		return refuse(OtherEnrolment, "scope %s has %s: enrol under another name with --as, or replace the scope with --force",
			h.Scope, strings.Join(differences, " and "))
	}
	if o.Force {
		return b.judgeForce(h, o)
	}
	if err := b.followedBy(h.Held, o.Now); err != nil {
		return err
	}
	return h.Check(b.Set, o.ResetMark)
}

// judgeForce keeps force from giving up the mark of the very same node without
// anybody having said so.
func (b *Bundle) judgeForce(h *store.Holding, o Options) error {
	if b.SetVersion >= h.Mark {
		return nil
	}
	return h.Check(b.Set, o.ResetMark)
}

// differences tells what makes the bundle another enrolment than the scope's.
func (b *Bundle) differences(h *store.Holding) []string {
	var found []string
	if got := h.Held.Anchor.TrustDomain; got != b.TrustDomain {
		found = append(found, fmt.Sprintf("the trust domain %s (the bundle %s)", got.Name(), b.TrustDomain.Name()))
	}
	if !h.Held.Anchor.CA.Equal(b.CA) {
		found = append(found, "another CA")
	}
	switch h.Node {
	case b.Node:
	case "":
		found = append(found, "no set that tells which node it is")
	default:
		found = append(found, fmt.Sprintf("the node %s (the bundle %s)", h.Node, b.Node))
	}
	return found
}

// followedBy verifies set and manifest by ENV-12: by what is held, or by the way
// back. Both carry one trust block, and Read has found the manifest's signer in
// it; what is left to judge of that signer is whether he is retired here.
func (b *Bundle) followedBy(held envelope.Held, now time.Time) error {
	if _, err := schema.VerifySet(held, b.Node, b.texts(), now); err != nil {
		return refuse(NotTrustedHere, "%w", err)
	}
	if slices.Contains(held.Retired, b.signer.Pubkey) {
		return refuse(NotTrustedHere, "the key of %s, which signed the manifest, is retired here: sign with another signer", b.SignedBy)
	}
	return nil
}

// texts are the artifacts of the set.
func (b *Bundle) texts() [][]byte {
	texts := make([][]byte, 0, len(b.Set.Members))
	for _, m := range b.Set.Members {
		texts = append(texts, m.Raw())
	}
	return texts
}
