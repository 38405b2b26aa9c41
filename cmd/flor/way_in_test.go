package main

import (
	"bytes"
	"crypto/x509"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spiffe/go-spiffe/v2/spiffeid"
	"github.com/spiffe/go-spiffe/v2/svid/x509svid"

	"github.com/florete/flor/conformance/lab/loopback"
	"github.com/florete/flor/envelope"
	"github.com/florete/flor/envelope/envelopetest"
	"github.com/florete/flor/envelope/schema"
	"github.com/florete/flor/store/bundle"
	"github.com/florete/flor/supervise/control"
)

// TestTheWayInWhenTheNetworkIsBroken breaks the road of a running node to its
// coordinator and mends it by a set that is handed in (AGT-6), with real agents
// and real vertices. What the vertex could not serve is refused before it
// replaces the one that runs (AGT-4.3).
func TestTheWayInWhenTheNetworkIsBroken(t *testing.T) {
	t.Parallel()
	lib := withVertex(t)
	p := newPair(t)
	beta := newStationOf(t, lib)
	beta.enrol(p.bundle("beta", p.beta(1), "node/beta", "service/coordinator"))
	beta.start()
	alpha := newStationOf(t, lib)
	alpha.enrol(p.bundle("alpha", p.alpha(1, p.road), "node/alpha"))
	p.from.publish(1, document(p.alpha(1, p.road)))
	alpha.start()
	contact := func(doc control.StatusDoc) bool { return doc.LastContact.After(doc.LastChange) && len(doc.Health) == 0 }
	alpha.until("contact over the rete", contact)

	broken := p.alphaUDP // alpha itself, which has no coordinator and says so at once
	p.from.publish(2, document(p.alpha(2, broken)))
	alpha.until("the broken set", func(doc control.StatusDoc) bool { return doc.Set.Active == 2 })
	alpha.says(3, "sync unreachable:", "agent", "sync")

	alpha.says(1, "FL1404 unservable: workload flor: ", "agent", "sync", "--from", alpha.file("newer.json", document(p.newer(3))))
	alpha.says(1, "upgrade", "agent", "sync", "--dry-run", "--from", alpha.file("newer.json", document(p.newer(3))))
	alpha.says(1, "FL1404 unservable: workload flor: ", "agent", "sync", "--from", alpha.file("faulty.json", document(p.faulty(3))))
	if doc := alpha.until("what runs", func(doc control.StatusDoc) bool { return len(doc.Workloads) == 1 }); doc.Workloads[0].State != "up" || doc.Set.Active != 2 {
		t.Errorf("after what could not be served: %+v %+v", doc.Set, doc.Workloads)
	}

	mended := document(p.alpha(3, p.road))
	alpha.says(0, "applied v3 over v2", "agent", "sync", "--from", alpha.file("mended.json", mended))
	p.from.publish(4, document(p.alpha(4, p.road)))
	alpha.until("v4 over the mended road", func(doc control.StatusDoc) bool { return doc.Set.Mark == 4 && contact(doc) })
}

// says runs a command and checks its exit code and what it says.
func (i *station) says(code int, words string, args ...string) {
	i.t.Helper()
	out, got := i.flor(args...)
	i.t.Logf("flor %s: exit code %d\n%s", strings.Join(args, " "), got, out)
	if got != code || !strings.Contains(out, words) {
		i.t.Errorf("flor %s: exit code %d, want %d and %q:\n%s", strings.Join(args, " "), got, code, words, out)
	}
}

// withVertex is a lib directory with flor, and flor-vertex as it is shipped.
func withVertex(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("the go command is needed to build flor-vertex")
	}
	lib := t.TempDir()
	out, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", lib, "../flor-vertex").CombinedOutput()
	if err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	flor, err := exec.LookPath("flor")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(flor, filepath.Join(lib, "flor")); err != nil {
		t.Fatal(err)
	}
	return lib
}

// pair is a rete of two nodes: beta has the coordinator, alpha reaches it by a
// road, the address of beta's vertex.
type pair struct {
	rete
	from *coordinator
	// upstream is where the coordinator listens, road where beta's vertex does.
	upstream, road      string
	alphaIn, betaIn     string
	alphaUDP            string
	alphaID, betaID, at spiffeid.ID
}

