package relay

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/florete/flor/envelope"
)

// Tree is a published tree: for each node the set that is served to it. It has
// passed the structural gate and does not change any more, so that any number of
// goroutines may read it. A nil *Tree is a tree without nodes.
type Tree struct {
	sets  map[string]*nodeSet
	names []string // sorted
}

// nodeSet is the slice of a tree that one node is served.
type nodeSet struct {
	version uint64
	members []member // sorted by name; sub-slices of the answer's body
	served  *answer  // the whole answer, preassembled
}

type member struct {
	name string
	text []byte
}

// TreeError says why the structural gate refused a tree. Where names the
// artifact, the node or the position that is at fault, empty for the document.
type TreeError struct {
	Reason Reason
	Where  string
	Err    error
}

// Code is the registry code.
func (e *TreeError) Code() string { return e.Reason.Code() }

func (e *TreeError) Error() string {
	if e.Where == "" {
		return fmt.Sprintf("%s %s: %v", e.Code(), e.Reason, e.Err)
	}
	return fmt.Sprintf("%s %s: %s: %v", e.Code(), e.Reason, e.Where, e.Err)
}

func (e *TreeError) Unwrap() error { return e.Err }

// ParseTree is the structural gate (CRD-2): it reads a set document with the
// artifacts of any number of nodes, in any order, and refuses the whole for one
// fault. Only routing cores are read; an unknown schema major passes. The tree
// keeps copies, so that doc may be reused. Its error is a *TreeError.
func ParseTree(doc []byte) (*Tree, error) {
	texts, err := envelope.ParseSet(doc)
	if err != nil {
		return nil, documentError(err)
	}
	groups, err := groupByNode(texts)
	if err != nil {
		return nil, err
	}
	return assemble(groups, envelope.MaxSetPublish)
}

func documentError(err error) error {
	var refusal *envelope.Refusal
	if errors.As(err, &refusal) && refusal.Reason == envelope.EmptySet {
		return &TreeError{Reason: EmptyTree, Err: errors.New("a tree without artifacts would unpublish every node")}
	}
	return &TreeError{Reason: MalformedDocument, Err: err}
}

// group is what was found of one node, in the order of the document.
type group struct {
	node    string
	version uint64
	members []member
	folded  map[string]bool
	hasRoot bool
}

func groupByNode(texts [][]byte) (map[string]*group, error) {
	groups := make(map[string]*group)
	for i, text := range texts {
		core, err := readCore(text, i)
		if err != nil {
			return nil, err
		}
		g, err := groupOf(groups, core)
		if err != nil {
			return nil, err
		}
		if err := g.add(core, text); err != nil {
			return nil, err
		}
	}
	return groups, nil
}

func readCore(text []byte, position int) (envelope.Core, error) {
	where := fmt.Sprintf("artifact %d of the document", position+1)
	if len(text) > envelope.MaxEnvelope {
		return envelope.Core{}, &TreeError{Reason: ArtifactTooLarge, Where: where,
			Err: fmt.Errorf("%d bytes, the limit is %d", len(text), envelope.MaxEnvelope)}
	}
	core, err := envelope.Probe(text)
	if err != nil {
		return envelope.Core{}, &TreeError{Reason: MalformedArtifact, Where: where, Err: err}
	}
	if core.Plane != envelope.Mgmt {
		return envelope.Core{}, &TreeError{Reason: WrongPlane, Where: core.Ref().String(),
			Err: fmt.Errorf("plane is %q, only %q is published", core.Plane, envelope.Mgmt)}
	}
	return core, nil
}

// groupOf finds the group of a node; names that differ by case only are the
// same name (ENV-4), so that two spellings are two claims to one node.
func groupOf(groups map[string]*group, core envelope.Core) (*group, error) {
	key := envelope.FoldName(core.Node)
	g := groups[key]
	switch {
	case g == nil:
		g = &group{node: core.Node, version: core.Version, folded: make(map[string]bool)}
		groups[key] = g
	case g.node != core.Node:
		return nil, &TreeError{Reason: DuplicateNode, Where: core.Node,
			Err: fmt.Errorf("also spelt %q: names that differ by case only are the same name", g.node)}
	}
	return g, nil
}

func (g *group) add(core envelope.Core, text []byte) error {
	where, key := core.Ref().String(), envelope.FoldName(core.Name)
	switch {
	case g.folded[key]:
		return &TreeError{Reason: DuplicateArtifact, Where: where, Err: errors.New("a second artifact of this name")}
	case core.Version != g.version:
		return &TreeError{Reason: MixedVersions, Where: where,
			Err: fmt.Errorf("version %d, others of the node have %d", core.Version, g.version)}
	case len(g.members) == envelope.MaxArtifacts:
		return &TreeError{Reason: TooManyArtifacts, Where: core.Node,
			Err: fmt.Errorf("more than %d artifacts", envelope.MaxArtifacts)}
	}
	g.folded[key] = true
	g.hasRoot = g.hasRoot || core.Name == envelope.AgentName
	g.members = append(g.members, member{name: core.Name, text: text})
	return nil
}

