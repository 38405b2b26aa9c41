package main

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spiffe/go-spiffe/v2/bundle/x509bundle"
	"github.com/spiffe/go-spiffe/v2/spiffeid"
	"github.com/spiffe/go-spiffe/v2/svid/x509svid"

	"github.com/florete/flor/conformance/lab/loopback"
	"github.com/florete/flor/envelope"
	"github.com/florete/flor/envelope/schema"
	"github.com/florete/flor/store/bundle"
	"github.com/florete/flor/supervise/control"
	"github.com/florete/flor/vertex"
)

// keys are principals' identities in memory.
type keys struct {
	rete rete
	held map[spiffeid.ID]*x509svid.SVID
}

func (r rete) keys(ids ...spiffeid.ID) keys {
	k := keys{r, map[spiffeid.ID]*x509svid.SVID{}}
	for _, id := range ids {
		issued := r.authority.Issue(id)
		k.held[id] = &x509svid.SVID{ID: id, Certificates: []*x509.Certificate{issued.Cert}, PrivateKey: issued.Key}
	}
	return k
}

func (k keys) SVID(id spiffeid.ID) (*x509svid.SVID, error) {
	if svid, ok := k.held[id]; ok {
		return svid, nil
	}
	return nil, errors.New("nobody's")
}

func (k keys) Bundle() (*x509bundle.Bundle, error) {
	return x509bundle.FromX509Authorities(k.rete.authority.TrustDomain, []*x509.Certificate{k.rete.authority.CA}), nil
}

// upstream is a service that takes connections, and says hello first when it is
// one of those.
func upstream(t *testing.T, hello string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				io.WriteString(conn, hello)
				io.Copy(io.Discard, conn)
			}()
		}
	}()
	return l.Addr().String()
}

// neighbours are node alpha, run by a real agent with a real vertex, and a vertex of
// node beta in this process.
type neighbours struct {
	*station
	rete    rete
	beta    string
	inbound string
}

func (p *neighbours) id(name string) spiffeid.ID {
	return spiffeid.RequireFromPath(p.rete.authority.TrustDomain, "/"+name)
}

