package main

import (
	"bytes"
	"context"
	"crypto/x509"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spiffe/go-spiffe/v2/spiffeid"
	"github.com/spiffe/go-spiffe/v2/svid/x509svid"

	"github.com/florete/flor/envelope"
	"github.com/florete/flor/envelope/envelopetest"
	"github.com/florete/flor/envelope/schema"
	"github.com/florete/flor/store/bundle"
	"github.com/florete/flor/store/identity"
	"github.com/florete/flor/supervise/control"
	"github.com/florete/flor/supervise/program"
)

func TestMain(m *testing.M) {
	// A program under the race detector sleeps a second before it exits.
	os.Setenv("GORACE", "atexit_sleep_ms=0")
	testscript.Main(m, map[string]func(){
		"flor": main, "flor-vertex": standIn.Main, "writer": writer.Main, "filler": filler.Main,
		"flor-coordinator": standIn.Main, "retectl": standIn.Main, // only installed, never run
		"systemctl": fakeSystemctl, "systemd-sysusers": fakeTool, "systemd-tmpfiles": fakeTool,
	})
}

// standIn is run in a vertex's place: it reads the payload as a vertex does, and
// carries nothing. The real one is run by the quickstart.
var standIn = program.Program{
	Name: "flor-vertex", Version: "test",
	Check: func(_ *program.Context, a envelope.Artifact) error {
		payload, err := schema.ParseVertex(a.Payload())
		if err == nil && strings.HasPrefix(payload.Links[0].Members[0].Name, dawdles) {
			err = dawdle()
		}
		return err
	},
	Run: func(ctx context.Context, c *program.Context) error {
		c.OnApply(func(context.Context, envelope.Artifact, bool) (bool, error) { return true, nil })
		c.Ready("127.0.0.1:1")
		<-ctx.Done()
		return nil
	},
}

// dawdles begins the name of a link that a stand-in takes a while to judge.
const dawdles = "dawdles"

// dawdle leaves a process behind and takes its time.
func dawdle() error {
	err := leave(os.Environ())
	time.Sleep(2 * time.Second)
	return err
}

// TestScripts pins what the commands print and how they exit.
func TestScripts(t *testing.T) {
	t.Parallel()
	root, err := os.MkdirTemp("", "flor")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(root) })
	testscript.Run(t, testscript.Params{
		Dir:         "testdata/script",
		WorkdirRoot: root,
		Setup:       setUp,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"await":   await,
			"sparse":  sparse,
			"corrupt": corrupt,
			"syslog":  syslog,
		},
	})
}

