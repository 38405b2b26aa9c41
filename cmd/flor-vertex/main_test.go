package main

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spiffe/go-spiffe/v2/spiffeid"
	"golang.org/x/net/proxy"

	"github.com/florete/flor/conformance/lab/loopback"
	"github.com/florete/flor/envelope/envelopetest"
	"github.com/florete/flor/envelope/schema"
	"github.com/florete/flor/supervise/program"
)

// asProgram makes the test's own binary behave as flor-vertex.
const asProgram = "BE_FLOR_VERTEX"

// patience is how long a test waits for what should happen at once; machines are
// busy at times.
const patience = time.Minute

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	os.Exit(m.Run())
}

var (
	authority = envelopetest.NewAuthority("demo")
	signer    = authority.Signer("primary")
	alice     = spiffeid.RequireFromPath(authority.TrustDomain, "/user/alice")
	web       = spiffeid.RequireFromPath(authority.TrustDomain, "/service/web")
)

// place is a scope on disk, as far as a vertex looks at it.
type place struct {
	t    *testing.T
	root string
	run  string // short, for the socket's path
}

func newPlace(t *testing.T) *place {
	t.Helper()
	run, err := os.MkdirTemp("", "fv")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(run) })
	p := &place{t, t.TempDir(), run}
	p.write("identity/rete.json", []byte(`{"trust_domain":"demo"}`+"\n"))
	p.write("identity/ca.crt", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: authority.CA.Raw}))
	return p
}

func (p *place) write(name string, data []byte) string {
	p.t.Helper()
	path := filepath.Join(p.root, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, data, 0o600)); err != nil {
		p.t.Fatal(err)
	}
	return path
}

func (p *place) enrol(ids ...spiffeid.ID) {
	p.t.Helper()
	for _, id := range ids {
		issued := authority.Issue(id)
		key, err := x509.MarshalPKCS8PrivateKey(issued.Key)
		if err != nil {
			p.t.Fatal(err)
		}
		stem := "identity/certs/" + schema.Leaf(id)
		p.write(stem+".crt", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: issued.Cert.Raw}))
		p.write(stem+".key", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}))
	}
}

// artifact writes a signed artifact with the payload given.
func (p *place) artifact(name string, payload any) string {
	p.t.Helper()
	return p.write(name, signer.Sign("alpha", "flor", 1, payload))
}

func (p *place) socket() string { return filepath.Join(p.run, "flor.sock") }

// command is the program in the environment that the agent would give it.
func (p *place) command(artifact string, args ...string) *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		p.t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Env = []string{
		asProgram + "=1", "PATH=" + os.Getenv("PATH"),
		"FLORWL_SCOPE=demo", "FLORWL_NAME=flor", "FLORWL_MGMT_ARTIFACT=" + artifact,
		"FLORWL_SCOPE_ROOT=" + p.root, "FLORWL_RUNTIME_ROOT=" + p.run, "FLORWL_CONTROL_SOCKET=" + p.socket(),
		"FLORWL_STATE_DIR=" + p.root,
	}
	return cmd
}

// exits runs a command to its end.
func exits(t *testing.T, cmd *exec.Cmd) (code int, said string) {
	t.Helper()
	out, err := cmd.CombinedOutput()
	if failed := (*exec.ExitError)(nil); err != nil && !errors.As(err, &failed) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

// payload wires alice's SOCKS5 port to a web service on the same vertex.
func payload(socks, upstream string) *schema.Vertex {
	rule := []schema.Rule{{Target: web.String(), Allow: []string{alice.String()}}}
	return &schema.Vertex{
		SchemaVersion: "1.0", Kind: "link",
		TransportEndpoint: schema.TransportEndpoint{Type: "quic"},
		ConnectionManager: schema.ConnectionManager{Adapters: []schema.Adapter{{Name: "wan", Type: "udp"}}},
		Workloads: []schema.VertexWorkload{
			{SPIFFEID: alice.String(), IO: []schema.IO{{Kind: "socks5", Listen: socks}}},
			{SPIFFEID: web.String(), IO: []schema.IO{{Kind: "tcp", Upstream: upstream}}},
		},
		Links: []schema.LinkList{}, Ingress: rule, Egress: rule, Revoked: []string{},
	}
}

func echoService(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = io.Copy(c, c)
			}()
		}
	}()
	return l.Addr().String()
}

// started is the program while it runs.
type started struct {
	cmd     *exec.Cmd
	control *program.Channel
	log     *bytes.Buffer
}

func (p *place) start(artifact string) *started {
	p.t.Helper()
	s := &started{cmd: p.command(artifact), control: program.DialControl(p.socket()), log: new(bytes.Buffer)}
	s.cmd.Stdout, s.cmd.Stderr = s.log, s.log
	if err := s.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
		if p.t.Failed() {
			p.t.Logf("log:\n%s", s.log)
		}
	})
	return s
}

