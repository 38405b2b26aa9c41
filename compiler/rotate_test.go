package compiler

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/florete/flor/envelope"
	"github.com/florete/flor/envelope/schema"
)

// pupil is a node that fetches now and then, and remembers what it was shown.
type pupil struct {
	w    *world
	name string
	held envelope.Held
	took []uint64
}

func (w *world) pupil(name string) *pupil {
	return &pupil{w: w, name: name, held: envelope.Held{Anchor: envelope.Anchor{TrustDomain: loversTD, CA: w.authority.Certificate()}}}
}

// fetch takes the node's compiled set as an agent does, and says who signed it.
func (p *pupil) fetch(t *testing.T) (signer string) {
	t.Helper()
	set, err := schema.VerifySet(p.held, p.name, p.w.members(p.name), p.w.now)
	if err != nil {
		t.Fatalf("%s refuses the set: %v", p.name, err)
	}
	p.held = p.held.Adopt(set.Trust)
	p.took = append(p.took, set.Version)
	return signerName(set.Members[0].KeyID().String())
}

func (w *world) members(node string) [][]byte {
	w.t.Helper()
	files, err := readSet(w.fsys(), node)
	if err != nil {
		w.t.Fatal(err)
	}
	return files.members()
}

// publish records the compiled tree as published, as after a coordinator took it.
func (w *world) publish() {
	w.t.Helper()
	doc, err := OpenDocument(w.dir)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := doc.Published(); err != nil {
		w.t.Fatal(err)
	}
	if err := doc.Close(); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) rotation() *Rotation {
	w.t.Helper()
	loaded, err := Load(w.source())
	if err != nil {
		w.t.Fatal(err)
	}
	r, err := ReadRotation(loaded, w.dir)
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// list puts the listing that the tool prints into the YAML.
func (w *world) list(listing string) {
	w.t.Helper()
	before := w.read("rete.yaml")
	start := strings.Index(before, "keys: [")
	end := start + strings.Index(before[start:], "]") + 1
	w.write("rete.yaml", before[:start]+listing+before[end:])
}

// wantNext asserts what the tool says beforehand.
func (w *world) wantNext(t *testing.T, part string) {
	t.Helper()
	if next := w.rotation().Next(); !strings.Contains(next, part) || part == "" && next != "" {
		t.Errorf("next: %q, want it to speak of %q", next, part)
	}
}

// refuses asserts that a step is not to be taken yet.
func (w *world) refuses(t *testing.T, step Step, name, part string) {
	t.Helper()
	err := w.rotation().Check(step, name)
	if !IsRefused(err, ReasonStepSkipped) || !strings.Contains(err.Error(), part) {
		t.Errorf("%s %s: got %v, want a refusal that speaks of %q", step, name, err, part)
	}
}

const spareCert = "certs/management-planes/spare.crt"

// ENV-13, ENV-12: a signer is exchanged over three publishes. One node takes
// each of them, one misses the first two; nobody is stranded, and at each point
// the tool says where things are and refuses what is not due.
func TestASignerIsRotatedInThreeSteps(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.compile()
	present, away := w.pupil("alpha"), w.pupil("laptop")
	present.fetch(t)
	away.fetch(t)
	w.wantNext(t, "retectl publish: the sets of alpha, beta, laptop, mgmt01")
	w.publish()
	w.wantNext(t, "")
	w.refuses(t, StepRetire, "primary", "only signer")

	// add
	w.now = w.now.Add(time.Hour)
	w.addSigner("spare")
	r := w.rotation()
	if err := r.Check(StepAdd, "spare"); err != nil {
		t.Fatal(err)
	}
	w.list(r.Listing(StepAdd, "spare", spareCert))
	w.refuses(t, StepAdd, "spare", "switch spare")
	w.wantNext(t, "retectl compile, then")
	w.refuses(t, StepSwitch, "spare", "4 of 4 compiled sets do not list spare")
	w.compile()
	w.refuses(t, StepSwitch, "spare", "4 of 4 published sets do not yet list spare")
	w.wantNext(t, "retectl publish")
	w.publish()
	w.wantNext(t, "ca rotate-signer switch spare")
	w.refuses(t, StepRetire, "primary", "first \"ca rotate-signer switch spare\"")
	if by := present.fetch(t); by != "primary" {
		t.Errorf("after add, %s signed", by)
	}

	// switch
	r = w.rotation()
	if err := r.Check(StepSwitch, "spare"); err != nil {
		t.Fatal(err)
	}
	w.list(r.Listing(StepSwitch, "spare", ""))
	w.wantNext(t, "retectl compile --resign spare")
	opts := w.options()
	opts.Resign = "spare"
	if got := what(w.compileWith(opts), "alpha"); !cmp.Equal(got, []string{"signer: primary → spare"}) {
		t.Errorf("the switch says %q", got)
	}
	w.refuses(t, StepRetire, "primary", "published sets are not yet signed by spare")
	w.publish()
	w.wantNext(t, "ca rotate-signer retire primary")
	if by := present.fetch(t); by != "spare" {
		t.Errorf("after switch, %s signed", by)
	}

	// retire
	r = w.rotation()
	if err := r.Check(StepRetire, "primary"); err != nil {
		t.Fatal(err)
	}
	w.list(r.Listing(StepRetire, "primary", ""))
	w.compile()
	w.publish()
	w.wantNext(t, "")
	for _, node := range []*pupil{present, away} {
		if by := node.fetch(t); by != "spare" {
			t.Errorf("after retire, %s signed", by)
		}
	}
	if diff := cmp.Diff([][]uint64{{1, 2, 3, 4}, {1, 4}}, [][]uint64{present.took, away.took}); diff != "" {
		t.Errorf("versions taken (-want +got):\n%s", diff)
	}
	if len(present.held.Retired) != 1 {
		t.Errorf("the present node has seen %d keys retired", len(present.held.Retired))
	}
}

// ENV-12: a key that was retired is never listed again; nodes would refuse it.
func TestARetiredSignerIsNotListedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.addSigner("spare")
	both := "keys: [{name: primary, cert: certs/management-planes/primary.crt}, {name: spare, cert: " + spareCert + "}]"
	w.list(both)
	w.compile()
	node := w.pupil("alpha")
	node.fetch(t)
	w.list("keys: [{name: spare, cert: " + spareCert + "}]")
	w.compile()
	node.fetch(t)
	w.list(both)
	before := w.snapshot()
	if err := w.compileError(w.options()); !IsRefused(err, ReasonSignerRetired) || !strings.Contains(err.Error(), "management-plane/primary") {
		t.Errorf("got %v", err)
	}
	if !sameFiles(before, w.snapshot()) {
		t.Error("something was written")
	}
	// What the refusal prevents: the ledger forgets, and the node refuses.
	w.remove(ledgerFile)
	w.compile()
	if _, err := schema.VerifySet(node.held, "alpha", w.members("alpha"), w.now); err == nil {
		t.Error("the node takes a retired key back: the refusal is needless")
	}
}

