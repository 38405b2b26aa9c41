package agent

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/florete/flor/envelope"
	"github.com/florete/flor/envelope/envelopetest"
	"github.com/florete/flor/envelope/schema"
	"github.com/florete/flor/store"
	"github.com/florete/flor/supervise/control"
)

// signedBy is a set whose root has this trust block.
func (w *world) signedBy(signer *envelopetest.Identity, version uint64, block envelope.Block, members ...envelopetest.Member) []byte {
	by := *w
	by.signer = signer
	if len(members) == 0 {
		members = []envelopetest.Member{noted(version)}
	}
	return document(by.setOf("alpha", version, func(root *schema.Agent) {
		root.Trust = block
		slowPoll(root)
	}, members...))
}

// rotates hands sets in that must be applied.
func (w *world) rotates(c *control.Client, docs ...[]byte) {
	w.t.Helper()
	for i, doc := range docs {
		if got := w.sync(c, false, bytes.NewReader(doc)); got.Result != control.Applied {
			w.t.Fatalf("step %d of the rotation: %+v", i+1, got)
		}
	}
}

// refuses hands sets in that must be refused, and changes nothing.
func (w *world) refuses(c *control.Client, attacks []attack) {
	w.t.Helper()
	before := w.digest()
	for _, a := range attacks {
		got := w.sync(c, false, bytes.NewReader(a.doc))
		if got.Result != control.Refused || got.Reason != a.reason {
			w.t.Errorf("%s: %s %s: %s", a.name, got.Result, got.Reason, got.Message)
		}
		if w.digest() != before {
			w.t.Errorf("%s: something has changed on disk", a.name)
			before = w.digest()
		}
	}
}

type attack struct {
	name, reason string
	doc          []byte
}

// keyOf is an identity's key as state.json spells it.
func keyOf(i *envelopetest.Identity) string {
	return i.Entry().Pubkey
}

// retired lists the keys that a stopped node remembers as retired.
func (w *world) retired() []string {
	w.t.Helper()
	scope, err := store.Open(w.layout.State, w.scope)
	if err != nil {
		w.t.Fatal(err)
	}
	defer scope.Close()
	loaded, err := scope.Load()
	if err != nil {
		w.t.Fatal(err)
	}
	return loaded.State.Retired
}

// ENV-12, ENV-13: add, switch, retire; and what somebody may try afterwards.
func TestARotationAndTheAttacksOnIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, workloadOf("flor", behaviour{}))
	old, next, ctrl := w.signer, w.authority.Signer("next"), w.authority.CtrlSigner("controller")
	c := w.start()
	w.until(c, "all up", settled)
	added := w.signedBy(old, 2, envelopetest.Block(old, next))
	settledBlock := envelopetest.Block(next)
	settledBlock.Ctrl = []envelope.Entry{ctrl.Entry()}
	switched := w.signedBy(next, 3, envelopetest.Block(old, next))
	w.rotates(c, added, switched, w.signedBy(next, 4, settledBlock))

	intruder := envelopetest.NewAuthority("demo").Signer("intruder")
	borrowed := intruder.Entry()
	borrowed.SPIFFEID, borrowed.Cert = next.Entry().SPIFFEID, next.Entry().Cert
	twin := w.authority.IssueFor(w.authority.Signer("twin").ID, next.Key)
	posing := &envelopetest.Identity{ID: w.authority.Signer("controller").ID, Cert: ctrl.Cert, Key: ctrl.Key}
	promoted := ctrl.Entry()
	promoted.SPIFFEID = posing.ID.String()
	listing := func(entries ...envelope.Entry) envelope.Block {
		return envelope.Block{Mgmt: entries}
	}
	w.refuses(c, []attack{
		{"a root that authorises its own signer", "bad-signer-cert", w.signedBy(intruder, 5, envelopetest.Block(intruder))},
		{"a root that lends its key our certificate", "bad-signature", w.signedBy(&envelopetest.Identity{ID: next.ID, Cert: next.Cert, Key: intruder.Key}, 5, listing(borrowed))},
		{"the retired signer returns", "signer-retired", w.signedBy(old, 5, envelopetest.Block(old))},
		{"the retired signer is let back in", "signer-retired", w.signedBy(next, 5, envelopetest.Block(next, old))},
		{"two IDs with one key", "duplicate-signer", w.signedBy(next, 5, envelopetest.Block(next, twin))},
		{"the ctrl signer lists itself for mgmt", "bad-root-payload", w.signedBy(posing, 5, envelopetest.Block(next, ctrl))},
		{"the ctrl signer lists itself under a name of mgmt", "bad-signer-cert", w.signedBy(posing, 5, listing(next.Entry(), promoted))},
		{"the ctrl signer signs mgmt under its own name", "unknown-key-id", bytes.ReplaceAll(w.signedBy(posing, 5, settledBlock), []byte(posing.ID.String()), []byte(ctrl.ID.String()))},
		{"a root that does not list who signed it", "signer-not-listed", w.signedBy(next, 5, envelopetest.Block(w.authority.Signer("third")))},
		{"a replay of the set that the old signer signed", "signer-retired", added},
		{"a replay of the set that still listed the old signer", "signer-retired", switched},
	})
	w.rotates(c, w.signedBy(next, 5, settledBlock))
	if err := w.stop(); err != nil {
		t.Fatal(err)
	}
	if got := w.retired(); !slices.Equal(got, []string{keyOf(old)}) {
		t.Errorf("retired keys: %v", got)
	}
}

