package tunnel

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/florete/flor/conformance/internal/peer"
	"github.com/florete/flor/conformance/internal/rete"
	"github.com/florete/flor/conformance/internal/trial"
	"github.com/florete/flor/envelope/schema"
)

// Vertex is a machine with a vertex.
type Vertex struct {
	Rete    *rete.Rete
	Root    rete.Scope
	Web     *Service // behind service/web
	Addr    string   // of the UDP adapter
	SOCKS   string   // of alice
	Payload *schema.Vertex
	Process *trial.Process
	Env     []string

	t      *trial.T
	argv   []string
	socket string
}

// New makes a machine with identities of alice and web. The payload may be
// changed before Start.
func New(t *trial.T, argv []string) *Vertex {
	dir, host := t.Dir(), t.Host()
	v := &Vertex{
		Rete: rete.New("rete-lovers"), Root: rete.Scope(filepath.Join(dir, "scope")), Web: NewService(t),
		Addr: t.Address(host), SOCKS: t.Address(host),
		t: t, argv: argv, socket: filepath.Join(dir, "run", "flor.sock"),
	}
	t.Check(v.Rete.Anchor(v.Root, v.Rete.Issue("/user/alice"), v.Rete.Issue("/service/web")), "write identities")
	t.Check(os.Mkdir(filepath.Dir(v.socket), 0o700), "make the runtime root")
	t.Check(os.MkdirAll(v.Root.Path("workloads/flor"), 0o700), "make the state directory")
	v.Payload = v.payload()
	return v
}

func (v *Vertex) payload() *schema.Vertex {
	id := v.Rete.ID
	return &schema.Vertex{
		SchemaVersion: "1.0", Kind: "link",
		TransportEndpoint: schema.TransportEndpoint{Type: "quic"},
		ConnectionManager: schema.ConnectionManager{Adapters: []schema.Adapter{{Name: "wire", Type: "udp", Listen: v.Addr}}},
		Workloads: []schema.VertexWorkload{
			{SPIFFEID: id("/user/alice"), IO: []schema.IO{{Kind: "socks5", Listen: v.SOCKS}}},
			{SPIFFEID: id("/service/web"), IO: []schema.IO{{Kind: "tcp", Upstream: v.Web.Addr}}},
		},
		Links:   []schema.LinkList{},
		Ingress: []schema.Rule{{Target: id("/service/web"), Allow: []string{id("/user/alice"), id("/user/bob")}}},
		Egress:  []schema.Rule{{Target: id("/service/web"), Allow: []string{id("/user/alice")}}},
		Revoked: []string{},
	}
}

// Link leads to a service at a peer, and lets alice go there.
func (v *Vertex) Link(path, addr string) {
	id := v.Rete.ID(path)
	v.Payload.Links = append(v.Payload.Links, schema.LinkList{Type: "list", Members: []schema.Link{
		{Name: strings.ReplaceAll(strings.Trim(path, "/"), "/", "-"), Peer: id, Via: schema.LinkVia{Type: "udp", Adapter: "wire", Addr: addr}},
	}})
	v.Payload.Egress = append(v.Payload.Egress, schema.Rule{Target: id, Allow: []string{v.Rete.ID("/user/alice")}})
}

// Artifact writes a signed artifact of a payload, and returns its path.
func (v *Vertex) Artifact(version uint64, payload any) string {
	name := fmt.Sprintf("artifacts/mgmt/sets/v%d/flor.json", version)
	v.t.Check(v.Root.Write(name, v.Rete.Primary.Sign("alpha", "flor", version, payload)), "write an artifact")
	return v.Root.Path(name)
}

// environ is that of a workload which is part of flor (SUP-1).
func (v *Vertex) environ(artifact string) []string {
	env := slices.DeleteFunc(os.Environ(), func(e string) bool { return strings.HasPrefix(e, "FLOR") })
	env = append(env,
		"FLORWL_SCOPE=demo", "FLORWL_NAME=flor", "FLORWL_MGMT_ARTIFACT="+artifact,
		"FLORWL_STATE_DIR="+v.Root.Path("workloads/flor"), "FLORWL_CONTROL_SOCKET="+v.socket,
		"FLORWL_SCOPE_ROOT="+string(v.Root), "FLORWL_RUNTIME_ROOT="+filepath.Dir(v.socket))
	return append(env, v.Env...)
}

