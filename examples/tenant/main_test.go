package main

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/florete/flor/conformance"
	"github.com/florete/flor/envelope/envelopetest"
	"github.com/florete/flor/supervise"
	"github.com/florete/flor/supervise/program"
)

// patience is how long a test waits for what should happen at once; machines
// are busy at times.
const patience = 30 * time.Second

// TestMain lets the test binary be the tenant itself.
func TestMain(m *testing.M) {
	if os.Getenv("FLORWL_NAME") != "" {
		main()
	}
	os.Exit(m.Run())
}

// TestTheTenantKeepsTheContract is how a tenant's own tests include the suite for
// supervised programs. This one has no counters and judges no artifact by --check.
func TestTheTenantKeepsTheContract(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	suite := conformance.ProgramTest{Features: []string{"artifact", "control", "log", "payload", "sink", "start", "stop"}}
	suite.Payload = `{"listen":"127.0.0.1:0"}`
	suite.Run(t, self)
}

// The command in doc.go runs on files.json.
func TestTheArtifactForTryingByHandIsOne(t *testing.T) {
	t.Parallel()
	a, err := program.ReadArtifact("files.json")
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		Listen string `json:"listen"`
	}
	if err := program.DecodePayload(a, &config); err != nil || a.Name != "files" || config.Listen == "" {
		t.Errorf("artifact %s has %+v, %v", a.Ref(), config, err)
	}
}

func TestTheExampleHasFewerThanThirtyLines(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), "\n"); n >= 30 {
		t.Errorf("main.go has %d lines", n)
	}
}

// tenant runs the program as the agent would, on a payload.
func tenant(t *testing.T, payload any) (*supervise.Supervisor, map[string]string) {
	t.Helper()
	dir := t.TempDir()
	signer := envelopetest.NewAuthority("rete-lovers").Signer("alice")
	artifact := filepath.Join(dir, "files.json")
	if err := os.WriteFile(artifact, signer.Sign("alpha", "files", 1, payload), 0o600); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{
		"FLORWL_NAME": "files", "FLORWL_SCOPE": "rete-lovers", "FLORWL_MGMT_ARTIFACT": artifact,
		"FLORWL_STATE_DIR": dir, "FLORWL_CONTROL_SOCKET": filepath.Join(dir, "s"), "FLORWL_LOG_SINK": "shared",
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	spec := supervise.Spec{Name: "files", Path: self, Policy: supervise.Policy{Liveness: 50 * time.Millisecond}}
	for name, value := range env {
		spec.Env = append(spec.Env, name+"="+value)
	}
	s := supervise.New(supervise.Options{})
	if err := s.Apply(t.Context(), []supervise.Spec{spec}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return s, env
}

func await(t *testing.T, s *supervise.Supervisor, state supervise.State) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for all := range s.Watch(ctx) {
		if len(all) > 0 && all[0].State == state {
			return
		}
	}
	t.Fatalf("never %s, but %+v", state, s.Status())
}

func awaitReady(t *testing.T, socket string) program.Readiness {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		if r, err := program.DialControl(socket).Ready(t.Context()); err == nil && r.Ready {
			return r
		}
	}
	t.Fatal("never ready")
	return program.Readiness{}
}

func TestTheTenantServesWhatItsArtifactSays(t *testing.T) {
	t.Parallel()
	s, env := tenant(t, map[string]string{"listen": "127.0.0.1:0"})
	if err := os.WriteFile(filepath.Join(env["FLORWL_STATE_DIR"], "hello"), []byte("hello, alice"), 0o600); err != nil {
		t.Fatal(err)
	}
	await(t, s, supervise.Up)
	ready := awaitReady(t, env["FLORWL_CONTROL_SOCKET"])
	if len(ready.Listening) != 1 {
		t.Fatalf("ready: %+v", ready)
	}
	resp, err := http.Get("http://" + ready.Listening[0] + "/hello")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, err := io.ReadAll(resp.Body); err != nil || string(body) != "hello, alice" {
		t.Errorf("got %q, %v", body, err)
	}
}

func TestATenantWithAWrongPayloadIsRejected(t *testing.T) {
	t.Parallel()
	s, _ := tenant(t, map[string]string{"listne": "127.0.0.1:0"})
	await(t, s, supervise.Rejected)
}