// ENV-12 (b): a stolen key goes in one step, by the CA's authority.
func TestAStolenSignerGoesInOneStep(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.compile()
	node := w.pupil("alpha")
	node.fetch(t)
	w.addSigner("spare")
	w.list("keys: [{name: spare, cert: " + spareCert + "}]")
	w.compile()
	if by := node.fetch(t); by != "spare" || len(node.held.Retired) != 1 {
		t.Errorf("signed by %s; retired %v", by, node.held.Retired)
	}
}

// A switch that chooses another key than the one it is about is refused.
func TestResignNeedsTheKeyThatItNames(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.addSigner("spare")
	w.list("keys: [{name: primary, cert: certs/management-planes/primary.crt}, {name: spare, cert: " + spareCert + "}]")
	w.compile()
	opts := w.options()
	opts.Resign = "spare"
	if err := w.compileError(opts); !IsRefused(err, ReasonNoSigner) {
		t.Errorf("got %v", err)
	}
	opts.Resign = "primary"
	if r := w.compileWith(opts); len(r.Changes) != 0 {
		t.Errorf("sets that primary signed are signed anew: %v", moves(r))
	}
}

// A record that cannot be read is refused and not guessed at.
func TestADamagedRecordOfWhatWasPublishedIsRefused(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"half":                     `{"schema_version": "1.0", "nodes": {`,
		"a newer form":             `{"schema_version": "2.0", "nodes": {}}`,
		"a version that cannot be": `{"schema_version": "1.0", "nodes": {"a": {"version": 9007199254740992, "signed_by": "", "lists": []}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.MkdirAll(filepath.Join(dir, florDir), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, publishedFile), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			if _, err := ReadPublished(dir); !IsRefused(err, ReasonRecordDamaged) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// ENV-13: a step waits for what is compiled to be published, whatever it is.
func TestAStepWaitsForWhatIsCompiled(t *testing.T) {
	t.Parallel()
	whole := Spread{Lists: 2, Signed: 2}
	r := &Rotation{Compiled: 2, Published: 2, Signers: []SignerState{
		{Name: "next", Listed: true, Compiled: whole, Published: whole},
		{Name: "primary", Listed: true, Compiled: Spread{Lists: 2}, Published: Spread{Lists: 2}},
	}}
	if err := r.Check(StepRetire, "primary"); err != nil {
		t.Errorf("everything is published: %v", err)
	}
	r.Behind = []string{"alpha"}
	if err := r.Check(StepRetire, "primary"); !IsRefused(err, ReasonStepSkipped) || !strings.Contains(err.Error(), "alpha") {
		t.Errorf("alpha is compiled and not published: %v", err)
	}
	r.Behind, r.Published = nil, 0
	if err := r.Check(StepRetire, "primary"); !IsRefused(err, ReasonStepSkipped) {
		t.Errorf("nothing was ever published: %v", err)
	}
}