// setUp gives a script an install of its own, a bundle of node alpha, and sets
// to offer to its agent.
func setUp(env *testscript.Env) error {
	bin, _, _ := strings.Cut(env.Getenv("PATH"), string(os.PathListSeparator))
	env.Setenv("FLOR_STATE_HOME", filepath.Join(env.WorkDir, "state"))
	env.Setenv("FLOR_CONFIG_HOME", filepath.Join(env.WorkDir, "config"))
	env.Setenv("FLOR_RUNTIME_DIR", filepath.Join(env.WorkDir, "run"))
	env.Setenv("FLOR_LIB_DIR", bin)
	r := newRete("demo")
	env.Setenv("FINGERPRINT", identity.Fingerprint(r.authority.CA))
	files := map[string][]byte{
		"alpha.bundle": r.bundle(),
		"other.bundle": newRete("other").bundle(),
		"set2.json":    document(r.set(2, "1.0")),
		"newer.json":   document(r.set(3, "1.1")),
		"forged.json":  bytes.Replace(document(r.set(3, "1.0")), []byte(`"kind": "link"`), []byte(`"kind": "mesh"`), 1),
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(env.WorkDir, name), text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

func document(texts [][]byte) []byte { return envelope.AppendSet(nil, texts...) }

// rete is a trust domain with one node, alpha.
type rete struct {
	authority *envelopetest.Authority
	signer    *envelopetest.Identity
}

func newRete(name string) rete {
	a := envelopetest.NewAuthority(name)
	return rete{a, a.Signer("primary")}
}

// set signs a set of alpha whose vertex payload has this version.
func (r rete) set(version uint64, payload string) [][]byte {
	return [][]byte{
		r.signer.Sign("alpha", envelope.AgentName, version, r.agent()),
		r.signer.Sign("alpha", "flor", version, r.vertex(payload)),
	}
}

// agent is a root of alpha with one workload, and an inbound at which nobody is.
func (r rete) agent() *schema.Agent {
	agent := r.authority.AgentPayload("alpha", envelopetest.Block(r.signer), "flor")
	agent.Workloads[0].Run = []string{"flor-vertex"}
	agent.Inbounds[0].Via.Addr = "127.0.0.1:1"
	agent.Sync.PollInterval = "1h"
	return agent
}

func (r rete) vertex(version string) *schema.Vertex {
	node := spiffeid.RequireFromSegments(r.authority.TrustDomain, "node", "alpha").String()
	coordinator := spiffeid.RequireFromSegments(r.authority.TrustDomain, "service", "coordinator").String()
	return &schema.Vertex{
		SchemaVersion: version, Kind: "link",
		TransportEndpoint: schema.TransportEndpoint{Type: "quic"},
		ConnectionManager: schema.ConnectionManager{Adapters: []schema.Adapter{{Name: "udp", Type: "udp", Listen: "127.0.0.1:4433"}}},
		Workloads:         []schema.VertexWorkload{{SPIFFEID: node, IO: []schema.IO{{Kind: "socks5", Listen: "127.0.0.1:1"}}}},
		Links: []schema.LinkList{{Type: "list", Members: []schema.Link{
			{Name: "mgmt", Peer: coordinator, Via: schema.LinkVia{Type: "udp", Adapter: "udp", Addr: "192.0.2.7:4433"}},
		}}},
		Ingress: []schema.Rule{}, Egress: []schema.Rule{{Target: coordinator, Allow: []string{node}}}, Revoked: []string{},
	}
}

func (r rete) bundle() []byte { return r.bundleOf(r.set(1, "1.0")) }

// bundleOf is a bundle of node alpha with this set.
func (r rete) bundleOf(set [][]byte) []byte {
	node := r.authority.Issue(spiffeid.RequireFromSegments(r.authority.TrustDomain, "node", "alpha"))
	var text bytes.Buffer
	err := bundle.Write(&text, bundle.Contents{
		CA:         r.authority.CA,
		Principals: []*x509svid.SVID{{ID: node.ID, Certificates: []*x509.Certificate{node.Cert}, PrivateKey: node.Key}},
		Artifacts:  set, Now: time.Now(),
	}, r.signer.ID, r.signer.Key)
	if err != nil {
		panic(err)
	}
	return text.Bytes()
}

// await up|answer: waits until the agent of scope demo answers, and with "up"
// until all its workloads are up.
func await(ts *testscript.TestScript, _ bool, args []string) {
	client := control.NewClient(filepath.Join(ts.Getenv("FLOR_RUNTIME_DIR"), "demo", agentSocket))
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for ctx.Err() == nil {
		for doc, err := range client.Watch(ctx) {
			if err != nil {
				break
			}
			if args[0] == "answer" || allUp(doc) {
				return
			}
		}
	}
	ts.Fatalf("the agent did not come to %q in time", args[0])
}

func allUp(doc control.StatusDoc) bool {
	for _, w := range doc.Workloads {
		if w.State != "up" {
			return false
		}
	}
	return len(doc.Workloads) > 0 && doc.LastSync != nil
}

// syslog PATH listens there as a log daemon does, for as long as the script runs.
func syslog(ts *testscript.TestScript, _ bool, args []string) {
	daemon, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: args[0], Net: "unixgram"})
	ts.Check(err)
	ts.Defer(func() { daemon.Close() })
}

// sparse FILE makes a file of 300 MB that takes no room.
func sparse(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), nil, 0o600))
	ts.Check(os.Truncate(ts.MkAbs(args[0]), 300<<20))
}

// corrupt FROM TO cut|byte: copies a file, the second half cut off or one byte
// in the middle changed.
func corrupt(ts *testscript.TestScript, _ bool, args []string) {
	text := []byte(ts.ReadFile(args[0]))
	middle := len(text) / 2
	if args[2] == "cut" {
		text = text[:middle]
	} else {
		text[middle] ^= 1
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), text, 0o600))
}