func (s *started) await(t *testing.T, what string, ok func(program.Readiness) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		if r, err := s.control.Ready(ctx); err == nil && ok(r) {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("waited in vain for %s", what)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func (s *started) stop(t *testing.T) {
	t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Wait(); err != nil {
		t.Errorf("after SIGTERM: %v, want exit 0", err)
	}
}

func connect(t *testing.T, socks string) net.Conn {
	t.Helper()
	dialer, err := proxy.SOCKS5("tcp", socks, nil, proxy.Direct)
	if err != nil {
		t.Fatal(err)
	}
	c, err := dialer.Dial("tcp", "web.demo.rete:80")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func checkEcho(t *testing.T, c net.Conn) {
	t.Helper()
	_ = c.SetDeadline(time.Now().Add(patience))
	got := make([]byte, 5)
	if _, err := io.WriteString(c, "hello"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(c, got); err != nil || string(got) != "hello" {
		t.Fatalf("read %q (%v)", got, err)
	}
}

// SUP-4, SUP-11, VTX-12, VTX-16
func TestProgramServesAppliesAndStops(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.enrol(web)
	socks, next := loopback.Address(t), loopback.Address(t)
	upstream := echoService(t)
	first := p.artifact("1.json", payload(socks, upstream))
	s := p.start(first)
	s.await(t, "the missing identity to be named", func(r program.Readiness) bool {
		return r.Ready && len(r.Waiting) == 1 && r.Waiting[0] == "identity "+alice.String()
	})
	p.enrol(alice)
	if err := s.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	s.await(t, "the identity to be found", func(r program.Readiness) bool { return len(r.Waiting) == 0 })
	c := connect(t, socks)
	checkEcho(t, c)
	s.checkApply(t, p.artifact("2.json", payload(next, upstream)), true)
	other := connect(t, next)
	checkEcho(t, other)
	checkEcho(t, c)
	moved := payload(next, upstream)
	moved.ConnectionManager.Adapters[0].Listen = "127.0.0.1:4433"
	s.checkApply(t, p.artifact("3.json", moved), false)
	_, _ = c.Close(), other.Close()
	s.stop(t)
	for _, want := range []string{"identity missing", "vertex serving", "flor_vertex_connections_opened_total"} {
		if !strings.Contains(s.log.String(), want) {
			t.Errorf("the log does not tell %q", want)
		}
	}
}

func (s *started) checkApply(t *testing.T, artifact string, want bool) {
	t.Helper()
	for _, dryRun := range []bool{true, false} {
		if got, err := s.control.Apply(t.Context(), artifact, dryRun); err != nil || got != want {
			t.Errorf("apply (dry run %v) of %s: %v, %v, want %v", dryRun, filepath.Base(artifact), got, err, want)
		}
	}
}

// altered is a payload with a member set to another value.
func altered(t *testing.T, member string, value any) any {
	t.Helper()
	text, err := json.Marshal(payload("127.0.0.1:1080", "127.0.0.1:80"))
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	m[member] = value
	return m
}

// SUP-3, VTX-13, VTX-16, VTX-18
func TestUnservableArtifactsAreRejectedByCheckAndRun(t *testing.T) {
	t.Parallel()
	elsewhere := payload("127.0.0.1:1080", "127.0.0.1:80")
	for i, id := range []string{"spiffe://other/user/alice", "spiffe://other/service/web"} {
		elsewhere.Workloads[i].SPIFFEID = id
	}
	elsewhere.Ingress = []schema.Rule{}
	elsewhere.Egress = []schema.Rule{}
	for _, tt := range []struct {
		name    string
		payload any
		said    []string // nil: it is good
	}{
		{"one that is good", payload("127.0.0.1:1080", "127.0.0.1:80"), nil},
		{"a newer minor says to upgrade", altered(t, "schema_version", "1.1"), []string{"upgrade"}},
		{"an unknown member is named", altered(t, "colour", "red"), []string{"colour"}},
		{"mesh has no engine here", altered(t, "kind", "mesh"), []string{"mesh engine not in this build"}},
		{"another trust domain is named", elsewhere, []string{"other", "demo"}},
		{"every fault is named", altered(t, "connection_manager", map[string]any{"adapters": []any{
			map[string]any{"name": "a", "type": "udp", "listen": "nowhere"},
			map[string]any{"name": "b", "type": "udp", "listen": "elsewhere"},
		}}), []string{"nowhere", "elsewhere"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			artifact := p.artifact("a.json", tt.payload)
			checks := []*exec.Cmd{p.command("", "--check", artifact)}
			want := 0
			if tt.said != nil {
				checks, want = append(checks, p.command(artifact)), 78
			}
			for _, cmd := range checks {
				code, said := exits(t, cmd)
				if code != want {
					t.Errorf("exit %d, want %d: %s", code, want, said)
				}
				for _, word := range tt.said {
					if !strings.Contains(said, word) {
						t.Errorf("it does not say %q: %s", word, said)
					}
				}
			}
		})
	}
}

// SUP-3
func TestProgramWithoutScopeIsRejected(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	cmd := p.command(p.artifact("a.json", payload("127.0.0.1:1080", "127.0.0.1:80")))
	cmd.Env = append(cmd.Env, "FLORWL_SCOPE_ROOT=")
	code, said := exits(t, cmd)
	if code != 78 || !strings.Contains(said, "FLORWL_SCOPE_ROOT") {
		t.Errorf("exit %d: %s", code, said)
	}
}
