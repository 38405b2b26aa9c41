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

// plan is what has to happen to the tree, decided before anything does.
type plan struct {
	view   *View
	ledger *Ledger
	// nodes are all nodes of the rete and of the tree, by name.
	nodes []nodePlan
	notes []string
}

// nodePlan is what has to happen to one node.
type nodePlan struct {
	node     string
	payloads []encoded // empty when the node leaves
	before   before
	what     []string // empty when the node stays as it is
}

func (n nodePlan) leaves() bool  { return len(n.payloads) == 0 }
func (n nodePlan) touched() bool { return len(n.what) > 0 }

// encoded is a payload as text, with its canonical form for comparison.
type encoded struct {
	name      string
	text      jsontext.Value
	canonical []byte
}

func encodePayloads(payloads []Payload) ([]encoded, error) {
	list := make([]encoded, 0, len(payloads))
	for _, p := range payloads {
		text, err := json.Marshal(p.Value)
		if err != nil {
			return nil, fmt.Errorf("encode payload %s: %w", p.Name, err)
		}
		canonical, err := envelope.Canonical(text)
		if err != nil {
			return nil, fmt.Errorf("encode payload %s: %w", p.Name, err)
		}
		list = append(list, encoded{name: p.Name, text: text, canonical: canonical})
	}
	return list, nil
}

// makePlan compares what the view gives with what the tree has.
func makePlan(ctx context.Context, v *View, fsys durable.FS, floor uint64) (*plan, error) {
	ledger, err := readLedger(fsys)
	if err != nil {
		return nil, err
	}
	standing, err := treeNodes(fsys)
	if err != nil {
		return nil, err
	}
	projected, err := Project(ctx, v)
	if err != nil {
		return nil, err
	}
	p := &plan{view: v, ledger: ledger, nodes: pair(projected, standing)}
	if len(ledger.Nodes) == 0 && len(standing) > 0 {
		p.notes = append(p.notes, fmt.Sprintf("%s is missing: versions were taken from the compiled tree", ledgerFile))
	}
	reader := setReader{fsys: fsys, anchor: v.anchor(), ledger: ledger, floor: floor}
	byNode := make(map[string]NodePayloads, len(projected))
	for _, np := range projected {
		byNode[np.Node] = np
	}
	err = eachNode(ctx, len(p.nodes), func(i int) error {
		return p.nodes[i].decide(byNode, reader)
	})
	return p, err
}

// pair lists each node that is projected or stands in the tree, once, by name.
func pair(projected []NodePayloads, standing []string) []nodePlan {
	names := slices.Clone(standing)
	for _, np := range projected {
		names = append(names, np.Node)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	nodes := make([]nodePlan, len(names))
	for i, name := range names {
		nodes[i].node = name
	}
	return nodes
}

// decide fills in what has to happen to the node.
func (n *nodePlan) decide(projected map[string]NodePayloads, reader setReader) error {
	var err error
	if n.before, err = reader.read(n.node); err != nil {
		return err
	}
	payloads, stays := projected[n.node]
	if !stays {
		n.what = []string{"left the rete"}
		return nil
	}
	if n.payloads, err = encodePayloads(payloads.Payloads()); err != nil {
		return err
	}
	n.what = whatChanged(n.payloads, n.before)
	if n.touched() && n.before.last >= envelope.MaxVersion {
		return refuse(ReasonVersionsUsedUp, "node %s is at version %d, the last one there is; give the machine another node name", n.node, n.before.last)
	}
	return nil
}

// change is the node's line in the result.
func (n nodePlan) change() Change {
	c := Change{Node: n.node, Old: n.before.current, What: n.what}
	if !n.leaves() {
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

// whatChanged compares a node's payloads with its set in the tree, in words.
// Nothing means that the set may stay as it is.
func whatChanged(now []encoded, was before) []string {
	switch {
	case was.doubt != "":
		return []string{was.doubt}
	case was.current == 0 && was.last == 0:
		return []string{"new node"}
	case was.current == 0:
		return []string{fmt.Sprintf("back in the compiled tree, above version %d", was.last)}
	}
	var what []string
	for _, p := range now {
		old, known := was.members[p.name]
		if !known {
			what = append(what, p.name+": added")
		} else if changed := changedMembers(old.CanonicalPayload(), p.canonical); len(changed) > 0 {
			what = append(what, p.name+": "+strings.Join(changed, ", "))
		}
	}
	for _, name := range sortedKeys(was.members) {
		if !slices.ContainsFunc(now, func(p encoded) bool { return p.name == name }) {
			what = append(what, name+": removed")
		}
	}
	return what
}

// changedMembers names the members in which two payloads differ; both texts are
// canonical. It is empty exactly when the texts are equal (ENV-8).
func changedMembers(old, now []byte) []string {
	if string(old) == string(now) {
		return nil
	}
	var was, is map[string]jsontext.Value
	if json.Unmarshal(old, &was) != nil || json.Unmarshal(now, &is) != nil {
		return []string{"payload"}
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
	return changed
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, cmp.Compare[string])
	return keys
}