// ENV-10, ENV-12: whoever stole a signer's key can take out the operator's
// other signers, but brings in no key of his own, and the operator overrules him
// with a new signer.
func TestAThiefOfASignersKeyIsOverruled(t *testing.T) {
	t.Parallel()
	w := newWorld(t, workloadOf("flor", behaviour{}))
	stolen, spare, fresh := w.signer, w.authority.Signer("spare"), w.authority.Signer("fresh")
	mine := envelopetest.NewAuthority("demo").Signer("mine")
	c := w.start()
	w.until(c, "all up", settled)
	w.rotates(c, w.signedBy(stolen, 2, envelopetest.Block(stolen, spare)))
	w.refuses(c, []attack{
		{"the thief brings in a key of his own", "bad-signer-cert", w.signedBy(stolen, 3, envelopetest.Block(stolen, mine))},
		{"the thief signs what does not list him", "signer-not-listed", w.signedBy(stolen, 3, envelopetest.Block(spare))},
	})
	w.rotates(c, w.signedBy(stolen, 3, envelopetest.Block(stolen)))
	w.refuses(c, []attack{
		{"the signer that the thief took out", "signer-retired", w.signedBy(spare, 4, envelopetest.Block(spare))},
	})
	w.rotates(c, w.signedBy(fresh, 4, envelopetest.Block(fresh)))
	w.refuses(c, []attack{
		{"the thief returns", "signer-retired", w.signedBy(stolen, 5, envelopetest.Block(stolen))},
		{"the thief returns under the operator's block", "signer-retired", w.signedBy(stolen, 5, envelopetest.Block(stolen, fresh))},
		{"the set of the thief is replayed", "signer-retired", w.signedBy(stolen, 3, envelopetest.Block(stolen))},
	})
	w.rotates(c, w.signedBy(fresh, 5, envelopetest.Block(fresh)))
}

// ENV-12: a node that was away for three rotations comes back by the way back,
// and forgets nothing that it had seen.
func TestANodeThatWasAwayForThreeRotations(t *testing.T) {
	t.Parallel()
	w := newWorld(t, workloadOf("flor", behaviour{}))
	first, fourth := w.signer, w.authority.Signer("fourth")
	expired := w.authority.Signer("second", envelopetest.Expired)
	c := w.start()
	w.until(c, "all up", settled)
	w.refuses(c, []attack{
		{"a signer in between whose certificate has ended", "signer-not-valid-now", w.signedBy(expired, 20, envelopetest.Block(expired))},
	})
	w.rotates(c, w.signedBy(fourth, 40, envelopetest.Block(fourth)))
	w.refuses(c, []attack{
		{"the signer it was enrolled with", "signer-retired", w.signedBy(first, 41, envelopetest.Block(first))},
	})
}

// ENV-12, SET-6: a crash between the record and the flip of a rotation leaves
// the trust as it was, with nobody retired; the same set is admitted afterwards.
func TestACrashBetweenRecordAndFlipOfARotation(t *testing.T) {
	t.Parallel()
	again := workloadOf("flor", behaviour{Mode: "restart", Note: "again"})
	rotations := []struct {
		name string
		make func(w *world, next *envelopetest.Identity) []byte
	}{
		{"adding a signer", func(w *world, next *envelopetest.Identity) []byte {
			return w.signedBy(w.signer, 2, envelopetest.Block(w.signer, next), again)
		}},
		{"switching to a signer that retires the old one", func(w *world, next *envelopetest.Identity) []byte {
			return w.signedBy(next, 2, envelopetest.Block(next), again)
		}},
		{"overruling a thief, or coming back after three rotations", func(w *world, next *envelopetest.Identity) []byte {
			return w.signedBy(next, 40, envelopetest.Block(next), again)
		}},
	}
	for _, tt := range rotations {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, workloadOf("flor", behaviour{}))
			w.confirmWithin, w.liveness = 100*time.Millisecond, 3*time.Second // nothing is confirmed in time
			next := w.authority.Signer("next")
			doc := tt.make(w, next)
			c := w.start()
			w.until(c, "all up", settled)
			if got := w.sync(c, false, bytes.NewReader(doc)); got.Reason != string(NotConfirmed) {
				t.Fatalf("sync: %+v", got)
			}
			w.crashBeforeFlip("v1")
			w.confirmWithin, w.liveness = 0, 0
			if got := w.retired(); len(got) > 0 {
				t.Errorf("retired although the set never became active: %v", got)
			}
			c = w.start()
			status := w.until(c, "v1 again", settled)
			if status.Set.Active != 1 || status.Set.Mark != 1 || status.Set.Recovered {
				t.Errorf("set after the crash: %+v", status.Set)
			}
			w.refuses(c, []attack{
				{"somebody else", "bad-signer-cert", w.signedBy(envelopetest.NewAuthority("demo").Signer("x"), 2, envelopetest.Block(envelopetest.NewAuthority("demo").Signer("x")))},
			})
			w.rotates(c, doc)
		})
	}
}

// crashBeforeFlip stops the agent and puts the disk where a crash leaves it that
// comes after the record of a newer set and before the flip to it.
func (w *world) crashBeforeFlip(active string) {
	w.t.Helper()
	if err := w.stop(); err != nil {
		w.t.Fatal(err)
	}
	root := filepath.Join(w.layout.RetesDir(), w.scope)
	state, err := os.ReadFile(filepath.Join(root, "agent/state.json"))
	if err != nil || !strings.Contains(string(state), `"pending"`) {
		w.t.Fatalf("no pending set on record: %v\n%s", err, state)
	}
	if err := os.WriteFile(filepath.Join(root, "artifacts/mgmt/current"), []byte(active+"\n"), 0o600); err != nil {
		w.t.Fatal(err)
	}
}
