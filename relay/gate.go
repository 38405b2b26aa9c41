package relay

import (
	"fmt"
	"maps"
	"slices"

	"github.com/florete/flor/envelope"
	"github.com/florete/flor/relay/internal/wire"
)

// MaxJump is how far above the highest version on record an offer may lie: a
// garbage publish must not lock the operator out for ever (CRD-3). It binds from
// the first record on; see Judge.
const MaxJump = 1 << 10

// Floors is the record of the highest version of every node, departed ones
// included (CRD-3). It does not change; Raise makes a new one. The zero value
// has no node on record.
type Floors struct {
	byName map[string]floor // keyed by the folded name: one name, one floor
}

type floor struct {
	node    string
	version uint64
}

// empty tells whether no version of any node is on record.
func (f Floors) empty() bool { return len(f.byName) == 0 }

// Of gives the highest version on record for a node, 0 for a new one.
func (f Floors) Of(node string) uint64 { return f.byName[envelope.FoldName(node)].version }

// Raise gives a record that has every node of the tree at its version or above.
func (f Floors) Raise(tree *Tree) Floors {
	raised := Floors{byName: maps.Clone(f.byName)}
	if raised.byName == nil {
		raised.byName = make(map[string]floor, len(tree.Nodes()))
	}
	for _, node := range tree.Nodes() {
		raised.lift(node, tree.Version(node))
	}
	return raised
}

func (f Floors) lift(node string, version uint64) {
	key := envelope.FoldName(node)
	if version > f.byName[key].version {
		f.byName[key] = floor{node: node, version: version}
	}
}

// Conflict is one node that the monotonic gate refused.
type Conflict = wire.Conflict

// ConflictError says why the monotonic gate refused a tree. Nodes is sorted and
// names every node that is in the way.
type ConflictError struct{ Nodes []Conflict }

// Code is the registry code.
func (*ConflictError) Code() string { return versionConflict.Code() }

func (e *ConflictError) Error() string {
	first := e.Nodes[0]
	return fmt.Sprintf("%s %s: %d nodes, the first is %s: stored %d, offered %d",
		e.Code(), versionConflict, len(e.Nodes), first.Node, first.Stored, first.Offered)
}

// Judge is the monotonic gate (CRD-3). It gives the sorted names of the nodes
// that publishing offered over stored would add, alter or remove; none means
// that it is the same tree again. Its error is a *ConflictError.
//
// Where nothing is on record, neither a tree nor a floor, any version is taken: a
// rete that has been published for years must find its way into a coordinator
// that is new or has forgotten.
func Judge(stored *Tree, floors Floors, offered *Tree) ([]string, error) {
	reach := uint64(MaxJump)
	if stored == nil && floors.empty() {
		reach = envelope.MaxVersion
	}
	var conflicts []Conflict
	changed := departed(stored, offered)
	for _, node := range offered.Nodes() {
		offer, held := offered.set(node), stored.set(node)
		if held != nil && held.identical(offer) {
			continue
		}
		changed = append(changed, node)
		record := max(floors.Of(node), stored.Version(node))
		if !admissible(held, record, offer.version, reach) {
			conflicts = append(conflicts, Conflict{Node: node, Stored: record, Offered: offer.version})
		}
	}
	if len(conflicts) > 0 {
		return nil, &ConflictError{Nodes: conflicts}
	}
	slices.Sort(changed)
	return changed, nil
}

// admissible judges an offer that differs from what is held and may lie at most
// reach above the record.
func admissible(held *nodeSet, record, offered, reach uint64) bool {
	return offered >= record &&
		(held == nil || offered > held.version) &&
		offered-record <= reach
}

func departed(stored, offered *Tree) []string {
	var gone []string
	for _, node := range stored.Nodes() {
		if offered.set(node) == nil {
			gone = append(gone, node)
		}
	}
	return gone
}
