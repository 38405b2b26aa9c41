package schema

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/spiffe/go-spiffe/v2/spiffeid"
)

// sha256Hex is how a revoked certificate is written.
var sha256Hex = regexp.MustCompile(`^[0-9a-f]{64}$`)

// adapterFields, ioFields and viaFields say which members each variant has
// beside those that all have.
var (
	adapterFields = map[string][]string{UDP: {"listen"}, Florio: {"vertex"}}
	ioFields      = map[string][]string{
		SOCKS5:   {"listen"},
		Forward:  {"listen", "target"},
		TCP:      {"upstream"},
		Embedded: nil,
		Florio:   nil,
	}
	viaFields = map[string][]string{UDP: {"addr"}, Florio: nil}
)

// checkListed faults lists that are required, empty or not, and were not
// written.
func (v *Vertex) checkListed(c *checker) {
	c.listed("connection_manager.adapters", v.ConnectionManager.Adapters != nil)
	c.listed("workloads", v.Workloads != nil)
	for i, w := range v.Workloads {
		c.listed(fmt.Sprintf("workloads[%d].io", i), w.IO != nil)
	}
	for i, l := range v.Links {
		c.listed(fmt.Sprintf("links[%d].members", i), l.Members != nil)
	}
	for i, r := range v.Ingress {
		c.listed(fmt.Sprintf("ingress[%d].allow", i), r.Allow != nil)
	}
	for i, r := range v.Egress {
		c.listed(fmt.Sprintf("egress[%d].allow", i), r.Allow != nil)
	}
}

func (v *Vertex) check(c *checker) {
	c.version("vertex", v.SchemaVersion, VertexVersion)
	c.word("kind", v.Kind, LinkVertex, MeshVertex)
	c.word("transport_endpoint.type", v.TransportEndpoint.Type, QUIC)
	p := &vertexChecker{checker: c, adapters: make(map[string]string)}
	p.connectionManager(v.ConnectionManager)
	for i, w := range v.Workloads {
		p.workload(element("workloads", i), w)
	}
	for i, l := range v.Links {
		p.links(element("links", i), l)
	}
	p.rules("ingress", v.Ingress)
	p.rules("egress", v.Egress)
	for i, hash := range v.Revoked {
		if !sha256Hex.MatchString(hash) {
			c.fault(BadHash, element("revoked", i), "%.80q is not a SHA-256 in lower-case hex", hash)
		}
	}
	if v.Kind == LinkVertex {
		v.checkLink(p)
	}
}

// vertexChecker collects the faults of a vertex payload, and what its rules
// compare between its parts.
type vertexChecker struct {
	*checker
	trustDomain spiffeid.TrustDomain // of the first ID
	adapters    map[string]string    // name -> type
	named       []namedID            // IDs that have a hostname, in order
}

// namedID is an ID that has a hostname, and where it stands.
type namedID struct {
	id   spiffeid.ID
	path string
}

// principal is id for a payload in which all IDs are of one trust domain.
func (p *vertexChecker) principal(path, s string, kinds ...Kind) bool {
	id, ok := p.id(path, s, kinds...)
	if !ok {
		return false
	}
	if p.trustDomain.IsZero() {
		p.trustDomain = id.TrustDomain()
	}
	if id.TrustDomain() != p.trustDomain {
		p.fault(OtherTrustDomain, path, "%.300s is not of the trust domain of the IDs before it, %s", s, p.trustDomain)
	}
	if kind, _ := KindOf(id); kind == KindService || kind == KindVertex {
		p.named = append(p.named, namedID{id, path})
	}
	return true
}

func (p *vertexChecker) connectionManager(m ConnectionManager) {
	for i, a := range m.Adapters {
		p.adapter(element("connection_manager.adapters", i), a)
	}
}

func (p *vertexChecker) adapter(path string, a Adapter) {
	if p.present(path+".name", a.Name) {
		p.unique(path+".name", "adapter", a.Name)
	}
	p.word(path+".type", a.Type, UDP, Florio)
	p.adapters[a.Name] = a.Type
	own, known := adapterFields[a.Type]
	if !known {
		return
	}
	p.variant(path, a.Type, []field{{"listen", a.Listen}, {"vertex", a.Vertex}}, own)
	if a.Type == UDP && a.Listen != "" {
		p.listen(path+".listen", a.Listen)
	}
	if a.Type == Florio {
		p.principal(path+".vertex", a.Vertex, KindVertex)
	}
}

func (p *vertexChecker) workload(path string, w VertexWorkload) {
	if p.principal(path+".spiffe_id", w.SPIFFEID, KindUser, KindService, KindNode, KindVertex) {
		p.unique(path+".spiffe_id", "workload", w.SPIFFEID)
	}
	if len(w.IO) == 0 {
		p.fault(NoIO, path+".io", "must have at least one io")
	}
	for i, io := range w.IO {
		p.io(element(path+".io", i), io)
	}
}