// assemble seals every node's set. limit is what all of them may have in bytes, so
// that the tree can be read back from a storage.
func assemble(groups map[string]*group, limit int) (*Tree, error) {
	tree := &Tree{sets: make(map[string]*nodeSet, len(groups)), names: make([]string, 0, len(groups))}
	total := 0
	for _, key := range slices.Sorted(maps.Keys(groups)) {
		g := groups[key]
		set, err := g.seal()
		if err != nil {
			return nil, err
		}
		if total += g.documentSize(); total > limit {
			return nil, &TreeError{Reason: TreeTooLarge, Err: fmt.Errorf("the limit is %d bytes, separators included", limit)}
		}
		tree.sets[g.node] = set
		tree.names = append(tree.names, g.node)
	}
	slices.Sort(tree.names)
	return tree, nil
}

// seal puts the node's document together and checks what only the whole shows.
func (g *group) seal() (*nodeSet, error) {
	if !g.hasRoot {
		return nil, &TreeError{Reason: NoRoot, Where: g.node, Err: fmt.Errorf("no artifact is named %q", envelope.AgentName)}
	}
	size := g.documentSize()
	if size > envelope.MaxSetFetch {
		return nil, &TreeError{Reason: SetTooLarge, Where: g.node,
			Err: fmt.Errorf("a set document of %d bytes, the limit is %d", size, envelope.MaxSetFetch)}
	}
	texts := make([][]byte, len(g.members))
	for i, m := range g.members {
		texts[i] = m.text
	}
	doc := envelope.AppendSet(make([]byte, 0, size), texts...)
	set := &nodeSet{version: g.version, served: setAnswer(doc, g.version), members: g.members}
	if err := set.rebase(doc); err != nil {
		return nil, err
	}
	return set, nil
}

// documentSize is at least the size of the assembled document: its frame has a
// few bytes, a separator goes before each member but the first.
func (g *group) documentSize() int {
	const frame, separator = 32, 2
	size := frame
	for _, m := range g.members {
		size += len(m.text) + separator
	}
	return size
}

// rebase points the members into the set's own document, which lets the
// published body go.
func (s *nodeSet) rebase(doc []byte) error {
	texts, err := envelope.ParseSet(doc)
	if err != nil || len(texts) != len(s.members) {
		return &TreeError{Reason: MalformedDocument, Err: fmt.Errorf("reading back an assembled set: %d members, %w", len(texts), err)}
	}
	for i := range s.members {
		s.members[i].text = texts[i]
	}
	slices.SortFunc(s.members, func(a, b member) int { return strings.Compare(a.name, b.name) })
	return nil
}

// identical tells whether two sets have the same members, byte for byte; the
// order in which they were published means nothing.
func (s *nodeSet) identical(o *nodeSet) bool {
	return s.version == o.version && slices.EqualFunc(s.members, o.members, func(a, b member) bool {
		return a.name == b.name && bytes.Equal(a.text, b.text)
	})
}

func (t *Tree) set(node string) *nodeSet {
	if t == nil {
		return nil
	}
	return t.sets[node]
}

// Nodes gives the names of the nodes, sorted. The slice is shared: do not
// change it.
func (t *Tree) Nodes() []string {
	if t == nil {
		return nil
	}
	return t.names
}

// Version gives the version of a node's set, 0 for a node that is not in the
// tree.
func (t *Tree) Version(node string) uint64 {
	if set := t.set(node); set != nil {
		return set.version
	}
	return 0
}

// SetDocument gives what a node is served, nil for a node that is not in the
// tree. The bytes are shared: do not change them.
func (t *Tree) SetDocument(node string) []byte {
	if set := t.set(node); set != nil {
		return set.served.body
	}
	return nil
}

// Document writes the whole tree as one set document, which ParseTree reads back
// to an equal tree: the form in which a Storage keeps it.
func (t *Tree) Document() []byte {
	texts, size := make([][]byte, 0, len(t.Nodes())), 0
	for _, node := range t.Nodes() {
		for _, m := range t.sets[node].members {
			texts = append(texts, m.text)
		}
		size += len(t.sets[node].served.body)
	}
	return envelope.AppendSet(make([]byte, 0, size), texts...)
}

// adopt takes the old tree's set for each node that did not change, so that two
// trees share what they have in common.
func (t *Tree) adopt(old *Tree) {
	for node, set := range t.sets {
		if before := old.set(node); before != nil && before.identical(set) {
			t.sets[node] = before
		}
	}
}
