package vertex

import (
	"context"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spiffe/go-spiffe/v2/bundle/x509bundle"
	"github.com/spiffe/go-spiffe/v2/spiffeid"
	"github.com/spiffe/go-spiffe/v2/svid/x509svid"
	"go.uber.org/goleak"
	"golang.org/x/net/proxy"

	"github.com/florete/flor/conformance/lab/loopback"
	"github.com/florete/flor/conformance/lab/udplink"
	"github.com/florete/flor/envelope/envelopetest"
	"github.com/florete/flor/envelope/schema"
)

// TestMain lets more tests run at once than there are processors, unless it is
// told how many, since most of what they do is to wait for time-outs of the
// contract: at two, which is what go test takes on two processors, they need
// about three times as long as at eight.
func TestMain(m *testing.M) {
	if os.Getenv(asProcess) != "" {
		exitAs(beVertex())
	}
	flag.Parse()
	told := false
	flag.Visit(func(f *flag.Flag) { told = told || f.Name == "test.parallel" })
	if !told {
		_ = flag.Set("test.parallel", "8")
	}
	goleak.VerifyTestMain(m)
}

func exitAs(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

const domain = "demo"

// patience is how long a test waits for what must come; it is longer than a
// vertex's own longest wait.
const patience = 60 * time.Second

var authority = envelopetest.NewAuthority(domain)

func user(name string) spiffeid.ID {
	return spiffeid.RequireFromPath(authority.TrustDomain, "/user/"+name)
}

func service(name string) spiffeid.ID {
	return spiffeid.RequireFromPath(authority.TrustDomain, "/service/"+name)
}

func host(t testing.TB, id spiffeid.ID) string {
	t.Helper()
	h, err := schema.Hostname(id)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// wallet is the Identities of a test, which can change while a vertex runs.
type wallet struct {
	mu     sync.Mutex
	ca     *x509.Certificate
	issued map[spiffeid.ID]*envelopetest.Identity
}

func newWallet(ids ...*envelopetest.Identity) *wallet {
	w := &wallet{ca: authority.CA, issued: map[spiffeid.ID]*envelopetest.Identity{}}
	for _, id := range ids {
		w.put(id)
	}
	return w
}

func (w *wallet) put(id *envelopetest.Identity) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.issued[id.ID] = id
}

var errAbsent = errors.New("no certificate in the wallet")

func (w *wallet) SVID(id spiffeid.ID) (*x509svid.SVID, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	have, ok := w.issued[id]
	if !ok {
		return nil, errAbsent
	}
	return &x509svid.SVID{ID: id, Certificates: []*x509.Certificate{have.Cert}, PrivateKey: have.Key}, nil
}

func (w *wallet) Bundle() (*x509bundle.Bundle, error) {
	return x509bundle.FromX509Authorities(authority.TrustDomain, []*x509.Certificate{w.ca}), nil
}

// plan describes a vertex of a test.
type plan struct {
	listen   string                 // of the UDP adapter; empty: a free port on loopback
	anywhere bool                   // no listen at all
	socks    []spiffeid.ID          // principals with a SOCKS5 port
	tcp      map[spiffeid.ID]string // local targets and where they are served
	serve    []spiffeid.ID          // local targets that are embedded
	forward  map[spiffeid.ID]spiffeid.ID
	links    map[spiffeid.ID]string
	ingress  map[spiffeid.ID][]spiffeid.ID
	egress   map[spiffeid.ID][]spiffeid.ID
	revoked  []string
	ports    map[spiffeid.ID]string // of socks and forward; filled in by payload
}

// payload makes the artifact's payload of a plan.
func (p *plan) payload(t testing.TB) *schema.Vertex {
	t.Helper()
	if p.listen == "" && !p.anywhere {
		p.listen = loopback.Address(t)
	}
	v := &schema.Vertex{
		SchemaVersion: "1.0", Kind: "link",
		TransportEndpoint: schema.TransportEndpoint{Type: "quic"},
		ConnectionManager: schema.ConnectionManager{Adapters: []schema.Adapter{{Name: "wan", Type: "udp", Listen: p.listen}}},
		Workloads:         p.workloads(t),
		Links:             []schema.LinkList{{Type: "list"}},
		Ingress:           rules(p.ingress),
		Egress:            rules(p.egress),
		Revoked:           p.revoked,
	}
	for peer, addr := range p.links {
		v.Links[0].Members = append(v.Links[0].Members, schema.Link{
			Name: schema.Leaf(peer), Peer: peer.String(), Via: schema.LinkVia{Type: "udp", Adapter: "wan", Addr: addr},
		})
	}
	if err := v.Validate(); err != nil {
		t.Fatalf("the test's payload is wrong: %v", err)
	}
	return v
}

func (p *plan) workloads(t testing.TB) []schema.VertexWorkload {
	wires := map[spiffeid.ID][]schema.IO{}
	for _, id := range p.socks {
		wires[id] = append(wires[id], schema.IO{Kind: "socks5", Listen: p.port(t, id)})
	}
	for id, target := range p.forward {
		wires[id] = append(wires[id], schema.IO{Kind: "forward", Listen: p.port(t, id), Target: target.String()})
	}
	for id, upstream := range p.tcp {
		wires[id] = append(wires[id], schema.IO{Kind: "tcp", Upstream: upstream})
	}
	for _, id := range p.serve {
		wires[id] = append(wires[id], schema.IO{Kind: "embedded"})
	}
	var list []schema.VertexWorkload
	for id, io := range wires {
		list = append(list, schema.VertexWorkload{SPIFFEID: id.String(), IO: io})
	}
	return list
}

func (p *plan) port(t testing.TB, id spiffeid.ID) string {
	if p.ports == nil {
		p.ports = map[spiffeid.ID]string{}
	}
	if p.ports[id] == "" {
		p.ports[id] = loopback.Address(t)
	}
	return p.ports[id]
}

func rules(lists map[spiffeid.ID][]spiffeid.ID) []schema.Rule {
	var out []schema.Rule
	for target, allow := range lists {
		rule := schema.Rule{Target: target.String()}
		for _, id := range allow {
			rule.Allow = append(rule.Allow, id.String())
		}
		out = append(out, rule)
	}
	return out
}

// node is a vertex that runs.
type node struct {
	*Vertex
	t      testing.TB
	cancel context.CancelFunc
	ended  chan struct{}
	reg    *prometheus.Registry
}

// raise runs a vertex until the test ends or stop is called.
func raise(t testing.TB, payload *schema.Vertex, ids Identities, opts Options) *node {
	t.Helper()
	reg := prometheus.NewRegistry()
	opts.Registerer = reg
	if opts.Grace == 0 {
		opts.Grace = 100 * time.Millisecond
	}
	v, err := New(payload, ids, opts)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	n := &node{Vertex: v, t: t, cancel: cancel, ended: make(chan struct{}), reg: reg}
	go func() {
		defer close(n.ended)
		if err := v.Run(ctx); err != nil {
			t.Errorf("Run: %v", err)
		}
	}()
	t.Cleanup(n.stop)
	if err := v.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	return n
}

func (n *node) stop() {
	n.cancel()
	<-n.ended
}

// kill ends a vertex as SIGKILL does: its peers hear nothing.
func (n *node) kill() {
	_ = n.endpoint.get().udp.Close()
	n.stop()
}

// await waits for a condition that events outside the test bring about.
func (n *node) await(what string, ok func() bool) {
	n.t.Helper()
	await(n.t, what, ok)
}

func await(t testing.TB, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// counter reads one counter with the labels given, in their alphabetical order.
func (n *node) counter(name string, labels ...string) float64 {
	n.t.Helper()
	families, err := n.reg.Gather()
	if err != nil {
		n.t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != "flor_vertex_"+name {
			continue
		}
		for _, m := range f.GetMetric() {
			var have []string
			for _, l := range m.GetLabel() {
				have = append(have, l.GetValue())
			}
			if fmt.Sprint(have) == fmt.Sprint(labels) {
				return m.GetCounter().GetValue()
			}
		}
	}
	return 0
}

// backend is a TCP service that hands each connection to serve.
func backend(t testing.TB, serve func(*net.TCPConn)) string {
	t.Helper()
	l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	accept(t, l, serve)
	return l.Addr().String()
}

// accept hands each connection to serve until the test ends.
func accept(t testing.TB, l *net.TCPListener, serve func(*net.TCPConn)) {
	var work sync.WaitGroup
	work.Go(func() {
		for {
			c, err := l.AcceptTCP()
			if err != nil {
				return
			}
			stop := context.AfterFunc(t.Context(), func() { c.Close() })
			work.Go(func() {
				defer stop()
				defer c.Close()
				serve(c)
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		work.Wait()
	})
}

func echo(c *net.TCPConn) {
	_, _ = io.Copy(c, c)
	_ = c.CloseWrite()
}

// parked accepts connections and gives them to the test.
func parked(t testing.TB) (addr string, conns chan *net.TCPConn) {
	conns = make(chan *net.TCPConn, 64)
	addr = backend(t, func(c *net.TCPConn) {
		_ = c.SetDeadline(time.Now().Add(patience))
		conns <- c
		<-t.Context().Done()
	})
	return addr, conns
}

// duo is the everyday case: alice's vertex here, the service's vertex there.
type duo struct {
	near, far         *node    // nil: in a process of its own
	outside           outsider // which of the two is in a process of its own
	process           *outside // and this is it
	nearPlan, farPlan *plan
	nearIDs, farIDs   *wallet
	nearOpts, farOpts Options
	alice, web        spiffeid.ID
	aliceID, webID    *envelopetest.Identity
	more              []spiffeid.ID // further targets that are linked to the far vertex
	path              udplink.Path  // between the two; zero: none but loopback
	way               *udplink.Link // that has this path; nil: none
}

// outsider says which vertex of a duo is in a process of its own.
type outsider int

const (
	nobody outsider = iota
	theNear
	theFar
)

type duoOption func(*duo)

func newDuo(t testing.TB, upstream string, options ...duoOption) *duo {
	t.Helper()
	d := &duo{alice: user("alice"), web: service("web")}
	d.aliceID, d.webID = authority.Issue(d.alice), authority.Issue(d.web)
	allow := map[spiffeid.ID][]spiffeid.ID{d.web: {d.alice}}
	d.farPlan = &plan{tcp: map[spiffeid.ID]string{d.web: upstream}, ingress: allow}
	d.nearPlan = &plan{socks: []spiffeid.ID{d.alice}, egress: allow}
	for _, o := range options {
		o(d)
	}
	d.nearIDs, d.farIDs = newWallet(d.aliceID), newWallet(d.webID)
	for _, id := range d.nearPlan.socks {
		if id != d.alice {
			d.nearIDs.put(authority.Issue(id))
		}
	}
	for _, id := range d.more {
		d.farIDs.put(authority.Issue(id))
	}
	far := d.farPlan.payload(t)
	address := d.farPlan.listen
	if d.path != (udplink.Path{}) {
		d.way = newRelay(t, address, d.path)
		address = d.way.Addr().String()
	}
	d.nearPlan.links = map[spiffeid.ID]string{}
	for _, id := range append(d.more, d.web) {
		d.nearPlan.links[id] = address
	}
	d.raise(t, far)
	return d
}

// raise runs the two vertices, each in this process or in one of its own.
func (d *duo) raise(t testing.TB, far *schema.Vertex) {
	near := d.nearPlan.payload(t)
	start := (*exec.Cmd).Start
	if d.outside == theFar {
		d.process = launch(t, far, d.farIDs, start)
	} else {
		d.far = raise(t, far, d.farIDs, d.farOpts)
	}
	if d.outside == theNear {
		d.process = launch(t, near, d.nearIDs, start)
	} else {
		d.near = raise(t, near, d.nearIDs, d.nearOpts)
	}
}

// dial connects through alice's SOCKS5 port.
func (d *duo) dial(t testing.TB) *net.TCPConn {
	t.Helper()
	c, err := d.try(t)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (d *duo) try(t testing.TB) (*net.TCPConn, error) {
	t.Helper()
	return viaSOCKS(t, d.nearPlan.ports[d.alice], host(t, d.web)+":80")
}

func viaSOCKS(t testing.TB, port, target string) (*net.TCPConn, error) {
	t.Helper()
	dialer, err := proxy.SOCKS5("tcp", port, nil, proxy.Direct)
	if err != nil {
		t.Fatal(err)
	}
	c, err := dialer.Dial("tcp", target)
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(time.Now().Add(patience))
	return underlying(t, c), nil
}

func underlying(t testing.TB, c net.Conn) *net.TCPConn {
	t.Helper()
	if tcp, ok := c.(*net.TCPConn); ok {
		return tcp
	}
	s, ok := c.(interface{ NetConn() net.Conn })
	if !ok {
		t.Fatalf("no TCP connection below %T", c)
	}
	return s.NetConn().(*net.TCPConn)
}

// rawSOCKS sends bytes to a SOCKS5 port and returns all that it answers.
func rawSOCKS(t testing.TB, port string, send ...byte) []byte {
	t.Helper()
	c, err := net.Dial("tcp", port)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(patience))
	if _, err := c.Write(send); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(c)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// connectTo is greeting and CONNECT request in one segment.
func connectTo(name string) []byte {
	return append(append([]byte{5, 1, 0, 5, 1, 0, 3, byte(len(name))}, name...), 0, 80)
}

// replyTo is the SOCKS5 reply code for a name, told by the client's bytes.
func replyTo(t testing.TB, port, name string) byte {
	t.Helper()
	got := rawSOCKS(t, port, connectTo(name)...)
	if len(got) != 12 {
		t.Fatalf("answer % x, want method and reply", got)
	}
	return got[3]
}

// clock is a wall clock that a test sets forward.
type clock struct{ ahead atomic.Int64 }

func (c *clock) now() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }

func (c *clock) forward(d time.Duration) { c.ahead.Add(int64(d)) }
