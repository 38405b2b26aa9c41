package vertex_test

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
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

// The standard library's HTTP server and client work over Listen and Dial, with
// no port on loopback; the handler knows who asks from the certificate.
func ExampleVertex_Listen_http() {
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
	l, err := v.Listen(web)
	if err != nil {
		fmt.Println(err)
		return
	}
	type peerKey struct{}
	server := &http.Server{
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, peerKey{}, c.(*vertex.Conn).Peer())
		},
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprintf(w, "hello %s", r.Context().Value(peerKey{}))
		}),
	}
	running.Go(func() { _ = server.Serve(l) }) // ends with the vertex
	answer, err := get(ctx, v)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(answer)
	// Output: hello spiffe://demo/user/alice
}

// get asks web over HTTP as alice.
func get(ctx context.Context, v *vertex.Vertex) (string, error) {
	if err := v.WaitReady(ctx); err != nil {
		return "", err
	}
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return v.Dial(ctx, alice, web)
	}}
	defer transport.CloseIdleConnections()
	response, err := (&http.Client{Transport: transport}).Get("http://web/")
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return string(body), err
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

// The lists of a vertex that runs are changed by changing its payload and applying
// it again; whoever is connected and no longer allowed is cut off. What differs in
// more than lists, links, revocations and local ports needs a new vertex.
func ExampleVertex_Apply() {
	now := payload()
	v, err := vertex.New(now, certificates{}, vertex.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = v.Run(ctx) })
	defer running.Wait()
	defer stop()
	if err := v.WaitReady(ctx); err != nil {
		fmt.Println(err)
		return
	}

	now.Ingress = nil
	fmt.Println(v.Apply(now))
	_, err = v.Dial(ctx, alice, web)
	if refusal, ok := errors.AsType[*vertex.Error](err); ok {
		fmt.Println(refusal.Reason, refusal.Reason.Code(), "worth another try:", refusal.Reason.Again())
	}

	now.ConnectionManager.Adapters[0].Listen = "127.0.0.1:4433"
	fmt.Println(errors.Is(v.Apply(now), vertex.ErrRestart))
	// Output:
	// <nil>
	// denied-ingress FL4102 worth another try: false
	// true
}
