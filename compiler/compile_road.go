package compiler

import (
	"net/netip"

	"github.com/florete/flor/envelope/schema"
)

// road is how nodes find the coordinator: the node that runs it, and the
// address under which others dial that node's vertex (CMP-18).
type road struct {
	node    string
	address string
}

// checkRoad refuses a plan in which the coordinator moves: nodes that have not
// fetched before the management node applies it would look for it in vain.
func (p *plan) checkRoad(allowed bool) error {
	was, known := p.roadBefore()
	is := roadOf(p.view)
	if allowed || !known || was == is {
		return nil
	}
	return refuse(ReasonCoordinatorMoved,
		"the coordinator moves from %s (%s) to %s (%s); a node that has not fetched the new set before the old coordinator goes never finds the new one. "+
			"If no node is enrolled yet, or you mean it, say --move-coordinator", was.node, was.address, is.node, is.address)
}

func roadOf(v *View) road {
	return road{node: v.Management.Name, address: v.Management.Vertex.Address.String()}
}

// roadBefore reads the road out of the tree: the node that has a coordinator,
// and where its own vertex says that the coordinator is.
func (p *plan) roadBefore() (road, bool) {
	for _, n := range p.nodes {
		if _, ok := n.before.members[CoordinatorName]; !ok {
			continue
		}
		if addr, ok := n.before.coordinatorAddress(); ok {
			return road{node: n.node, address: addr.String()}, true
		}
	}
	return road{}, false
}

func (b before) coordinatorAddress() (netip.AddrPort, bool) {
	agent, err := schema.ParseAgent(b.members["agent"].Payload())
	if err != nil {
		return netip.AddrPort{}, false
	}
	vertex, err := schema.ParseVertex(b.members[VertexName].Payload())
	if err != nil {
		return netip.AddrPort{}, false
	}
	for _, list := range vertex.Links {
		for _, link := range list.Members {
			if link.Peer == agent.Sync.Coordinator {
				addr, err := netip.ParseAddrPort(link.Via.Addr)
				return addr, err == nil
			}
		}
	}
	return netip.AddrPort{}, false
}
