package compiler

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/florete/flor/envelope"
	"github.com/florete/flor/envelope/schema"
	"github.com/florete/flor/store/durable"
)

// A signer is exchanged in three steps, each of which is compiled and published
// before the next (ENV-13):
//
//	add     a second signer is listed; the old one goes on signing
//	switch  the second one signs every set; both are listed
//	retire  the old one is no longer listed
//
// A node that misses a step follows all the same, by the way back of ENV-12, as
// long as it trusts the CA. The steps are for the operator: after each of them
// the nodes have shown that they take the new key, before the old one is given
// up for good.

// Rotation is where a rete stands between its signers. ReadRotation makes it.
type Rotation struct {
	// Signers are those of the source, in its order, then those that only sets
	// still list.
	Signers []SignerState
	// Compiled and Published are how many nodes have a set in the compiled tree
	// and at the coordinator. Published is 0 when this repository was never
	// published.
	Compiled, Published int
	// Behind are the nodes whose compiled set has not been published, sorted.
	Behind []string
}

// SignerState is what the source and the sets say of one signer.
type SignerState struct {
	Name string
	// Listed tells whether the source lists it, with the certificate File that
	// is valid from NotBefore.
	Listed    bool
	File      string
	NotBefore time.Time
	// Compiled and Published count the sets that know of it.
	Compiled, Published Spread
}

// Spread counts sets: those that list a signer, and those that it signed.
type Spread struct{ Lists, Signed int }

// ReadRotation finds out which signers the source, the compiled tree and what
// was published last know of. It writes nothing. A tree that a compile is writing
// or left unfinished is refused (ReasonCompileRunning).
func ReadRotation(source *Loaded, dir string) (*Rotation, error) {
	if source == nil {
		return nil, errNoView
	}
	if err := source.View.usable(); err != nil {
		return nil, err
	}
	fsys, closeRoot, err := peek(dir)
	if err != nil {
		return nil, err
	}
	defer closeRoot()
	compiled, err := readTreeState(fsys)
	if err != nil {
		return nil, err
	}
	published, err := readPublished(fsys)
	if err != nil {
		return nil, err
	}
	return newRotation(source.View.Signers, compiled, published.Nodes), nil
}

// readTreeState reads what the roots in the compiled tree say of signers.
func readTreeState(fsys durable.FS) (map[string]PublishedNode, error) {
	nodes, err := treeNodes(fsys)
	if err != nil {
		return nil, err
	}
	state := make(map[string]PublishedNode, len(nodes))
	for _, node := range nodes {
		text, err := fsys.ReadFile(setDir(node)+"/"+rootFile, envelope.MaxEnvelope+1)
		if err != nil {
			return nil, fmt.Errorf("read the compiled set of node %s: %w", node, err)
		}
		if state[node], err = nodeState(text); err != nil {
			return nil, refuse(ReasonTreeEdited, "the root of node %s: %w; run \"retectl compile\"", node, err)
		}
	}
	return state, nil
}

// nodeState reads the root of a set.
func nodeState(text []byte) (PublishedNode, error) {
	root, err := envelope.Parse(withoutNewline(text))
	if err != nil {
		return PublishedNode{}, err
	}
	agent, err := schema.ParseAgent(root.Payload())
	if err != nil {
		return PublishedNode{}, err
	}
	state := PublishedNode{Version: root.Version, SignedBy: signerName(root.Signature.KeyID)}
	for _, e := range agent.Trust.Mgmt {
		state.Lists = append(state.Lists, signerName(e.SPIFFEID))
	}
	return state, nil
}

// newRotation counts.
func newRotation(listed []*Signer, compiled, published map[string]PublishedNode) *Rotation {
	r := &Rotation{Compiled: len(compiled), Published: len(published)}
	for _, s := range listed {
		r.Signers = append(r.Signers, SignerState{Name: s.Name, Listed: true, File: s.File, NotBefore: s.Cert.NotBefore})
	}
	for _, node := range sortedKeys(compiled) {
		r.count(compiled[node], func(s *SignerState) *Spread { return &s.Compiled })
		if published[node].Version != compiled[node].Version {
			r.Behind = append(r.Behind, node)
		}
	}
	for _, node := range sortedKeys(published) {
		r.count(published[node], func(s *SignerState) *Spread { return &s.Published })
	}
	return r
}

