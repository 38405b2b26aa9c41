package compiler

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/florete/flor/envelope"
	"github.com/florete/flor/store/durable"
)

// plan is what has to happen to the tree, decided before anything does. It
// holds no payload: a node's are projected when they are compared, and again
// when they are signed, so that memory does not grow with the tree (CMP-17).
type plan struct {
	view   *View
	trust  envelope.Block
	byName map[string]*Node
	ledger *Ledger
	// nodes are all nodes of the rete and of the tree, by name.
	nodes []nodePlan
	notes []string
}

// nodePlan is what has to happen to one node.
type nodePlan struct {
	node   string
	leaves bool
	before before
	what   []string // empty when the node stays as it is
	// retired are the signers that the old set lists and the new one does not.
	retired []envelope.Entry
}

func (n nodePlan) touched() bool { return len(n.what) > 0 }

// makePlan compares what the view gives with what the tree has.
func makePlan(ctx context.Context, v *View, fsys durable.FS, opts CompileOptions) (*plan, error) {
	trust, err := trustBlock(v.Signers)
	if err != nil {
		return nil, err
	}
	ledger, err := readLedger(fsys)
	if err != nil {
		return nil, err
	}
	standing, err := treeNodes(fsys)
	if err != nil {
		return nil, err
	}
	tree, closeTree, err := openTree(fsys)
	if err != nil {
		return nil, err
	}
	defer closeTree()
	p := &plan{view: v, trust: trust, ledger: ledger, byName: nodesByName(v), nodes: pair(v.Nodes, standing)}
	if len(ledger.Nodes) == 0 && len(standing) > 0 {
		p.notes = append(p.notes, fmt.Sprintf("%s is missing: versions were taken from the compiled tree", ledgerFile))
	}
	reader := setReader{tree: tree, anchor: v.anchor(), ledger: ledger, floor: opts.Floor}
	err = eachNode(ctx, len(p.nodes), func(i int) error { return p.decide(&p.nodes[i], reader, opts.Resign) })
	return p, err
}

func nodesByName(v *View) map[string]*Node {
	byName := make(map[string]*Node, len(v.Nodes))
	for _, n := range v.Nodes {
		byName[n.Name] = n
	}
	return byName
}

// pair lists each node that the rete has or that stands in the tree, once, by
// name.
func pair(nodes []*Node, standing []string) []nodePlan {
	names := slices.Clone(standing)
	for _, n := range nodes {
		names = append(names, n.Name)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	plans := make([]nodePlan, len(names))
	for i, name := range names {
		plans[i].node = name
	}
	return plans
}

// payloads projects one node anew.
func (p *plan) payloads(node string) NodePayloads {
	return projectNode(p.view, p.byName[node], p.trust)
}

// decide fills in what has to happen to the node.
func (p *plan) decide(n *nodePlan, reader setReader, resign string) error {
	set, err := reader.read(n.node)
	if err != nil {
		return err
	}
	n.before = set.before
	if n.leaves = p.byName[n.node] == nil; n.leaves {
		n.what = []string{"left the rete"}
		return nil
	}
	if err := p.compare(n, set, resign); err != nil {
		return err
	}
	if n.touched() && n.before.last >= envelope.MaxVersion {
		return refuse(ReasonVersionsUsedUp, "node %s is at version %d, the last one there is; give the machine another node name", n.node, n.before.last)
	}
	return nil
}

// compare says in words what tells the node's payloads from its set in the
// tree. Nothing means that the set may stay as it is.
func (p *plan) compare(n *nodePlan, set standingSet, resign string) error {
	switch {
	case n.before.doubt != "":
		n.what = []string{n.before.doubt}
		n.before.address = set.coordinatorAddress()
		return nil
	case n.before.current == 0 && n.before.last == 0:
		n.what = []string{"new node"}
		return nil
	case n.before.current == 0:
		n.what = []string{fmt.Sprintf("back in the compiled tree, above version %d", n.before.last)}
		return nil
	}
	changed, err := p.changes(n, set)
	if err != nil {
		return err
	}
	n.what = slices.Concat(n.before.taken, changed, set.signedByAnother(resign))
	return nil
}

// changes compares payload by payload: by text, which tells at once where
// nothing changed, and by canonical form where the texts differ (ENV-8).
func (p *plan) changes(n *nodePlan, set standingSet) (what []string, err error) {
	now := p.payloads(n.node).Payloads()
	for _, payload := range now {
		words, err := set.differs(payload)
		if err != nil {
			return nil, fmt.Errorf("compare %s of node %s: %w", payload.Name, n.node, err)
		}
		if words != "" {
			what = append(what, payload.Name+": "+words)
		}
		if words != "" && payload.Name == VertexName {
			n.before.address = set.coordinatorAddress()
		}
	}
	for _, name := range set.names() {
		if !slices.ContainsFunc(now, func(p Payload) bool { return p.Name == name }) {
			what = append(what, name+": removed")
		}
	}
	if len(what) > 0 {
		n.retired = fallenOut(set.trust(), p.trust)
	}
	return what, nil
}

// fallenOut lists the signers of a block whose keys another one lacks.
func fallenOut(was, is envelope.Block) []envelope.Entry {
	return slices.DeleteFunc(slices.Clone(was.Mgmt), func(old envelope.Entry) bool {
		return slices.ContainsFunc(is.Mgmt, func(e envelope.Entry) bool { return e.Pubkey == old.Pubkey })
	})
}

// change is the node's line in the result.
func (n nodePlan) change() Change {
	c := Change{Node: n.node, Old: n.before.current, What: n.what}
	if !n.leaves {
		c.New = n.before.last + 1
	}
	return c
}

// result tells what the plan does, by node.
func (p *plan) result(source *Loaded) *Result {
	r := &Result{Source: source, Notes: p.notes}
	for _, n := range p.nodes {
		if n.touched() {
			r.Changes = append(r.Changes, n.change())
		} else {
			r.Untouched++
		}
	}
	return r
}

// changedMembers names the members in which two payloads differ; both texts are
// canonical. It is empty exactly when the texts are equal (ENV-8).
func changedMembers(old, now []byte) string {
	if string(old) == string(now) {
		return ""
	}
	var was, is map[string]jsontext.Value
	if json.Unmarshal(old, &was) != nil || json.Unmarshal(now, &is) != nil {
		return "payload"
	}
	var changed []string
	for _, name := range sortedKeys(is) {
		if string(was[name]) != string(is[name]) {
			changed = append(changed, name)
		}
	}
	for _, name := range sortedKeys(was) {
		if _, stays := is[name]; !stays {
			changed = append(changed, name)
		}
	}
	return strings.Join(changed, ", ")
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, cmp.Compare[string])
	return keys
}