// newNeighbours has alice on alpha, who may call, as far as alpha knows, every service
// but one.
func newNeighbours(t *testing.T) *neighbours {
	t.Helper()
	lib := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-o", lib+"/flor-vertex", "../flor-vertex")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	flor, err := exec.LookPath("flor")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(flor)
	if err == nil {
		err = os.WriteFile(filepath.Join(lib, "flor"), text, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	p := &neighbours{station: newStationOf(t, lib), rete: newRete("demo"), beta: loopback.Address(t), inbound: loopback.Address(t)}
	p.serveBeta(t)
	p.enrol(p.bundle(t))
	p.start()
	p.until("the vertex is ready", func(doc control.StatusDoc) bool {
		return len(doc.Workloads) == 1 && doc.Workloads[0].Ready != nil && doc.Workloads[0].Ready.Ready
	})
	return p
}

// serveBeta runs the vertex of beta: api and hello answer, shut has nobody, and
// closed lets nobody in.
func (p *neighbours) serveBeta(t *testing.T) {
	t.Helper()
	alice := p.id("user/alice").String()
	payload := p.rete.vertex("1.0")
	payload.ConnectionManager.Adapters[0].Listen = p.beta
	payload.Links, payload.Egress = []schema.LinkList{}, []schema.Rule{}
	payload.Workloads = nil
	var ids []spiffeid.ID
	for _, s := range []struct{ name, upstream, allow string }{
		{"service/api", upstream(t, ""), alice},
		{"service/hello", upstream(t, "hello"), alice},
		{"service/shut", loopback.Address(t), alice},
		{"service/closed", upstream(t, ""), p.id("user/bob").String()},
	} {
		id := p.id(s.name)
		ids = append(ids, id)
		payload.Workloads = append(payload.Workloads, schema.VertexWorkload{SPIFFEID: id.String(), IO: []schema.IO{{Kind: "tcp", Upstream: s.upstream}}})
		payload.Ingress = append(payload.Ingress, schema.Rule{Target: id.String(), Allow: []string{s.allow}})
	}
	v, err := vertex.New(payload, p.rete.keys(ids...), vertex.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- v.Run(ctx) }()
	t.Cleanup(func() { stop(); <-ended })
}

// bundle is that of alpha.
func (p *neighbours) bundle(t *testing.T) []byte {
	t.Helper()
	alice, node := p.id("user/alice"), p.id("node/alpha")
	links := map[string]string{"service/api": p.beta, "service/hello": p.beta, "service/shut": p.beta, "service/closed": p.beta,
		"service/gone": loopback.Address(t), "service/missing": p.beta}
	payload := p.rete.vertex("1.0")
	payload.ConnectionManager.Adapters[0].Listen = loopback.Address(t)
	payload.Workloads[0].IO[0].Listen = loopback.Address(t)
	local := p.id("service/alpha/here")
	payload.Workloads = append(payload.Workloads,
		schema.VertexWorkload{SPIFFEID: local.String(), IO: []schema.IO{{Kind: "tcp", Upstream: upstream(t, "")}}},
		schema.VertexWorkload{SPIFFEID: alice.String(), IO: []schema.IO{{Kind: "socks5", Listen: p.inbound}}})
	payload.Ingress = append(payload.Ingress, schema.Rule{Target: local.String(), Allow: []string{alice.String()}})
	payload.Egress = append(payload.Egress, schema.Rule{Target: local.String(), Allow: []string{alice.String()}})
	for _, name := range []string{"service/api", "service/closed", "service/gone", "service/hello", "service/missing", "service/shut"} {
		target := p.id(name).String()
		payload.Links[0].Members = append(payload.Links[0].Members, schema.Link{
			Name: strings.TrimPrefix(name, "service/"), Peer: target, Via: schema.LinkVia{Type: "udp", Adapter: "udp", Addr: links[name]},
		})
		payload.Egress = append(payload.Egress, schema.Rule{Target: target, Allow: []string{alice.String()}})
	}
	agent := p.rete.agent()
	agent.Inbounds[0].Via.Addr = payload.Workloads[0].IO[0].Listen
	agent.Inbounds = append(agent.Inbounds, schema.Inbound{Principal: alice.String(), Via: schema.InboundVia{Kind: "socks5", Addr: p.inbound}})
	k := p.rete.keys(node, alice, local)
	var text bytes.Buffer
	err := bundle.Write(&text, bundle.Contents{
		CA: p.rete.authority.CA, Principals: []*x509svid.SVID{k.held[node], k.held[alice], k.held[local]},
		Artifacts: [][]byte{
			p.rete.signer.Sign("alpha", envelope.AgentName, 1, agent),
			p.rete.signer.Sign("alpha", "flor", 1, payload),
		}, Now: time.Now(),
	}, p.rete.signer.ID, p.rete.signer.Key)
	if err != nil {
		t.Fatal(err)
	}
	return text.Bytes()
}

// TestPingTellsAtWhichStepItEnds has each step fail once, between real vertices.
func TestPingTellsAtWhichStepItEnds(t *testing.T) {
	t.Parallel()
	p := newNeighbours(t)
	const all = "name ok, caller ok, agent ok, link ok, handshake ok, gate ok, upstream ok"
	cases := map[string]struct {
		args  []string
		code  int
		steps string
		words string
	}{
		"a service that answers":            {[]string{"api"}, 0, all, "waits for the caller to speak"},
		"one that speaks first":             {[]string{"hello.demo.rete"}, 0, all, "the service spoke first"},
		"one on this very node":             {[]string{"alpha/here"}, 0, all, "this vertex serves the target itself"},
		"by its SPIFFE ID, as a name":       {[]string{"spiffe://demo/service/api", "--as", "alice"}, 0, all, "user/alice may call it"},
		"a target that lets nobody in":      {[]string{"closed"}, 1, "name ok, caller ok, agent ok, link ok, handshake ok, gate refused", "FL4340"},
		"a service that is not started":     {[]string{"shut"}, 3, "name ok, caller ok, agent ok, link ok, handshake ok, gate ok, upstream failed", "FL4107"},
		"a node that is down":               {[]string{"gone"}, 3, "name ok, caller ok, agent ok, link failed", "is that node up"},
		"a vertex that does not serve it":   {[]string{"missing"}, 3, "name ok, caller ok, agent ok, link ok, handshake failed", "FL4006"},
		"a name that no set leads to":       {[]string{"nowhere"}, 1, "name refused", "FL4103"},
		"a caller who may not":              {[]string{"api", "--as", "node/alpha"}, 1, "name ok, caller refused", "FL4101"},
		"a caller who is not on this node":  {[]string{"api", "--as", "bob"}, 2, "", "nobody on this node calls as \"bob\""},
		"something that is no service name": {[]string{"no such name"}, 2, "", "names no service"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			out, code := p.flor(append([]string{"ping", "--json"}, c.args...)...)
			if code != c.code || !strings.Contains(out, c.words) {
				t.Errorf("exit code %d, want %d and %q\n%s", code, c.code, c.words, out)
			}
			if steps := stepsOf(t, out); steps != c.steps {
				t.Errorf("steps: %s\nwant:  %s\n%s", steps, c.steps, out)
			}
		})
	}
	p.stop()
	out, code := p.flor("ping", "api")
	if code != 3 || !strings.Contains(out, "failed      agent") || !strings.Contains(out, "-> flor agent run --rete demo") {
		t.Errorf("without an agent: exit code %d\n%s", code, out)
	}
	stranger, err := net.Listen("tcp", p.inbound)
	if err != nil {
		t.Fatal(err)
	}
	defer stranger.Close()
	p.start()
	p.until("a vertex that waits for its port", func(doc control.StatusDoc) bool {
		return len(doc.Workloads) == 1 && doc.Workloads[0].Ready != nil && slices.Contains(doc.Workloads[0].Ready.Waiting, p.inbound)
	})
	out, code = p.flor("ping", "api")
	if code != 3 || !strings.Contains(out, "failed      agent") || !strings.Contains(out, "another program has the address") {
		t.Errorf("with a port that is another's: exit code %d\n%s", code, out)
	}
}

// stepsOf are the steps of a report that were reached, in order.
func stepsOf(t *testing.T, out string) string {
	t.Helper()
	if !strings.HasPrefix(out, "{") {
		return ""
	}
	var report pingReport
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		t.Fatal(err)
	}
	var steps []string
	for _, s := range report.Steps {
		if s.Verdict != unreached {
			steps = append(steps, s.Step+" "+string(s.Verdict))
		}
	}
	if len(report.Steps) != len(pingSteps) {
		t.Errorf("%d steps, want each of %v", len(report.Steps), pingSteps)
	}
	return strings.Join(steps, ", ")
}

