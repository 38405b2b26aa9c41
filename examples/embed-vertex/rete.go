package main

import (
	"context"
	"crypto/x509"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/spiffe/go-spiffe/v2/bundle/x509bundle"
	"github.com/spiffe/go-spiffe/v2/spiffeid"
	"github.com/spiffe/go-spiffe/v2/svid/x509svid"

	"github.com/florete/flor/compiler/ca"
	"github.com/florete/flor/envelope/schema"
	"github.com/florete/flor/vertex"
)

// rete is a whole network in memory: a CA, three principals, and where the
// gateway's vertex is reached. It is the Identities of both vertices.
type rete struct {
	authority       *ca.Authority
	alice, bob, web spiffeid.ID
	svids           map[spiffeid.ID]*x509svid.SVID
	gateway         string
}

const day = 24 * time.Hour

func newRete() (*rete, error) {
	td := spiffeid.RequireTrustDomainFromString("demo")
	key, err := ca.NewKey()
	if err != nil {
		return nil, err
	}
	authority, err := ca.NewAuthority(td, key, day, time.Now())
	if err != nil {
		return nil, err
	}
	r := &rete{
		authority: authority, svids: map[spiffeid.ID]*x509svid.SVID{},
		alice: spiffeid.RequireFromPath(td, "/user/alice"),
		bob:   spiffeid.RequireFromPath(td, "/user/bob"),
		web:   spiffeid.RequireFromPath(td, "/service/web"),
	}
	for _, id := range []spiffeid.ID{r.alice, r.bob, r.web} {
		if err := r.issue(id); err != nil {
			return nil, err
		}
	}
	r.gateway, err = freePort()
	return r, err
}

func (r *rete) issue(id spiffeid.ID) error {
	key, err := ca.NewKey()
	if err != nil {
		return err
	}
	cert, err := r.authority.Issue(id, key.Public(), day, time.Now())
	r.svids[id] = &x509svid.SVID{ID: id, Certificates: []*x509.Certificate{cert}, PrivateKey: key}
	return err
}

// SVID and Bundle make a rete the vertices' Identities.
func (r *rete) SVID(id spiffeid.ID) (*x509svid.SVID, error) {
	svid, ok := r.svids[id]
	if !ok {
		return nil, fmt.Errorf("no certificate for %s", id)
	}
	return svid, nil
}

func (r *rete) Bundle() (*x509bundle.Bundle, error) {
	return x509bundle.FromX509Authorities(r.authority.TrustDomain(), []*x509.Certificate{r.authority.Certificate()}), nil
}

// freePort finds a UDP port on loopback that nobody has now.
func freePort() (string, error) {
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer c.Close()
	return c.LocalAddr().String(), nil
}

func (r *rete) allow(ids ...spiffeid.ID) []schema.Rule {
	rule := schema.Rule{Target: r.web.String()}
	for _, id := range ids {
		rule.Allow = append(rule.Allow, id.String())
	}
	return []schema.Rule{rule}
}

func embedded(id spiffeid.ID) schema.VertexWorkload {
	return schema.VertexWorkload{SPIFFEID: id.String(), IO: []schema.IO{{Kind: "embedded"}}}
}

func udp(listen string, workloads ...schema.VertexWorkload) *schema.Vertex {
	return &schema.Vertex{
		SchemaVersion: schema.VertexVersion, Kind: "link",
		TransportEndpoint: schema.TransportEndpoint{Type: "quic"},
		ConnectionManager: schema.ConnectionManager{Adapters: []schema.Adapter{{Name: "wire", Type: "udp", Listen: listen}}},
		Workloads:         workloads,
	}
}

// gatewayPayload serves web in this process, for alice only.
func (r *rete) gatewayPayload() *schema.Vertex {
	p := udp(r.gateway, embedded(r.web))
	p.Ingress = r.allow(r.alice)
	return p
}

// peoplePayload reaches web for alice and bob.
func (r *rete) peoplePayload() *schema.Vertex {
	p := udp("", embedded(r.alice), embedded(r.bob))
	p.Egress = r.allow(r.alice, r.bob)
	p.Links = []schema.LinkList{{Type: "list", Members: []schema.Link{
		{Name: "gateway", Peer: r.web.String(), Via: schema.LinkVia{Type: "udp", Adapter: "wire", Addr: r.gateway}},
	}}}
	return p
}

// raise runs a vertex until ctx ends.
func raise(ctx context.Context, running *sync.WaitGroup, payload *schema.Vertex, r *rete) (*vertex.Vertex, error) {
	v, err := vertex.New(payload, r, vertex.Options{})
	if err != nil {
		return nil, err
	}
	running.Go(func() { _ = v.Run(ctx) })
	return v, v.WaitReady(ctx)
}
