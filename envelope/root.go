package envelope

import (
	"slices"
	"time"
)

// Held is what a node holds of a rete's trust. Its zero value holds nothing
// and admits nothing.
type Held struct {
	Anchor  Anchor
	Signers *TrustSet // of the admitted root; nil at first enrolment
	Retired []string  // keys seen to fall out of a block, standard base64
}

// VerifyRoot verifies the root of a mgmt set for admission (ENV-12, ENV-13) and
// returns it with the trust set of its block, by which the other members are
// verified and which [Held.Adopt] takes once the set is admitted. block reads
// the trust block out of the root's payload; it is called at most once, before
// anything is verified, so the payload is hostile to it.
//
// The root must be signed by (a) a signer of the held block, or (b) a signer of
// its own block, whose authority is the pinned CA; either way the key must not
// be retired, and the signer's certificate must be valid now. The root's own
// block must be valid, list the key that signed, and no retired one.
//
// Every error is a [*Refusal]; a nil block is refused as one that reads nothing.
func (h Held) VerifyRoot(text []byte, block func(payload []byte) (Block, error), now time.Time) (Verified, *TrustSet, error) {
	a, err := Parse(text)
	if err != nil {
		return Verified{}, nil, err
	}
	by, own, err := h.verifyRoot(a, block, now)
	if err != nil {
		return Verified{}, nil, about(a.Ref(), err)
	}
	return Verified{a, by.id}, own, nil
}

func (h Held) verifyRoot(a Artifact, block func([]byte) (Block, error), now time.Time) (signer, *TrustSet, error) {
	if a.Plane != Mgmt || a.Name != AgentName {
		return signer{}, nil, refuse(NotRoot, "a root is the mgmt artifact named %s", AgentName)
	}
	form := a.Signed()
	by, byHeld := h.judge(h.Signers, a.Signature, form, now)
	own, err := h.ownBlock(a, block)
	if byHeld != nil && err == nil {
		by, err = h.judge(own, a.Signature, form, now)
	}
	switch {
	case byHeld != nil && err != nil:
		return signer{}, nil, moreTelling(byHeld, err)
	case err != nil:
		return signer{}, nil, err
	}
	return by, own, h.admits(own, by)
}

// judge lets a root's signer pass that a trust set authorises (ENV-12), that
// is not retired, and whose certificate is valid now (ENV-13).
func (h Held) judge(t *TrustSet, s Signature, form []byte, now time.Time) (signer, error) {
	by, err := t.verify(Mgmt, s, form)
	switch {
	case err != nil:
		return signer{}, err
	case slices.Contains(h.Retired, by.pubkey):
		return signer{}, refuse(SignerRetired, "the key of %s is retired on this node: sign with another signer, and list that one instead", by.id)
	case !by.validAt(now):
		return signer{}, refuse(SignerExpired, "the certificate of %s is valid from %s to %s, and it is %s: renew it, or set the clock right",
			by.id, by.cert.NotBefore.Format(timeLayout), by.cert.NotAfter.Format(timeLayout), now.UTC().Format(timeLayout))
	}
	return by, nil
}

// moreTelling picks, of the refusals by the held block and by the root's own,
// the one that helps more: that of the block which knows the signature.
func moreTelling(byHeld, byOwn error) error {
	switch reasonOf(byOwn) {
	case SignerRetired, SignerExpired:
		return byOwn
	}
	switch reasonOf(byHeld) {
	case NoSigners, UnknownKeyID:
		return byOwn
	}
	return byHeld
}

// admits refuses a root's own block that does not list the root's signer, or
// that lists a retired key (ENV-12).
func (h Held) admits(own *TrustSet, by signer) error {
	if s, ok := own.signer(Mgmt, by.id.String()); !ok || s.pubkey != by.pubkey {
		return refuse(SignerNotListed, "the root's own trust block does not list the key of %s, which signed the root", by.id)
	}
	for _, key := range own.Keys() {
		if slices.Contains(h.Retired, key) {
			return refuse(SignerRetired, "the root's trust block lists the key %s, which is retired on this node: leave it out", key)
		}
	}
	return nil
}

// ownBlock returns the valid trust set of the root's own block.
func (h Held) ownBlock(a Artifact, block func([]byte) (Block, error)) (*TrustSet, error) {
	if block == nil {
		return nil, refuse(BadRootPayload, "nothing reads the trust block out of the root's payload: the function for it is nil")
	}
	b, err := block(a.Payload())
	switch reasonOf(err) {
	case SchemaTooNew, SchemaTooOld:
		return nil, err
	}
	if err != nil {
		return nil, &Refusal{Reason: BadRootPayload, Err: err}
	}
	return h.Anchor.TrustSet(b)
}

// Adopt returns what a node holds once it has admitted a root with the trust
// set t, which [Held.VerifyRoot] returned: t replaces the held block, and keys
// that fell out of it are retired (ENV-12). It is pure: h does not change.
func (h Held) Adopt(t *TrustSet) Held {
	retired := slices.Clone(h.Retired)
	kept := t.Keys()
	for _, key := range h.Signers.Keys() {
		if !slices.Contains(kept, key) && !slices.Contains(retired, key) {
			retired = append(retired, key)
		}
	}
	return Held{Anchor: h.Anchor, Signers: t, Retired: retired}
}
