package compiler

import (
	"cmp"
	"context"
	"net/netip"
	"runtime"
	"slices"
	"strings"

	"github.com/spiffe/go-spiffe/v2/spiffeid"
	"golang.org/x/sync/errgroup"

	"github.com/florete/flor/envelope"
	"github.com/florete/flor/envelope/schema"
	"github.com/florete/flor/relay/config"
)

// Names that the projection gives to artifacts, workloads and adapters (CMP-12,
// CMP-13). An artifact and the workload that consumes it share one name.
const (
	VertexName      = "flor"
	CoordinatorName = "coordinator"

	vertexProgram      = "flor-vertex"
	coordinatorProgram = "flor-coordinator"
	adapterName        = "wire"
)

// NodePayloads is everything that one node needs to know, before it gets a
// version and a signature (CMP-12).
type NodePayloads struct {
	Node   string
	Agent  *schema.Agent
	Vertex *schema.Vertex
	// Coordinator is nil but on the management node.
	Coordinator *config.Config
}

// Payload is one artifact-to-be of a node.
type Payload struct {
	Name  string
	Value any
}

// Payloads lists what the node gets: the root first, then in inventory order.
func (p NodePayloads) Payloads() []Payload {
	list := []Payload{{envelope.AgentName, p.Agent}, {VertexName, p.Vertex}}
	if p.Coordinator != nil {
		list = append(list, Payload{CoordinatorName, p.Coordinator})
	}
	return list
}