func (r *Rotation) count(n PublishedNode, spread func(*SignerState) *Spread) {
	for _, name := range n.Lists {
		spread(r.state(name)).Lists++
	}
	spread(r.state(n.SignedBy)).Signed++
}

// state is the line of a signer; a new one for a name that was not seen yet.
func (r *Rotation) state(name string) *SignerState {
	i := slices.IndexFunc(r.Signers, func(s SignerState) bool { return s.Name == name })
	if i < 0 {
		i = len(r.Signers)
		r.Signers = append(r.Signers, SignerState{Name: name})
	}
	return &r.Signers[i]
}

// Signer finds a signer by name.
func (r *Rotation) Signer(name string) (SignerState, bool) {
	i := slices.IndexFunc(r.Signers, func(s SignerState) bool { return s.Name == name })
	if i < 0 {
		return SignerState{}, false
	}
	return r.Signers[i], true
}

// Step is one of the three steps of a rotation.
type Step string

// The steps, in their order.
const (
	StepAdd    Step = "add"
	StepSwitch Step = "switch"
	StepRetire Step = "retire"
)

// Check says whether a step may be taken now for the signer of that name. The
// refusal has ReasonStepSkipped, ReasonSignerRetired or ReasonNoSigner, and
// tells what to do first.
func (r *Rotation) Check(step Step, name string) error {
	s, known := r.Signer(name)
	switch {
	case step == StepAdd && known && s.Listed:
		return refuse(ReasonStepSkipped, "the YAML lists %s already; the next step is \"ca rotate-signer switch %s\"", name, name)
	case step == StepAdd && known:
		return refuse(ReasonSignerRetired, "sets still know a signer %s, which the YAML lists no more; choose a name that was never used", name)
	case step == StepAdd:
		return nil
	case !known || step == StepSwitch && !s.Listed:
		return refuse(ReasonNoSigner, "the YAML lists no management signer %q; begin with \"ca rotate-signer add %s\"", name, name)
	case r.Compiled == 0:
		return refuse(ReasonNothingCompiled, "%s is empty; run \"retectl compile\" first", treeDir)
	case step == StepSwitch:
		return r.checkSwitch(s)
	default:
		return r.checkRetire(s)
	}
}

// checkSwitch demands that every set lists the new signer, so that a node which
// was there for the step before knows the key before it must believe it.
func (r *Rotation) checkSwitch(s SignerState) error {
	if s.Compiled.Lists < r.Compiled {
		return refuse(ReasonStepSkipped, "%d of %d compiled sets do not list %s yet; run \"retectl compile\", then \"retectl publish\"", r.Compiled-s.Compiled.Lists, r.Compiled, s.Name)
	}
	return r.checkPublished(s, s.Published.Lists, "do not yet list "+s.Name)
}

// checkRetire demands that others, which stay, sign every set and are listed in
// all of them.
func (r *Rotation) checkRetire(s SignerState) error {
	heirs := slices.DeleteFunc(slices.Clone(r.Signers), func(o SignerState) bool { return !o.Listed || o.Name == s.Name })
	if len(heirs) == 0 {
		return refuse(ReasonStepSkipped, "%s is the only signer that the YAML lists; begin with \"ca rotate-signer add NAME\"", s.Name)
	}
	var compiled, published int
	for _, heir := range heirs {
		compiled, published = compiled+heir.Compiled.Signed, published+heir.Published.Signed
	}
	names := namesOf(heirs)
	if compiled < r.Compiled {
		return refuse(ReasonStepSkipped, "%d of %d compiled sets are signed by %s; first \"ca rotate-signer switch %s\"", r.Compiled-compiled, r.Compiled, s.Name, names[0])
	}
	return r.checkPublished(s, published, "are not yet signed by "+strings.Join(names, " or "))
}

