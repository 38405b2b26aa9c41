package main

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/spiffe/go-spiffe/v2/spiffeid"

	"github.com/florete/flor/envelope/envelopetest"
	"github.com/florete/flor/envelope/schema"
)

var (
	authority = envelopetest.NewAuthority("bench")
	signer    = authority.Signer("primary")
	client    = spiffeid.RequireFromPath(authority.TrustDomain, "/user/client")
	target    = spiffeid.RequireFromPath(authority.TrustDomain, "/service/target")

	crowdClient  = spiffeid.RequireFromPath(authority.TrustDomain, "/user/crowd")
	crowdService = spiffeid.RequireFromPath(authority.TrustDomain, "/service/crowd")
)

// build compiles flor-vertex as it is in this module.
func build(ctx context.Context, dir string) (string, error) {
	program := filepath.Join(dir, "flor-vertex")
	cmd := exec.CommandContext(ctx, "go", "build", "-o", program, "github.com/florete/flor/cmd/flor-vertex")
	if said, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building flor-vertex (run this inside the module, or give -vertex): %w\n%s", err, said)
	}
	return program, nil
}

// ports are the addresses of a pair: where clients enter, the UDP sockets of
// its vertices, the path between them, and where the crowd is served.
type ports struct{ entry, near, far, between, crowd string }

// raisePair starts two vertices, one with the client and one with the service.
func (p plan) raisePair(ctx context.Context, dir, name, program, backend string) (way, error) {
	at, err := freePorts()
	if err != nil {
		return way{}, err
	}
	var closePath func()
	if at.between, closePath, err = p.between(at.far); err != nil {
		return way{}, err
	}
	far, err := node{program: program, payload: farPayload(at, backend)}.start(ctx, dir)
	if err != nil {
		closePath()
		return way{}, err
	}
	near, err := node{program: program, payload: p.nearPayload(at)}.start(ctx, dir)
	if err != nil {
		stopAll(far)
		closePath()
		return way{}, err
	}
	w := way{
		name: name, dial: p.entry(at), procs: []*os.Process{near.Process, far.Process},
		crowd: &crowd{dir: dir, vertex: program, target: at.far, service: at.crowd},
	}
	w.stop = func() {
		stopAll(near, far)
		closePath()
	}
	if err := awaitWay(w); err != nil {
		w.stop()
		return way{}, err
	}
	return w, nil
}

func freePorts() (at ports, err error) {
	var errs [4]error
	at.entry, errs[0] = freePort()
	at.near, errs[1] = freePort()
	at.far, errs[2] = freePort()
	at.crowd, errs[3] = freePort()
	return at, errors.Join(errs[:]...)
}

func (p plan) entry(at ports) func() (net.Conn, error) {
	if p.forward {
		return dialTCP(at.entry)
	}
	return dialSOCKS(at.entry, "target.bench.rete:80")
}

// allow lets the client reach the service.
func allow() []schema.Rule {
	return []schema.Rule{{Target: target.String(), Allow: []string{client.String()}}}
}

func payload(listen string, id spiffeid.ID, io schema.IO) *schema.Vertex {
	return &schema.Vertex{
		SchemaVersion: schema.VertexVersion, Kind: "link",
		TransportEndpoint: schema.TransportEndpoint{Type: "quic"},
		ConnectionManager: schema.ConnectionManager{Adapters: []schema.Adapter{{Name: "wire", Type: "udp", Listen: listen}}},
		Workloads:         []schema.VertexWorkload{{SPIFFEID: id.String(), IO: []schema.IO{io}}},
		Links:             []schema.LinkList{}, Ingress: []schema.Rule{}, Egress: []schema.Rule{}, Revoked: []string{},
	}
}

// farPayload serves the client's target, and beside it the crowd's.
func farPayload(at ports, backend string) *schema.Vertex {
	v := payload(at.far, target, schema.IO{Kind: "tcp", Upstream: backend})
	v.Workloads = append(v.Workloads, schema.VertexWorkload{
		SPIFFEID: crowdService.String(), IO: []schema.IO{{Kind: "tcp", Upstream: at.crowd}},
	})
	v.Ingress = append(allow(), crowdRule())
	return v
}

func (p plan) nearPayload(at ports) *schema.Vertex {
	io := schema.IO{Kind: "socks5", Listen: at.entry}
	if p.forward {
		io = schema.IO{Kind: "forward", Listen: at.entry, Target: target.String()}
	}
	v := payload(at.near, client, io)
	v.Egress = allow()
	v.Links = link("target", target, at.between)
	return v
}

func link(name string, peer spiffeid.ID, addr string) []schema.LinkList {
	return []schema.LinkList{{Type: "list", Members: []schema.Link{
		{Name: name, Peer: peer.String(), Via: schema.LinkVia{Type: "udp", Adapter: "wire", Addr: addr}},
	}}}
}

// node is one vertex to run.
type node struct {
	program    string
	payload    *schema.Vertex
	background bool // at the lowest priority
}

// start writes what a vertex needs into a place of its own and runs it there.
func (n node) start(ctx context.Context, dir string) (*exec.Cmd, error) {
	root, err := os.MkdirTemp(dir, "node")
	if err != nil {
		return nil, err
	}
	artifact := filepath.Join(root, "flor.json")
	if err := n.write(root, artifact); err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(root, "log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.CommandContext(ctx, n.program)
	if n.background {
		cmd = background(ctx, n.program)
	}
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = append(os.Environ(),
		"FLORWL_SCOPE=bench", "FLORWL_NAME=flor", "FLORWL_MGMT_ARTIFACT="+artifact,
		"FLORWL_SCOPE_ROOT="+root, "FLORWL_RUNTIME_ROOT="+root, "FLORWL_STATE_DIR="+root,
		"FLORWL_CONTROL_SOCKET="+filepath.Join(root, "flor.sock"))
	return cmd, cmd.Start()
}

// write writes a scope as far as a vertex looks at it.
func (n node) write(root, artifact string) error {
	files := map[string][]byte{
		"identity/rete.json": []byte(`{"trust_domain":"bench"}` + "\n"),
		"identity/ca.crt":    certificatePEM(authority.CA),
	}
	for _, w := range n.payload.Workloads {
		id, err := spiffeid.FromString(w.SPIFFEID)
		if err != nil {
			return err
		}
		issued := authority.Issue(id)
		key, err := x509.MarshalPKCS8PrivateKey(issued.Key)
		if err != nil {
			return err
		}
		stem := filepath.Join("identity", "certs", schema.Leaf(id))
		files[stem+".crt"] = certificatePEM(issued.Cert)
		files[stem+".key"] = pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})
	}
	for name, data := range files {
		if err := write(filepath.Join(root, name), data); err != nil {
			return err
		}
	}
	return write(artifact, signer.Sign("node", "flor", 1, n.payload))
}

func certificatePEM(c *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})
}

func write(path string, data []byte) error {
	return errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, data, 0o600))
}