// Project derives every node's payloads from a validated network (CMP-11 …
// CMP-14), ordered by node. It depends on v alone. Nodes are projected in
// parallel; an error means that the view was not one that Validate made, or
// that ctx ended. Compile holds each payload against its consumer's schema
// before it signs it.
func Project(ctx context.Context, v *View) ([]NodePayloads, error) {
	if err := v.usable(); err != nil {
		return nil, err
	}
	trust, err := trustBlock(v.Signers)
	if err != nil {
		return nil, err
	}
	out := make([]NodePayloads, len(v.Nodes))
	err = eachNode(ctx, len(v.Nodes), func(i int) error {
		out[i] = projectNode(v, v.Nodes[i], trust)
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(out, func(a, b NodePayloads) int { return cmp.Compare(a.Node, b.Node) })
	return out, nil
}

// eachNode calls do for 0 … n-1 on as many processors as there are, and
// returns the first error. It starts no more once ctx has ended.
func eachNode(ctx context.Context, n int, do func(i int) error) error {
	group, running := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range n {
		if running.Err() != nil {
			break
		}
		group.Go(func() error { return do(i) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return ctx.Err()
}

func projectNode(v *View, n *Node, trust envelope.Block) NodePayloads {
	p := NodePayloads{
		Node:   n.Name,
		Agent:  projectAgent(v, n, trust),
		Vertex: projectVertex(v, n),
	}
	if n == v.Management {
		p.Coordinator = projectCoordinator(v)
	}
	return p
}

// validate runs each consumer's own schema over its payload (CMP-16).
func (p NodePayloads) validate() error {
	if err := p.Agent.Validate(); err != nil {
		return projectionInvalid(p.Node, envelope.AgentName, err)
	}
	if err := p.Vertex.Validate(); err != nil {
		return projectionInvalid(p.Node, VertexName, err)
	}
	if p.Coordinator == nil {
		return nil
	}
	if err := p.Coordinator.Validate(); err != nil {
		return projectionInvalid(p.Node, CoordinatorName, err)
	}
	return nil
}

func projectionInvalid(node, name string, err error) error {
	ref := envelope.Ref{Node: node, Plane: envelope.Mgmt, Name: name}
	return refuse(ReasonProjectionInvalid, "%s: %w; this is a defect of the compiler: nothing was written, please report it", ref, err)
}

// trustBlock lists the signers by ID: their order in the YAML says who signs,
// and moving a line must not move a version.
func trustBlock(signers []*Signer) (envelope.Block, error) {
	var block envelope.Block
	for _, s := range signers {
		entry, err := envelope.NewEntry(s.Cert)
		if err != nil {
			return block, refuse(ReasonProjectionInvalid, "signer %s: %w", s.Name, err)
		}
		block.Mgmt = append(block.Mgmt, entry)
	}
	slices.SortFunc(block.Mgmt, func(a, b envelope.Entry) int { return cmp.Compare(a.SPIFFEID, b.SPIFFEID) })
	return block, nil
}

func projectAgent(v *View, n *Node, trust envelope.Block) *schema.Agent {
	workloads := []schema.Workload{{Name: VertexName, Run: []string{vertexProgram}}}
	if n == v.Management {
		workloads = append(workloads, schema.Workload{Name: CoordinatorName, Run: []string{coordinatorProgram}})
	}
	sync := schema.Sync{Principal: n.ID.String(), Coordinator: v.Coordinator.ID.String()}
	if v.PollInterval > 0 {
		sync.PollInterval = v.PollInterval.String()
	}
	return &schema.Agent{
		SchemaVersion: schema.AgentVersion,
		Trust:         trust,
		Workloads:     workloads,
		Inbounds:      projectInbounds(n),
		Sync:          sync,
	}
}

func projectInbounds(n *Node) []schema.Inbound {
	var inbounds []schema.Inbound
	for _, l := range localsOf(n) {
		if l.socks5.IsValid() {
			via := schema.InboundVia{Kind: schema.SOCKS5, Addr: l.socks5.String()}
			inbounds = append(inbounds, schema.Inbound{Principal: l.principal.ID.String(), Via: via})
		}
	}
	return inbounds
}

func projectCoordinator(v *View) *config.Config {
	c := &config.Config{SchemaVersion: config.SchemaVersion}
	c.Listen.Sync = v.Coordinator.Upstream.String()
	c.Listen.Publish = v.Publisher.Upstream.String()
	return c
}

// local is a principal that lives on the node, with how it is wired to the
// vertex there.
type local struct {
	principal *Principal
	socks5    netip.AddrPort
	forwards  []Forward
	service   *Service // nil but for a service
}

// localsOf lists the node's principals in the order of CMP-13: the node, the
// users with a device here, the services here.
func localsOf(n *Node) []local {
	locals := []local{{principal: &n.Principal, socks5: n.SOCKS5}}
	for _, d := range n.Devices {
		locals = append(locals, local{principal: &d.User.Principal, socks5: d.SOCKS5, forwards: d.Forwards})
	}
	for _, s := range n.Services {
		locals = append(locals, local{principal: &s.Principal, socks5: s.SOCKS5, forwards: s.Forwards, service: s})
	}
	return locals
}

func projectVertex(v *View, n *Node) *schema.Vertex {
	locals := localsOf(n)
	targets := targetsOf(locals)
	adapter := schema.Adapter{Name: adapterName, Type: schema.UDP}
	if n.Vertex.Listen.IsValid() {
		adapter.Listen = n.Vertex.Listen.String()
	}
	return &schema.Vertex{
		SchemaVersion:     schema.VertexVersion,
		Kind:              schema.LinkVertex,
		TransportEndpoint: schema.TransportEndpoint{Type: schema.QUIC},
		ConnectionManager: schema.ConnectionManager{Adapters: []schema.Adapter{adapter}},
		Workloads:         projectWorkloads(locals),
		Links:             projectLinks(targets),
		Ingress:           projectIngress(n),
		Egress:            projectEgress(targets),
		Revoked:           append([]string{}, v.Revoked...),
	}
}

func projectWorkloads(locals []local) []schema.VertexWorkload {
	workloads := make([]schema.VertexWorkload, 0, len(locals))
	for _, l := range locals {
		workloads = append(workloads, schema.VertexWorkload{SPIFFEID: l.principal.ID.String(), IO: l.io()})
	}
	return workloads
}

// io is how the principal and the vertex meet: the way in first, then the way
// out, then fixed ports by their address.
func (l local) io() []schema.IO {
	var io []schema.IO
	if l.service != nil {
		io = append(io, servedBy(l.service))
	}
	if l.socks5.IsValid() {
		io = append(io, schema.IO{Kind: schema.SOCKS5, Listen: l.socks5.String()})
	}
	for _, f := range sortedForwards(l.forwards) {
		io = append(io, schema.IO{Kind: schema.Forward, Listen: f.Listen.String(), Target: f.Target.ID.String()})
	}
	return io
}

func sortedForwards(forwards []Forward) []Forward {
	return slices.SortedFunc(slices.Values(forwards), func(a, b Forward) int { return a.Listen.Compare(b.Listen) })
}

func servedBy(s *Service) schema.IO {
	if s.Embedded {
		return schema.IO{Kind: schema.Embedded}
	}
	return schema.IO{Kind: schema.TCP, Upstream: dialable(s.Upstream).String()}
}

// dialable is where a program that listens on addr is dialled from its own
// machine: one that listens everywhere is dialled over loopback.
func dialable(addr netip.AddrPort) netip.AddrPort {
	if !addr.Addr().IsUnspecified() {
		return addr
	}
	if addr.Addr().Is4() {
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), addr.Port())
	}
	return netip.AddrPortFrom(netip.IPv6Loopback(), addr.Port())
}

// reach is a service that somebody here may reach, with who may.
type reach struct {
	service *Service
	by      []string
}

// targetsOf unites what the local principals may reach, ordered by ID.
func targetsOf(locals []local) []reach {
	index := map[*Service]*reach{}
	var found []*reach
	for _, l := range locals {
		for _, s := range l.principal.Targets() {
			r, ok := index[s]
			if !ok {
				r = &reach{service: s}
				index[s], found = r, append(found, r)
			}
			r.by = append(r.by, l.principal.ID.String())
		}
	}
	targets := make([]reach, 0, len(found))
	for _, r := range found {
		slices.Sort(r.by)
		targets = append(targets, *r)
	}
	slices.SortFunc(targets, func(a, b reach) int { return compareIDs(a.service.ID, b.service.ID) })
	return targets
}

func compareIDs(a, b spiffeid.ID) int { return strings.Compare(a.String(), b.String()) }

func projectLinks(targets []reach) []schema.LinkList {
	if len(targets) == 0 {
		return []schema.LinkList{}
	}
	members := make([]schema.Link, 0, len(targets))
	for _, t := range targets {
		members = append(members, schema.Link{
			Name: t.service.Name,
			Peer: t.service.ID.String(),
			Via:  schema.LinkVia{Type: schema.UDP, Adapter: adapterName, Addr: t.service.Node.Vertex.Address.String()},
		})
	}
	return []schema.LinkList{{Type: schema.List, Members: members}}
}

func projectEgress(targets []reach) []schema.Rule {
	rules := make([]schema.Rule, 0, len(targets))
	for _, t := range targets {
		rules = append(rules, schema.Rule{Target: t.service.ID.String(), Allow: t.by})
	}
	return rules
}

// projectIngress leaves out services that nobody may reach. Services are ordered
// by name, and so by ID.
func projectIngress(n *Node) []schema.Rule {
	rules := make([]schema.Rule, 0, len(n.Services))
	for _, s := range n.Services {
		initiators := s.Initiators()
		if len(initiators) == 0 {
			continue
		}
		allow := make([]string, 0, len(initiators))
		for _, p := range initiators {
			allow = append(allow, p.ID.String())
		}
		slices.Sort(allow)
		rules = append(rules, schema.Rule{Target: s.ID.String(), Allow: allow})
	}
	return rules
}
