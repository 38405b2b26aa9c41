package relay

import (
	"bytes"
	"cmp"
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
//
// It is one text, in which everything that is served stands already: a large tree
// is in memory once.
type Tree struct {
	text  []byte // a set document, in which the members of a node are neighbours
	sets  map[string]*nodeSet
	names []string // sorted
}

// nodeSet is the slice of a tree that one node is served.
type nodeSet struct {
	version uint64
	members []member // sorted by name; sub-slices of the tree's text
	served  *answer  // the whole answer, made when the tree was
}

type member struct {
	name string
	text []byte
	at   int // where it stands in the document
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
func ParseTree(doc []byte) (*Tree, error) { return takeTree(bytes.Clone(doc), nil) }

// takeTree is ParseTree for a document that the caller gives away.
func takeTree(doc []byte, breath *breather) (*Tree, error) {
	groups, err := readGroups(doc, breath)
	if err != nil {
		return nil, err
	}
	if !groups.areLaidOut(doc) {
		if doc, err = groups.layOut(envelope.MaxSetPublish); err != nil {
			return nil, err
		}
		if groups, err = readGroups(doc, breath); err != nil {
			return nil, err
		}
	}
	return assemble(doc, groups)
}

func documentError(err error) error {
	var refusal *envelope.Refusal
	if errors.As(err, &refusal) && refusal.Reason == envelope.EmptySet {
		return &TreeError{Reason: EmptyTree, Err: errors.New("a tree without artifacts would unpublish every node")}
	}
	return &TreeError{Reason: MalformedDocument, Err: err}
}

// groups are the artifacts of a document by node, under the node's folded name.
type groups map[string]*group

// group is what was found of one node, in the order of the document.
type group struct {
	node    string
	version uint64
	members []member
	folded  []string // names of the members, folded
	hasRoot bool
}

func readGroups(doc []byte, breath *breather) (groups, error) {
	found := make(groups)
	position, at := 0, bytes.IndexByte(doc, '[') // the first one opens the array: no name has any
	for m, err := range envelope.Members(doc) {
		breath.pause()
		if err != nil {
			return nil, documentError(err)
		}
		at += bytes.IndexByte(doc[at:], '{')
		if err := found.add(m, position, at); err != nil {
			return nil, err
		}
		at += len(m.Text())
		position++
	}
	return found, nil
}

// add files the artifact with this position in the document, which starts at byte at.
func (gs groups) add(m envelope.Member, position, at int) error {
	core, err := readCore(m)
	if err != nil {
		err.Where = cmp.Or(err.Where, fmt.Sprintf("artifact %d of the document", position+1))
		return err
	}
	g, err := gs.of(core)
	if err != nil {
		return err
	}
	return g.add(core, member{name: core.Name, text: m.Text(), at: at})
}

func readCore(m envelope.Member) (envelope.Core, *TreeError) {
	if size := len(m.Text()); size > envelope.MaxEnvelope {
		return envelope.Core{}, &TreeError{Reason: ArtifactTooLarge,
			Err: fmt.Errorf("%d bytes, the limit is %d", size, envelope.MaxEnvelope)}
	}
	core, err := m.Probe()
	if err != nil {
		return envelope.Core{}, &TreeError{Reason: MalformedArtifact, Err: err}
	}
	if core.Plane != envelope.Mgmt {
		return envelope.Core{}, &TreeError{Reason: WrongPlane, Where: core.Ref().String(),
			Err: fmt.Errorf("plane is %q, only %q is published", core.Plane, envelope.Mgmt)}
	}
	return core, nil
}

// of finds the group of a node; names that differ by case only are the same name
// (ENV-4), so that two spellings are two claims to one node.
func (gs groups) of(core envelope.Core) (*group, *TreeError) {
	key := envelope.FoldName(core.Node)
	g := gs[key]
	switch {
	case g == nil:
		g = &group{node: core.Node, version: core.Version}
		gs[key] = g
	case g.node != core.Node:
		return nil, &TreeError{Reason: DuplicateNode, Where: core.Node,
			Err: fmt.Errorf("also spelt %q: names that differ by case only are the same name", g.node)}
	}
	return g, nil
}

func (g *group) add(core envelope.Core, m member) error {
	key := envelope.FoldName(core.Name)
	switch {
	case slices.Contains(g.folded, key):
		return &TreeError{Reason: DuplicateArtifact, Where: core.Ref().String(), Err: errors.New("a second artifact of this name")}
	case core.Version != g.version:
		return &TreeError{Reason: MixedVersions, Where: core.Ref().String(),
			Err: fmt.Errorf("version %d, others of the node have %d", core.Version, g.version)}
	case len(g.members) == envelope.MaxArtifacts:
		return &TreeError{Reason: TooManyArtifacts, Where: core.Node,
			Err: fmt.Errorf("more than %d artifacts", envelope.MaxArtifacts)}
	}
	g.folded = append(g.folded, key)
	g.hasRoot = g.hasRoot || core.Name == envelope.AgentName
	g.members = append(g.members, m)
	return nil
}

// separator stands between two members that AppendSet has put together.
const separator = ",\n"

// areLaidOut tells whether the members of each node stand in the document as they
// are served: neighbours, with the separator and nothing else between them.
func (gs groups) areLaidOut(doc []byte) bool {
	for _, g := range gs {
		for i, m := range g.members[1:] {
			before := g.members[i]
			if string(doc[before.end():m.at]) != separator {
				return false
			}
		}
	}
	return true
}

func (m member) end() int { return m.at + len(m.text) }

// layOut writes a document in which they are. A document of more than limit bytes
// could not be read back from a storage.
func (gs groups) layOut(limit int) ([]byte, error) {
	var texts [][]byte
	size := len(envelope.AppendSet(nil))
	for _, key := range slices.Sorted(maps.Keys(gs)) {
		for _, m := range gs[key].members {
			texts = append(texts, m.text)
			size += len(m.text) + len(separator)
		}
	}
	if size > limit {
		return nil, &TreeError{Reason: TreeTooLarge, Err: fmt.Errorf("the limit is %d bytes, separators included", limit)}
	}
	return envelope.AppendSet(make([]byte, 0, size), texts...), nil
}

// assemble makes every node's set of what is laid out in the document.
func assemble(doc []byte, found groups) (*Tree, error) {
	tree := &Tree{text: doc, sets: make(map[string]*nodeSet, len(found)), names: make([]string, 0, len(found))}
	for _, key := range slices.Sorted(maps.Keys(found)) {
		g := found[key]
		set, err := g.seal(doc)
		if err != nil {
			return nil, err
		}
		tree.sets[g.node] = set
		tree.names = append(tree.names, g.node)
	}
	slices.Sort(tree.names)
	return tree, nil
}

// seal makes the node's set and checks what only the whole shows.
func (g *group) seal(doc []byte) (*nodeSet, error) {
	if !g.hasRoot {
		return nil, &TreeError{Reason: NoRoot, Where: g.node, Err: fmt.Errorf("no artifact is named %q", envelope.AgentName)}
	}
	served := setAnswer(doc[g.members[0].at:g.members[len(g.members)-1].end()], g.version)
	if size := served.size(); size > envelope.MaxSetFetch {
		return nil, &TreeError{Reason: SetTooLarge, Where: g.node,
			Err: fmt.Errorf("a set document of %d bytes, the limit is %d", size, envelope.MaxSetFetch)}
	}
	slices.SortFunc(g.members, func(a, b member) int { return strings.Compare(a.name, b.name) })
	return &nodeSet{version: g.version, served: served, members: g.members}, nil
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

// SetDocument writes what a node is served, nil for a node that is not in the
// tree.
func (t *Tree) SetDocument(node string) []byte {
	set := t.set(node)
	if set == nil {
		return nil
	}
	return envelope.AppendSet(nil, set.served.body)
}

// Document gives the whole tree as one set document, which ParseTree reads back to
// an equal tree: the form in which a Storage keeps it. The bytes are shared: do
// not change them.
func (t *Tree) Document() []byte {
	if t == nil {
		return envelope.AppendSet(nil)
	}
	return t.text
}
