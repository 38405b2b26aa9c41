package compiler

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/florete/flor/envelope/schema"
)

func projected(t *testing.T, w *world, node string) NodePayloads {
	t.Helper()
	for _, p := range w.project() {
		if p.Node == node {
			return p
		}
	}
	t.Fatalf("node %s is not projected", node)
	return NodePayloads{}
}

const lovers = "spiffe://rete-lovers/"

// CMP-13: a node with everything: a client service, a node-scoped service, and
// a target on another machine.
func TestVertexOfANodeWithServices(t *testing.T) {
	t.Parallel()
	got := projected(t, newWorld(t), "alpha").Vertex
	want := &schema.Vertex{
		SchemaVersion:     "1.0",
		Kind:              "link",
		TransportEndpoint: schema.TransportEndpoint{Type: "quic"},
		ConnectionManager: schema.ConnectionManager{Adapters: []schema.Adapter{{Name: "wire", Type: "udp", Listen: "0.0.0.0:4433"}}},
		Workloads: []schema.VertexWorkload{
			{SPIFFEID: lovers + "node/alpha", IO: []schema.IO{{Kind: "socks5", Listen: "127.0.0.1:1081"}}},
			{SPIFFEID: lovers + "service/alpha/ssh", IO: []schema.IO{{Kind: "tcp", Upstream: "127.0.0.1:22"}}},
			{SPIFFEID: lovers + "service/api", IO: []schema.IO{{Kind: "tcp", Upstream: "127.0.0.1:8000"}, {Kind: "socks5", Listen: "127.0.0.1:18000"}}},
		},
		Links: []schema.LinkList{{Type: "list", Members: []schema.Link{
			{Name: "coordinator", Peer: lovers + "service/coordinator", Via: schema.LinkVia{Type: "udp", Adapter: "wire", Addr: "9.10.11.12:4433"}},
			{Name: "db", Peer: lovers + "service/db", Via: schema.LinkVia{Type: "udp", Adapter: "wire", Addr: "5.6.7.8:4433"}},
		}}},
		Ingress: []schema.Rule{
			{Target: lovers + "service/alpha/ssh", Allow: []string{lovers + "user/fyodor"}},
			{Target: lovers + "service/api", Allow: []string{lovers + "user/alice"}},
		},
		Egress: []schema.Rule{
			{Target: lovers + "service/coordinator", Allow: []string{lovers + "node/alpha"}},
			{Target: lovers + "service/db", Allow: []string{lovers + "service/api"}},
		},
		Revoked: []string{},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("vertex of alpha (-want +got):\n%s", diff)
	}
}

// CMP-13: a laptop, without an address, with two users and a forward.
func TestVertexOfALaptop(t *testing.T) {
	t.Parallel()
	got := projected(t, newWorld(t), "laptop").Vertex
	if diff := cmp.Diff([]schema.Adapter{{Name: "wire", Type: "udp"}}, got.ConnectionManager.Adapters); diff != "" {
		t.Errorf("adapters (-want +got):\n%s", diff)
	}
	workloads := []schema.VertexWorkload{
		{SPIFFEID: lovers + "node/laptop", IO: []schema.IO{{Kind: "socks5", Listen: "127.0.0.1:1081"}}},
		{SPIFFEID: lovers + "user/alice", IO: []schema.IO{{Kind: "socks5", Listen: "127.0.0.1:1083"}, {Kind: "forward", Listen: "127.0.0.1:15000", Target: lovers + "service/api"}}},
		{SPIFFEID: lovers + "user/fyodor", IO: []schema.IO{{Kind: "socks5", Listen: "127.0.0.1:1082"}}},
	}
	if diff := cmp.Diff(workloads, got.Workloads); diff != "" {
		t.Errorf("workloads (-want +got):\n%s", diff)
	}
	if len(got.Ingress) != 0 {
		t.Errorf("a laptop serves nothing, and has ingress %v", got.Ingress)
	}
}

// CMP-13: a service that nobody may reach has no row, and an embedded one no
// upstream.
func TestAServiceNobodyReachesHasNoIngress(t *testing.T) {
	t.Parallel()
	got := projected(t, newWorld(t), "beta").Vertex
	want := []schema.Rule{{Target: lovers + "service/db", Allow: []string{lovers + "service/api"}}}
	if diff := cmp.Diff(want, got.Ingress); diff != "" {
		t.Errorf("ingress of beta (-want +got):\n%s", diff)
	}
	hidden := schema.VertexWorkload{SPIFFEID: lovers + "service/hidden", IO: []schema.IO{{Kind: "embedded"}}}
	if diff := cmp.Diff(hidden, got.Workloads[2]); diff != "" {
		t.Errorf("hidden (-want +got):\n%s", diff)
	}
}