func newPair(t *testing.T) *pair {
	from := &coordinator{changed: make(chan struct{})}
	server := httptest.NewServer(from)
	t.Cleanup(server.Close)
	r := newRete("demo")
	td := r.authority.TrustDomain
	return &pair{
		rete: r, from: from, upstream: server.Listener.Addr().String(),
		road: loopback.Address(t), alphaUDP: loopback.Address(t), alphaIn: loopback.Address(t), betaIn: loopback.Address(t),
		alphaID: spiffeid.RequireFromSegments(td, "node", "alpha"),
		betaID:  spiffeid.RequireFromSegments(td, "node", "beta"),
		at:      spiffeid.RequireFromSegments(td, "service", "coordinator"),
	}
}

// alpha is a set of alpha whose vertex dials the coordinator's at road.
func (p *pair) alpha(version uint64, road string) [][]byte {
	return p.sign("alpha", version, p.alphaIn, p.alphaVertex(road))
}

func (p *pair) alphaVertex(road string) *schema.Vertex {
	v := p.rete.vertex("1.0")
	v.ConnectionManager.Adapters[0].Listen = p.alphaUDP
	v.Workloads[0].IO[0].Listen = p.alphaIn
	v.Links[0].Members[0].Via.Addr = road
	return v
}

// newer needs a vertex of a newer minor.
func (p *pair) newer(version uint64) [][]byte {
	v := p.alphaVertex(p.road)
	v.SchemaVersion = "1.1"
	return p.sign("alpha", version, p.alphaIn, v)
}

// faulty has a link over an adapter that is not there.
func (p *pair) faulty(version uint64) [][]byte {
	v := p.alphaVertex(p.road)
	v.Links[0].Members[0].Via.Adapter = "absent"
	return p.sign("alpha", version, p.alphaIn, v)
}

// beta is a set of beta, whose vertex serves the coordinator.
func (p *pair) beta(version uint64) [][]byte {
	v := p.rete.vertex("1.0")
	v.ConnectionManager.Adapters[0].Listen = p.road
	v.Workloads = []schema.VertexWorkload{
		{SPIFFEID: p.betaID.String(), IO: []schema.IO{{Kind: "socks5", Listen: p.betaIn}}},
		{SPIFFEID: p.at.String(), IO: []schema.IO{{Kind: "tcp", Upstream: p.upstream}}},
	}
	v.Links = []schema.LinkList{}
	v.Ingress = []schema.Rule{{Target: p.at.String(), Allow: []string{p.alphaID.String(), p.betaID.String()}}}
	v.Egress = []schema.Rule{{Target: p.at.String(), Allow: []string{p.betaID.String()}}}
	return p.sign("beta", version, p.betaIn, v)
}

func (p *pair) sign(node string, version uint64, inbound string, v *schema.Vertex) [][]byte {
	agent := p.authority.AgentPayload(node, envelopetest.Block(p.signer), "flor")
	agent.Workloads[0].Run = []string{"flor-vertex"}
	agent.Inbounds[0].Via.Addr = inbound
	agent.Sync.PollInterval = "1s"
	return [][]byte{
		p.signer.Sign(node, envelope.AgentName, version, agent),
		p.signer.Sign(node, "flor", version, v),
	}
}

// bundle is that of a node with the identities of these principals.
func (p *pair) bundle(node string, set [][]byte, principals ...string) []byte {
	var svids []*x509svid.SVID
	for _, name := range principals {
		kind, leaf, _ := strings.Cut(name, "/")
		i := p.authority.Issue(spiffeid.RequireFromSegments(p.authority.TrustDomain, kind, leaf))
		svids = append(svids, &x509svid.SVID{ID: i.ID, Certificates: []*x509.Certificate{i.Cert}, PrivateKey: i.Key})
	}
	var text bytes.Buffer
	err := bundle.Write(&text, bundle.Contents{CA: p.authority.CA, Principals: svids, Artifacts: set, Now: time.Now()}, p.signer.ID, p.signer.Key)
	if err != nil {
		panic(err)
	}
	return text.Bytes()
}