// TestPingKnowsTheReasonsOfTheVertex holds the table against the vertex's own:
// no reason that a request can fail for is missing, and the codes are the same.
func TestPingKnowsTheReasonsOfTheVertex(t *testing.T) {
	t.Parallel()
	for reason, f := range pingReasons {
		r, known := vertexReason(reason)
		if !known || r.Code() != f.code {
			t.Errorf("%s is %s here, %q in the vertex", reason, f.code, r.Code())
		}
	}
	for r := range vertex.Reason(255) {
		code := r.Code()
		if code < "FL4000" || code >= "FL4200" && code < "FL4306" || code == "FL4310" || code == "FL4112" {
			continue // none, those of SOCKS5 clients, and ends of what was connected
		}
		if _, ok := pingReasons[r.String()]; !ok {
			t.Errorf("ping does not know %s (%s)", r, r.Meaning())
		}
	}
}

func vertexReason(name string) (vertex.Reason, bool) {
	for r := range vertex.Reason(255) {
		if r.String() == name {
			return r, true
		}
	}
	return 0, false
}

// A ping says no more than was proved.
func TestPingClaimsNoMoreThanItKnows(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reply   byte
		counted map[string]float64
		want    failure
	}{
		"one reason was counted":         {2, map[string]float64{"denied-ingress": 1}, pingReasons["denied-ingress"]},
		"the counters cannot be read":    {2, nil, replies[2]},
		"two reasons were counted":       {4, map[string]float64{"handshake-timeout": 1, "upstream-timeout": 1}, replies[4]},
		"a reason of a newer vertex":     {1, map[string]float64{"gravity": 1}, replies[1]},
		"others called it meanwhile":     {5, map[string]float64{"denied-ingress": 3}, replies[5]},
		"a reply that is not in the RFC": {99, nil, failure{"", unknown, "", "the vertex answers with SOCKS5 reply 99", lookThere}},
	}
	for name, c := range cases {
		if diff := cmp.Diff(c.want, failureOf(c.reply, c.counted), cmp.AllowUnexported(failure{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestCountersOfOneTargetArePicked(t *testing.T) {
	t.Parallel()
	const page = `# TYPE flor_vertex_connect_failures counter
flor_vertex_connect_failures_total{target="spiffe://demo/service/api",reason="no-answer",workload="flor"} 2.0
flor_vertex_connect_failures_total{target="spiffe://demo/service/db",reason="no-answer",workload="flor"} 7.0
flor_vertex_connect_failures_total{target="",reason="unknown-target",workload="flor"} 1.0
# EOF
`
	got := parseCounters([]byte(page), "spiffe://demo/service/api")
	if diff := cmp.Diff(reasonCounts{"no-answer": 2, "unknown-target": 1}, got); diff != "" {
		t.Errorf("picked (-want +got):\n%s", diff)
	}
	if more := got.since(reasonCounts{"no-answer": 1, "unknown-target": 1}); len(more) != 1 || more["no-answer"] != 1 {
		t.Errorf("since: %v", more)
	}
	if got := parseCounters([]byte("no page {"), "x"); got != nil {
		t.Errorf("of no page: %v", got)
	}
}

// FuzzSOCKSAnswer has whatever listens at the port answer anything.
func FuzzSOCKSAnswer(f *testing.F) {
	for _, answer := range []string{"\x05\x00\x05\x00\x00\x01\x7f\x00\x00\x01\x00\x50", "\x05\x00\x05\x02\x00\x01", "\x05\xff", "HTTP/1.1 400 Bad Request\r\n", "\x05\x00\x05\x00\x00\x09"} {
		f.Add([]byte(answer))
	}
	f.Fuzz(func(t *testing.T, answer []byte) {
		near, far := net.Pipe()
		go func() {
			io.CopyN(io.Discard, far, int64(8+len("api.demo.rete")+2))
			far.Write(answer)
			far.Close()
		}()
		reply, err := speakSOCKS(near, "api.demo.rete")
		near.Close()
		if err == nil && reply == 0 && (len(answer) < 12 || answer[0] != 5) {
			t.Errorf("taken for a success: %q", answer)
		}
	})
}