// CMP-12: who gets which artifacts, and in which order the agent starts them.
func TestOnlyTheManagementNodeHasACoordinator(t *testing.T) {
	t.Parallel()
	for _, p := range newWorld(t).project() {
		want := []string{"agent", "flor"}
		inventory := []schema.Workload{{Name: "flor", Run: []string{"flor-vertex"}}}
		if p.Node == "mgmt01" {
			want = append(want, "coordinator")
			inventory = append(inventory, schema.Workload{Name: "coordinator", Run: []string{"flor-coordinator"}})
			if p.Coordinator.Listen.Sync != "127.0.0.1:9000" || p.Coordinator.Listen.Publish != "127.0.0.1:9001" {
				t.Errorf("coordinator: %+v", p.Coordinator)
			}
		}
		var names []string
		for _, payload := range p.Payloads() {
			names = append(names, payload.Name)
		}
		if diff := cmp.Diff(want, names); diff != "" {
			t.Errorf("artifacts of %s (-want +got):\n%s", p.Node, diff)
		}
		if diff := cmp.Diff(inventory, p.Agent.Workloads); diff != "" {
			t.Errorf("inventory of %s (-want +got):\n%s", p.Node, diff)
		}
	}
}

func TestAgentKnowsItsInboundsAndItsWayToTheCoordinator(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.edit("rete.yaml", "rete:\n", "rete:\n  sync: {poll_interval: 90s}\n")
	got := projected(t, w, "alpha").Agent
	inbounds := []schema.Inbound{
		{Principal: lovers + "node/alpha", Via: schema.InboundVia{Kind: "socks5", Addr: "127.0.0.1:1081"}},
		{Principal: lovers + "service/api", Via: schema.InboundVia{Kind: "socks5", Addr: "127.0.0.1:18000"}},
	}
	if diff := cmp.Diff(inbounds, got.Inbounds); diff != "" {
		t.Errorf("inbounds (-want +got):\n%s", diff)
	}
	sync := schema.Sync{Principal: lovers + "node/alpha", Coordinator: lovers + "service/coordinator", PollInterval: "1m30s"}
	if diff := cmp.Diff(sync, got.Sync); diff != "" {
		t.Errorf("sync (-want +got):\n%s", diff)
	}
	if len(got.Trust.Mgmt) != 1 || got.Trust.Mgmt[0].SPIFFEID != lovers+"management-plane/primary" {
		t.Errorf("trust: %v", got.Trust)
	}
}

// The order in which signers are listed says who signs, and changes no payload.
func TestSignersAreProjectedByID(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.addSigner("backup")
	list := func(names ...string) {
		text := reteYAML
		var keys []string
		for _, name := range names {
			keys = append(keys, "{name: "+name+", cert: certs/management-planes/"+name+".crt}")
		}
		text = strings.Replace(text, "{name: primary, cert: certs/management-planes/primary.crt}", strings.Join(keys, ", "), 1)
		w.write("rete.yaml", text)
	}
	list("primary", "backup")
	w.compile()
	list("backup", "primary")
	if result := w.compile(); len(result.Changes) != 0 {
		t.Errorf("moves %v", moves(result))
	}
}

func TestWhatListensEverywhereIsDialledOverLoopback(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"0.0.0.0:22":     "127.0.0.1:22",
		"[::]:22":        "[::1]:22",
		"127.0.0.2:8000": "127.0.0.2:8000",
		"10.0.0.1:8000":  "10.0.0.1:8000",
	} {
		if got := dialable(netip.MustParseAddrPort(in)).String(); got != want {
			t.Errorf("%s is dialled at %s, want %s", in, got, want)
		}
	}
}

// CMP-14: no file path, no secret, no scope of this machine in any artifact.
func TestArtifactsHoldNothingLocal(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.compile()
	for name, text := range w.snapshot() {
		if !strings.HasPrefix(name, treeDir) {
			continue
		}
		for _, part := range []string{w.dir, "certs/", ".crt", "PRIVATE", "/home/", "/var/"} {
			if contains([]byte(text), part) {
				t.Errorf("%s contains %q", name, part)
			}
		}
	}
}
