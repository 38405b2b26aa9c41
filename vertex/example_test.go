package vertex_test

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/spiffe/go-spiffe/v2/bundle/x509bundle"
	"github.com/spiffe/go-spiffe/v2/spiffeid"
	"github.com/spiffe/go-spiffe/v2/svid/x509svid"

	"github.com/florete/flor/envelope/envelopetest"
	"github.com/florete/flor/envelope/schema"
	"github.com/florete/flor/vertex"
)

var (
	authority = envelopetest.NewAuthority("demo")
	alice     = spiffeid.RequireFromPath(authority.TrustDomain, "/user/alice")
	web       = spiffeid.RequireFromPath(authority.TrustDomain, "/service/web")
)

// certificates issues whatever it is asked for; a real program reads a store.
type certificates struct{}

func (certificates) SVID(id spiffeid.ID) (*x509svid.SVID, error) {
	issued := authority.Issue(id)
	return &x509svid.SVID{ID: id, Certificates: []*x509.Certificate{issued.Cert}, PrivateKey: issued.Key}, nil
}

func (certificates) Bundle() (*x509bundle.Bundle, error) {
	return x509bundle.FromX509Authorities(authority.TrustDomain, []*x509.Certificate{authority.CA}), nil
}

// payload lets alice reach web, both served inside this process.
func payload() *schema.Vertex {
	inside := []schema.IO{{Kind: "embedded"}}
	allow := []schema.Rule{{Target: web.String(), Allow: []string{alice.String()}}}
	return &schema.Vertex{
		SchemaVersion: schema.VertexVersion, Kind: "link",
		TransportEndpoint: schema.TransportEndpoint{Type: "quic"},
		ConnectionManager: schema.ConnectionManager{Adapters: []schema.Adapter{{Name: "wire", Type: "udp"}}},
		Workloads:         []schema.VertexWorkload{{SPIFFEID: alice.String(), IO: inside}, {SPIFFEID: web.String(), IO: inside}},
		Ingress:           allow, Egress: allow,
	}
}

// A program that embeds a vertex serves and calls principals of a rete.
func Example() {
	v, err := vertex.New(payload(), certificates{}, vertex.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = v.Run(ctx) })
	defer running.Wait()
	defer stop()
	if err := errors.Join(v.WaitReady(ctx), greetOnce(v, &running), call(ctx, v)); err != nil {
		fmt.Println(err)
	}
	// Output: hello spiffe://demo/user/alice
}

// greetOnce serves one connection to web.
func greetOnce(v *vertex.Vertex, running *sync.WaitGroup) error {
	l, err := v.Listen(web)
	if err != nil {
		return err
	}
	running.Go(func() {
		defer l.Close()
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		fmt.Fprintf(conn, "hello %s", conn.(*vertex.Conn).Peer())
	})
	return nil
}

// call connects to web as alice.
func call(ctx context.Context, v *vertex.Vertex) error {
	conn, err := v.Dial(ctx, alice, web)
	if err != nil {
		return err
	}
	defer conn.Close()
	greeting, err := io.ReadAll(conn)
	fmt.Println(string(greeting))
	return err
}