// Run starts the program on an artifact, with further arguments.
func (v *Vertex) Run(artifact string, args ...string) *trial.Process {
	v.Process = v.t.Start(append(slices.Clone(v.argv), args...), v.environ(artifact))
	return v.Process
}

// Judge has the program judge an artifact, as an agent does before it stages a set
// (AGT-4), and returns its exit code.
func (v *Vertex) Judge(artifact string) int { return v.Run(artifact, "--check", artifact).Exit() }

// Start starts the vertex on its payload and waits until it serves.
func (v *Vertex) Start() {
	v.Run(v.Artifact(1, v.Payload))
	v.Until("the vertex must become ready: GET /v1/ready on FLORWL_CONTROL_SOCKET must answer that it is, and waits for nothing", func(r Readiness) bool { return r.Ready && len(r.Waiting) == 0 })
}

// Readiness is what a vertex says of itself (SUP-11).
type Readiness struct {
	Ready     bool     `json:"ready"`
	Listening []string `json:"listening"`
	Waiting   []string `json:"waiting"`
}

// Until waits until the vertex says of itself what the words say.
func (v *Vertex) Until(words string, so func(Readiness) bool) {
	v.Process.Await(words, func() bool {
		var r Readiness
		text, err := v.call(http.MethodGet, "/v1/ready", nil)
		return err == nil && json.Unmarshal(text, &r) == nil && so(r)
	})
}

// Serves tells whether the vertex says of itself that it is ready.
func (v *Vertex) Serves() bool {
	var r Readiness
	text, err := v.call(http.MethodGet, "/v1/ready", nil)
	return err == nil && json.Unmarshal(text, &r) == nil && r.Ready
}

// Apply offers the payload as a newer artifact and returns the result (SUP-11).
func (v *Vertex) Apply(version uint64, dryRun bool) string {
	body, err := json.Marshal(map[string]any{"mgmt_artifact": v.Artifact(version, v.Payload), "dry_run": dryRun})
	v.t.Check(err, "make a request")
	text, err := v.call(http.MethodPost, "/v1/apply", body)
	v.t.Check(err, "POST /v1/apply on the control channel")
	var answer struct {
		Result string `json:"result"`
	}
	if json.Unmarshal(text, &answer) != nil || answer.Result == "" {
		v.t.Fatalf("POST /v1/apply is answered %s; it must be {\"result\":…}", text)
	}
	return answer.Result
}

func (v *Vertex) call(method, path string, body []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(v.t.Context(), method, "http://flor"+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	client := &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", v.socket)
		},
	}}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	v.t.Served()
	defer resp.Body.Close()
	return io.ReadAll(io.LimitReader(resp.Body, 1<<20))
}

// Metrics are the counters of the vertex.
func (v *Vertex) Metrics() string {
	text, err := v.call(http.MethodGet, "/metrics", nil)
	v.t.Check(err, "GET /metrics on the control channel")
	return string(text)
}

// Bob is what bob's vertex shows to reach web.
func (v *Vertex) Bob() peer.Offer {
	return peer.Offer{Identity: v.Rete.Issue("/user/bob"), Name: "web." + v.Rete.Domain + ".rete", Protocols: peer.Both}
}

// Dial connects as bob to web.
func (v *Vertex) Dial() *peer.Conn {
	conn, err := peer.Open(v.t).Dial(v.Addr, v.Bob())
	v.t.Check(err, "shake hands as an initiator that is allowed")
	return conn
}

// FreeTCP is an address on loopback where nobody listens.
func FreeTCP(t *trial.T) string { return t.Address(t.Host()) }

// DeadUDP is an address where packets arrive and nobody answers.
func DeadUDP(t *trial.T) string {
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	t.Check(err, "open a UDP socket")
	t.Cleanup(func() { _ = c.Close() })
	return c.LocalAddr().String()
}