// checkPublished demands of every published set what holds of the compiled ones.
func (r *Rotation) checkPublished(s SignerState, holds int, what string) error {
	switch {
	case r.Published == 0:
		return refuse(ReasonStepSkipped, "nothing was published from this repository yet (%s); run \"retectl publish\" first", publishedFile)
	case holds < r.Published:
		return refuse(ReasonStepSkipped, "%d of %d published sets %s; run \"retectl publish\", and give nodes the time to fetch", r.Published-holds, r.Published, what)
	case len(r.Behind) > 0:
		return refuse(ReasonStepSkipped, "the sets of %s are compiled and not published; run \"retectl publish\" first", some(r.Behind))
	}
	return nil
}

// some names a few of many.
func some(names []string) string {
	const few = 5
	if len(names) <= few {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:few], ", "), len(names)-few)
}

func namesOf(signers []SignerState) []string {
	names := make([]string, len(signers))
	for i, s := range signers {
		names[i] = s.Name
	}
	return names
}

// Listing is the list of signers as it has to stand in the YAML once a step is
// taken, to be put below rete.signers.mgmt: a new signer goes to the end, one
// that takes over to the front, one that retires goes.
func (r *Rotation) Listing(step Step, name, file string) string {
	var items []string
	for _, s := range r.Signers {
		if s.Listed && s.Name != name {
			items = append(items, listItem(s.Name, s.File))
		}
	}
	switch step {
	case StepAdd:
		items = append(items, listItem(name, file))
	case StepSwitch:
		items = slices.Insert(items, 0, listItem(name, r.state(name).File))
	}
	return "keys: [" + strings.Join(items, ", ") + "]"
}

func listItem(name, file string) string { return fmt.Sprintf("{name: %s, cert: %s}", name, file) }

// Next is what the operator does next, in words; empty when one signer is
// listed, signs everything, and nothing waits to be published.
func (r *Rotation) Next() string {
	var listed []SignerState
	for _, s := range r.Signers {
		if s.Listed {
			listed = append(listed, s)
		}
		if s.Listed && s.Compiled.Lists < r.Compiled || !s.Listed && s.Compiled.Lists > 0 {
			return "retectl compile, then retectl publish: the compiled sets do not list the signers that the YAML lists"
		}
	}
	first := listed[0]
	switch {
	case first.Compiled.Signed < r.Compiled && len(listed) > 1:
		return fmt.Sprintf("retectl compile --resign %s, then retectl publish: %d of %d compiled sets are signed by another signer", first.Name, r.Compiled-first.Compiled.Signed, r.Compiled)
	case len(r.Behind) > 0:
		return fmt.Sprintf("retectl publish: the sets of %s are compiled and not published", some(r.Behind))
	case len(listed) == 1:
		return ""
	}
	return nextOf(first, listed[1:])
}

// nextOf tells a signer that waits to take over from one that waits to go: the
// one is newer than the signer that signs, the other older.
func nextOf(first SignerState, others []SignerState) string {
	newest := slices.MaxFunc(others, byAge)
	switch newest.NotBefore.Compare(first.NotBefore) {
	case 1:
		return fmt.Sprintf("retectl ca rotate-signer switch %s, once nodes had the time to fetch: every published set lists it", newest.Name)
	case 0:
		return fmt.Sprintf("retectl ca rotate-signer switch %[1]s, if it is to take over, or retire %[1]s, if it is to go", newest.Name)
	}
	oldest := slices.MinFunc(others, byAge)
	return fmt.Sprintf("retectl ca rotate-signer retire %s, if it is to go and nodes had the time to fetch: it signs nothing any more", oldest.Name)
}

func byAge(a, b SignerState) int { return a.NotBefore.Compare(b.NotBefore) }

// checkSigners refuses a source that lists a key which was retired: a node that
// saw it go takes no set with it, ever (ENV-12).
func (p *plan) checkSigners() error {
	for _, e := range p.trust.Mgmt {
		if id, retired := p.ledger.Retired[e.Pubkey]; retired {
			return refuse(ReasonSignerRetired, "the YAML lists the key of %s, which an earlier compile retired; nodes that saw it go would refuse every set that lists it. "+
				"Make another signer with \"ca rotate-signer add\"; if the retirement was never published, restore %s from git instead", id, florDir)
		}
	}
	return nil
}