func (p *vertexChecker) io(path string, io IO) {
	p.word(path+".kind", io.Kind, SOCKS5, Forward, TCP, Embedded, Florio)
	own, known := ioFields[io.Kind]
	if !known {
		return
	}
	p.variant(path, io.Kind, []field{{"listen", io.Listen}, {"target", io.Target}, {"upstream", io.Upstream}}, own)
	if slices.Contains(own, "listen") {
		p.listen(path+".listen", io.Listen)
	}
	if slices.Contains(own, "target") {
		p.principal(path+".target", io.Target, KindService, KindVertex)
	}
	if slices.Contains(own, "upstream") {
		p.addr(path+".upstream", io.Upstream)
	}
}

func (p *vertexChecker) links(path string, l LinkList) {
	p.word(path+".type", l.Type, List)
	for i, m := range l.Members {
		p.link(element(path+".members", i), m)
	}
}

func (p *vertexChecker) link(path string, l Link) {
	if p.present(path+".name", l.Name) {
		p.unique(path+".name", "link", l.Name)
	}
	p.principal(path+".peer", l.Peer, KindService, KindVertex)
	p.word(path+".via.type", l.Via.Type, UDP, Florio)
	if p.present(path+".via.adapter", l.Via.Adapter) && p.adapters[l.Via.Adapter] != l.Via.Type {
		p.fault(BadAdapter, path+".via.adapter", "%.80q is not a declared adapter of type %.80q", l.Via.Adapter, l.Via.Type)
	}
	own, known := viaFields[l.Via.Type]
	if !known {
		return
	}
	p.variant(path+".via", l.Via.Type, []field{{"addr", l.Via.Addr}}, own)
	if l.Via.Type == UDP {
		p.addr(path+".via.addr", l.Via.Addr)
	}
}

func (p *vertexChecker) rules(table string, rules []Rule) {
	for i, r := range rules {
		path := element(table, i)
		if p.principal(path+".target", r.Target, KindService, KindVertex) {
			p.unique(path+".target", table+" target", r.Target)
		}
		for j, id := range r.Allow {
			p.principal(element(path+".allow", j), id, initiators...)
		}
	}
}

// checkLink checks what holds for a link vertex only: that its parts fit.
func (v *Vertex) checkLink(p *vertexChecker) {
	v.checkUDPAdapter(p)
	served, peers := v.served(), v.peers()
	for i, r := range v.Ingress {
		if r.Target != "" && !served[r.Target] {
			p.fault(UnservedTarget, fmt.Sprintf("ingress[%d].target", i), "%.300s is not a workload with a tcp or embedded io", r.Target)
		}
	}
	for i, r := range v.Egress {
		if r.Target != "" && !served[r.Target] && !peers[r.Target] {
			p.fault(UnreachedTarget, fmt.Sprintf("egress[%d].target", i), "%.300s is neither a link's peer nor served here", r.Target)
		}
	}
	v.checkForwards(p)
	p.checkHostnames()
}

func (v *Vertex) checkUDPAdapter(p *vertexChecker) {
	n := 0
	for _, a := range v.ConnectionManager.Adapters {
		if a.Type == UDP {
			n++
		}
	}
	if n != 1 {
		p.fault(UDPAdapters, "connection_manager.adapters", "a link vertex must have exactly one udp adapter, not %d", n)
	}
}

// served returns the targets that the vertex serves itself.
func (v *Vertex) served() map[string]bool {
	served := make(map[string]bool)
	for _, w := range v.Workloads {
		for _, io := range w.IO {
			if io.Kind == TCP || io.Kind == Embedded {
				served[w.SPIFFEID] = true
			}
		}
	}
	return served
}

// peers returns the targets that a link leads to.
func (v *Vertex) peers() map[string]bool {
	peers := make(map[string]bool)
	for _, l := range v.Links {
		for _, m := range l.Members {
			peers[m.Peer] = true
		}
	}
	return peers
}

func (v *Vertex) checkForwards(p *vertexChecker) {
	allowed := make(map[[2]string]bool)
	for _, r := range v.Egress {
		for _, id := range r.Allow {
			allowed[[2]string{id, r.Target}] = true
		}
	}
	for i, w := range v.Workloads {
		for j, io := range w.IO {
			if io.Kind == Forward && io.Target != "" && !allowed[[2]string{w.SPIFFEID, io.Target}] {
				p.fault(ForwardDenied, fmt.Sprintf("workloads[%d].io[%d].target", i, j), "egress does not allow %.300s to %.300s", io.Target, w.SPIFFEID)
			}
		}
	}
}

// checkHostnames faults two IDs with one hostname, at the first place of the
// second: a target is found by its hostname (VTX-2).
func (p *vertexChecker) checkHostnames() {
	owners := make(map[string]spiffeid.ID)
	checked := make(map[spiffeid.ID]bool)
	for _, n := range p.named {
		if checked[n.id] {
			continue
		}
		checked[n.id] = true
		host, err := Hostname(n.id)
		if err != nil {
			p.fault(BadHostname, n.path, "%v", err)
			continue
		}
		if owner, taken := owners[host]; taken {
			p.fault(HostnameClash, n.path, "%s and %s have the same hostname, %s", n.id, owner, host)
			continue
		}
		owners[host] = n.id
	}
}
