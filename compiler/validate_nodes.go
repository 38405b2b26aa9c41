package compiler

import (
	"net/netip"

	"github.com/florete/flor/compiler/diag"
	"github.com/florete/flor/compiler/facade"
)

// The one kind and type of vertex that there is today, and those to come.
const (
	kindLink = "link"
	kindMesh = "mesh"
	typeQUIC = "quic"
	typeUDP  = "udp"
)

// Ports that are used where the operator names none.
const (
	defaultNodeProxy = 1081
	defaultUserProxy = 1080
)

func loopback(port uint16) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), port)
}

func (v *validator) declareNode(n *facade.Node) {
	v.checkPrincipal(n.Name, n.Name.V, "node", v.checkLabel)
	v.nodes.declare(v, n.Name, n.Again, n, &Node{Principal: Principal{Name: n.Name.V, At: n.Name.At}})
}

// resolveNode judges the vertices of a node (CMP-8) and its own proxy.
func (v *validator) resolveNode(written *facade.Node, n *Node) {
	n.SOCKS5 = loopback(defaultNodeProxy)
	if written.SOCKS5.Given() {
		n.SOCKS5 = v.listener(written.SOCKS5, "the socks5_proxy of node "+n.Name)
		n.proxyAt = written.SOCKS5.At
	}
	var links []*facade.Vertex
	spoiled := written.Faulty
	for _, vertex := range written.Vertices {
		if v.isLink(vertex) {
			links = append(links, vertex)
		} else {
			spoiled = true
		}
	}
	switch {
	case len(links) > 0:
		n.Vertex = v.vertex(links[0])
		for _, more := range links[1:] {
			v.found.Add(vertexCount.At(more.At, "node %q has a second vertex of kind link and type quic", n.Name).
				Also(links[0].At, "the first is here").Suggest("remove one of them"))
		}
	case !spoiled:
		v.found.Add(vertexCount.At(n.At, "node %q has no vertex", n.Name).Suggest("write `vertices: [{kind: link, type: quic}]`"))
	}
}

// isLink reports whether a vertex is of the one kind and type that is built,
// and tells what it is otherwise.
func (v *validator) isLink(written *facade.Vertex) bool {
	kind := v.vertexWord(written, written.Kind, "kind", kindLink, kindMesh)
	typ := v.vertexWord(written, written.Type, "type", typeQUIC, typeUDP)
	return kind && typ
}

func (v *validator) vertexWord(written *facade.Vertex, word facade.Text, field, now, later string) bool {
	switch {
	case word.V == now:
		return true
	case !word.Given():
		if !written.Faulty {
			v.missing(written.At, "the "+field+" of a vertex", "`"+field+": "+now+"`")
		}
	case word.V == later:
		v.found.Add(laterMilestone.At(word.At, "`%s: %s` belongs to a later milestone", field, later).Suggest("use `%s: %s`", field, now))
	default:
		v.found.Add(unknownKind.At(word.At, "%q is no %s of a vertex", word.V, field).Suggest("use `%s: %s`", field, now))
	}
	return false
}

func (v *validator) vertex(written *facade.Vertex) *Vertex {
	name := written.Name
	if !name.Given() {
		name = facade.Text{V: written.Type.V, At: written.At}
	}
	v.checkPrincipal(name, name.V, "vertex", v.checkLabel)
	vertex := &Vertex{Name: name.V, At: name.At, unsure: written.Faulty}
	if written.Address.Given() {
		vertex.Address = v.destination(written.Address, "the address of the vertex", false)
		vertex.unsure = vertex.unsure || !vertex.Address.IsValid()
		vertex.addressAt = written.Address.At
		vertex.Listen = defaultListen(vertex.Address)
	}
	if written.Listen.Given() {
		vertex.Listen = v.listener(written.Listen, "the listen address of the vertex")
	}
	vertex.listenAt = firstGiven(written.Listen.At, written.Address.At)
	return vertex
}

// defaultListen binds the port of an address on all interfaces, or on loopback
// alone where the address is.
func defaultListen(address netip.AddrPort) netip.AddrPort {
	switch {
	case !address.IsValid() || address.Addr().IsLoopback():
		return address
	case address.Addr().Is4():
		return netip.AddrPortFrom(netip.IPv4Unspecified(), address.Port())
	}
	return netip.AddrPortFrom(netip.IPv6Unspecified(), address.Port())
}

func firstGiven(places ...diag.Place) diag.Place {
	for _, p := range places {
		if p.Known() {
			return p
		}
	}
	return diag.Place{}
}

// checkVia resolves the name of a vertex of a node.
func (v *validator) checkVia(via facade.Text, n *Node) {
	if !via.Given() || n == nil || n.Vertex == nil || n.Vertex.Name == via.V || v.src.Mentions(via.V) {
		return
	}
	fix := unknownVertex.At(via.At, "node %q has no vertex %q", n.Name, via.V).
		Also(n.Vertex.At, "its vertex is called %q", n.Vertex.Name).Suggest("write %q, or leave `via` out", n.Vertex.Name)
	v.found.Add(v.suggest(fix, via.V, []string{n.Vertex.Name}))
}

// sharedAddresses reports vertices that others dial at one address: one of them
// is never reached. An address that each machine or each site has for itself may
// stand for two, as long as nobody of one site dials the other.
func (v *validator) sharedAddresses() {
	taken := map[netip.AddrPort]*Node{}
	for _, n := range v.view.Nodes {
		if n.Vertex == nil || !n.Vertex.Address.IsValid() {
			continue
		}
		addr := n.Vertex.Address
		first, shared := taken[addr]
		if !shared {
			taken[addr] = n
			continue
		}
		code := addressShared
		if isLocal(addr.Addr()) {
			code = addressLocal
		}
		v.found.Add(code.At(n.Vertex.addressAt, "the vertex of node %q has the address %s, which is that of node %q", n.Name, addr, first.Name).
			Also(first.Vertex.addressAt, "the vertex of node %q is here", first.Name).Suggest("give one of them another address or port"))
	}
}

// isLocal reports whether an address means another machine in another place.
func isLocal(addr netip.Addr) bool {
	return addr.IsLoopback() || addr.IsPrivate() || addr.IsLinkLocalUnicast()
}
