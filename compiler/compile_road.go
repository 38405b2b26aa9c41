package compiler

import (
	"fmt"
	"slices"

	"github.com/florete/flor/envelope"
	"github.com/florete/flor/envelope/schema"
	"github.com/florete/flor/store/durable"
)

const (
	coordinatorFile = CoordinatorName + fileSuffix
	mayMove         = "If no node is enrolled yet, or you mean it, say --move-coordinator"
)

// checkRoad refuses a plan in which the coordinator moves: nodes that have not
// fetched before the management node applies it would look for it in vain
// (CMP-18). Before a first node got a certificate nobody can be left behind.
func (p *plan) checkRoad(fsys durable.FS, allowed bool) error {
	if allowed {
		return nil
	}
	refusal := p.roadRefusal()
	if refusal == nil {
		return nil
	}
	if issued, err := anyNodeIssued(fsys); err != nil || !issued {
		return err
	}
	return refusal
}

// anyNodeIssued tells whether a machine may be enrolled.
func anyNodeIssued(fsys durable.FS) (bool, error) {
	issued, err := readIssued(fsys)
	return slices.ContainsFunc(issued, func(i Issued) bool { return i.Kind == string(schema.KindNode) }), err
}

// roadRefusal says what would strand nodes; nil when nothing would.
func (p *plan) roadRefusal() error {
	is := p.roadNow()
	if was, moved := p.moved(is); moved {
		return refuse(ReasonCoordinatorMoved, "the coordinator moves from %s to %s; a node that has not fetched the new set before the old coordinator goes never finds the new one. "+mayMove, was, is)
	}
	if p.roadUnclear(is) {
		return refuse(ReasonCoordinatorMoved, "whether the coordinator moves to %s cannot be told, because no compiled set is as it was written: restore %s from git. "+mayMove, is, treeDir)
	}
	return nil
}

// road is where nodes find the coordinator: the node that runs it, and the
// address under which others dial that node's vertex.
type road struct{ node, address string }

func (r road) String() string {
	if r.node == "" {
		return r.address
	}
	return fmt.Sprintf("%s (%s)", r.node, r.address)
}

func (p *plan) roadNow() road {
	return road{node: p.view.Management.Name, address: p.view.Management.Vertex.Address.String()}
}

// moved compares the road with what the standing sets say of it: which node has
// a coordinator, and where the sets whose links changed dial it.
func (p *plan) moved(is road) (was road, moved bool) {
	was = is
	for _, n := range p.nodes {
		if p.hadCoordinator(n) {
			was.node = n.node
		}
		if n.before.doubt == "" && n.before.address != "" {
			was.address = n.before.address
		}
	}
	return was, was != is
}

func (p *plan) hadCoordinator(n nodePlan) bool {
	_, recorded := p.ledger.Nodes[n.node].Files[coordinatorFile]
	_, stands := n.before.digests[coordinatorFile]
	return recorded || stands && n.before.doubt == ""
}

// roadUnclear tells whether a move could hide: nothing vouches for any set in
// the tree, and not every set there dials the coordinator where it is now.
func (p *plan) roadUnclear(is road) bool {
	same, other := 0, 0
	for _, n := range p.nodes {
		switch {
		case len(n.before.digests) == 0:
		case n.before.doubt == "":
			return false
		case n.before.address == is.address:
			same++
		default:
			other++
		}
	}
	return same == 0 || other > 0
}

// coordinatorAddress is where the set dials the coordinator; empty when it does
// not say.
func (s standingSet) coordinatorAddress() string {
	agent, err := schema.ParseAgent(s.artifact(envelope.AgentName).Payload())
	if err != nil {
		return ""
	}
	vertex, err := schema.ParseVertex(s.artifact(VertexName).Payload())
	if err != nil {
		return ""
	}
	for _, list := range vertex.Links {
		for _, link := range list.Members {
			if link.Peer == agent.Sync.Coordinator {
				return link.Via.Addr
			}
		}
	}
	return ""
}
