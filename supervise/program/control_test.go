package program

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/florete/flor/envelope"
)

// served is a context with a control channel, and the agent's end of it.
func served(t *testing.T) (*Context, *Channel) {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "s")
	c, err := FromEnvironment([]string{"FLORWL_NAME=a", "FLORWL_CONTROL_SOCKET=" + socket, "FLOR_LOG=error"}, "test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c, DialControl(socket)
}

func refusedWith(t *testing.T, err error, code, words string) {
	t.Helper()
	var refusal *Error
	if !errors.As(err, &refusal) || refusal.Code() != code || !strings.Contains(err.Error(), words) {
		t.Errorf("want %s with %q, got %v", code, words, err)
	}
}

// SUP-11: who registers nothing serves nothing, and is restarted as ever.
func TestNobodyServesAChannelThatNothingIsRegisteredOn(t *testing.T) {
	t.Parallel()
	c, channel := served(t)
	_, err := channel.Apply(t.Context(), "/x", false)
	refusedWith(t, err, "FL2510", "no such file")
	if !NotServed(err) {
		t.Errorf("%v is not taken for a channel that nobody serves", err)
	}
	if _, err := os.Lstat(c.ControlSocket); err == nil {
		t.Error("there is a socket")
	}
}

// SUP-11: a socket that a process left and nobody listens on is no channel either,
// one that does not answer is a channel that fails.
func TestWhatIsServedIsToldFromWhatFails(t *testing.T) {
	t.Parallel()
	socket := filepath.Join(t.TempDir(), "s")
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	listener.SetUnlinkOnClose(false)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := DialControl(socket).Ready(ctx); err == nil || NotServed(err) {
		t.Errorf("a channel that does not answer: %v", err)
	}
	listener.Close()
	if _, err := DialControl(socket).Ready(t.Context()); !NotServed(err) {
		t.Errorf("a socket that was left: %v", err)
	}
}

// SUP-11.
func TestApplySwapsOrAsksForARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	next := writeArtifact(t, dir, "a", 2, greeting{"two"})
	other := writeArtifact(t, dir, "b", 2, greeting{"not for a"})
	answer := func(swapped bool, err error) ApplyFunc {
		return func(context.Context, envelope.Artifact, bool) (bool, error) { return swapped, err }
	}
	tests := []struct {
		name     string
		handler  ApplyFunc
		artifact string
		swapped  bool
		says     string
	}{
		{"swapped", answer(true, nil), next, true, ""},
		{"restart", answer(false, nil), next, false, ""},
		{"no handler is a restart", nil, next, false, ""},
		{"an error", answer(true, errors.New("no memory")), next, false, "no memory"},
		{"an artifact of another workload", answer(true, nil), other, false, `not for workload "a"`},
		{"a file that is not there", answer(true, nil), "/nowhere", false, "FL2502 bad-artifact"},
		{"a relative path", answer(true, nil), "next.json", false, "absolute path"},
		{"a handler that panics", func(context.Context, envelope.Artifact, bool) (bool, error) { panic("no") }, next, false, "EOF"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c, channel := served(t)
			c.Ready()
			if tt.handler != nil {
				c.OnApply(tt.handler)
			}
			swapped, err := channel.Apply(t.Context(), tt.artifact, false)
			if swapped != tt.swapped {
				t.Errorf("swapped: %v, err: %v", swapped, err)
			}
			if tt.says != "" {
				refusedWith(t, err, "FL2510", tt.says)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
}

func TestASwapChangesWhatTheProgramRunsOnADryRunDoesNot(t *testing.T) {
	t.Parallel()
	next := writeArtifact(t, t.TempDir(), "a", 2, greeting{"two"})
	c, channel := served(t)
	var dry []bool
	c.OnApply(func(_ context.Context, a envelope.Artifact, dryRun bool) (bool, error) {
		if a.Version != 2 {
			t.Errorf("offered version %d", a.Version)
		}
		dry = append(dry, dryRun)
		return true, nil
	})
	for _, dryRun := range []bool{true, false} {
		if swapped, err := channel.Apply(t.Context(), next, dryRun); !swapped || err != nil {
			t.Fatalf("dry run %v: %v, %v", dryRun, swapped, err)
		}
		a, err := c.Artifact()
		if dryRun == (err == nil) || !dryRun && a.Version != 2 {
			t.Errorf("after dry run %v it runs on %v, %v", dryRun, a.Core, err)
		}
	}
	if diff := cmp.Diff([]bool{true, false}, dry); diff != "" {
		t.Errorf("dry runs (-want +got):\n%s", diff)
	}
}

// SUP-11: no answer in 2 s means restart.
func TestAWorkloadThatDoesNotAnswerIsGivenUp(t *testing.T) {
	t.Parallel()
	next := writeArtifact(t, t.TempDir(), "a", 2, greeting{"two"})
	c, channel := served(t)
	c.OnApply(func(ctx context.Context, _ envelope.Artifact, _ bool) (bool, error) {
		<-ctx.Done() // the agent has gone
		return false, ctx.Err()
	})
	begun := time.Now()
	_, err := channel.Apply(t.Context(), next, false)
	refusedWith(t, err, "FL2510", "deadline")
	if took := time.Since(begun); took < AnswerTimeout || took > AnswerTimeout+patience {
		t.Errorf("given up after %v", took)
	}
}

func TestReadinessIsTheProgramsOwnWord(t *testing.T) {
	t.Parallel()
	c, channel := served(t)
	c.OnApply(func(context.Context, envelope.Artifact, bool) (bool, error) { return true, nil })
	_, err := channel.Ready(t.Context())
	refusedWith(t, err, "FL2510", "FL2509")
	want := Readiness{Listening: []string{}, Waiting: []string{"127.0.0.1:80"}}
	c.OnReady(func() Readiness { return Readiness{Waiting: []string{"127.0.0.1:80"}} })
	got, err := channel.Ready(t.Context())
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	c.Ready("127.0.0.1:80")
	want = Readiness{Ready: true, Listening: []string{"127.0.0.1:80"}, Waiting: []string{}}
	got, err = channel.Ready(t.Context())
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// SUP-4.
func TestDrainHasTheTimeItIsGiven(t *testing.T) {
	t.Parallel()
	c, channel := served(t)
	c.OnDrain(func(ctx context.Context) error {
		deadline, ok := ctx.Deadline()
		if left := time.Until(deadline); !ok || left > 20*time.Second || left < 10*time.Second {
			t.Errorf("it has %v", left)
		}
		return nil
	})
	if err := channel.Drain(t.Context(), 20*time.Second); err != nil {
		t.Error(err)
	}
	refusedWith(t, channel.Drain(t.Context(), 0), "FL2510", "deadline")
}

func TestMetricsAreTheHandlersOwn(t *testing.T) {
	t.Parallel()
	c, channel := served(t)
	c.Ready()
	_, err := channel.Metrics(t.Context())
	refusedWith(t, err, "FL2510", "FL2509")
	c.ServeMetrics(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "x 1\n") }))
	if text, err := channel.Metrics(t.Context()); err != nil || string(text) != "x 1\n" {
		t.Errorf("got %q, %v", text, err)
	}
}

// raw sends a request as it stands.
func raw(t *testing.T, socket, method, path, body string) (int, string) {
	t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}}
	req, err := http.NewRequestWithContext(t.Context(), method, "http://x"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, strings.TrimSpace(string(text))
}

func TestTheChannelSpeaksThisJSON(t *testing.T) {
	t.Parallel()
	c, _ := served(t)
	c.Ready("udp 127.0.0.1:4433")
	c.OnDrain(func(context.Context) error { return nil })
	next := writeArtifact(t, t.TempDir(), "a", 2, greeting{"two"})
	tests := []struct {
		name, method, path, body string
		status                   int
		want                     string
	}{
		{"ready", "GET", "/v1/ready", "", 200, `{"ready":true,"listening":["udp 127.0.0.1:4433"],"waiting":[]}`},
		{"apply", "POST", "/v1/apply", `{"mgmt_artifact":"` + next + `","dry_run":true}`, 200, `{"result":"restart"}`},
		{"drain", "POST", "/v1/drain", `{"within_ms":800}`, 200, `{"result":"drained"}`},
		{"an unknown path", "GET", "/v2/ready", "", 404, `{"error":{"code":"FL2508","message":"there is no /v2/ready here"}}`},
		{"a wrong method", "GET", "/v1/apply", "", 405, `{"error":{"code":"FL2508","message":"/v1/apply is called with POST"}}`},
		{"a drain without a time", "POST", "/v1/drain", `{}`, 400, `{"error":{"code":"FL2508","message":"FL2508 bad-request: within_ms 0: want 1 to 60000"}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			status, got := raw(t, c.ControlSocket, tt.method, tt.path, tt.body)
			if diff := cmp.Diff(tt.want, got); diff != "" || status != tt.status {
				t.Errorf("status %d (-want +got):\n%s", status, diff)
			}
		})
	}
	for _, body := range []string{"", "[]", "{", `{"mgmt_artifact":"/x","more":1}`, `{"mgmt_artifact":"/x","mgmt_artifact":"/y"}`, `"` + strings.Repeat("x", maxRequest) + `"`} {
		if status, got := raw(t, c.ControlSocket, "POST", "/v1/apply", body); status != 400 || !strings.Contains(got, `"FL2508"`) {
			t.Errorf("body %.40q: %d %s", body, status, got)
		}
	}
}

// SET-1: nobody but the user gets in, whatever the umask.
func TestTheSocketIsForTheUserOnly(t *testing.T) {
	t.Parallel()
	c, _ := served(t)
	c.Ready()
	info, err := os.Stat(c.ControlSocket)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
}

func TestAStaleSocketIsReplacedALiveOneIsNot(t *testing.T) {
	t.Parallel()
	c, channel := served(t)
	stale, err := net.Listen("unix", c.ControlSocket)
	if err != nil {
		t.Fatal(err)
	}
	stale.(*net.UnixListener).SetUnlinkOnClose(false)
	stale.Close()
	c.Ready("first")
	if r, err := channel.Ready(t.Context()); err != nil || !r.Ready {
		t.Fatalf("%+v, %v", r, err)
	}
	second, err := FromEnvironment([]string{"FLORWL_CONTROL_SOCKET=" + c.ControlSocket, "FLOR_LOG=error"}, "test")
	if err != nil {
		t.Fatal(err)
	}
	second.Ready("second")
	second.Close()
	if r, err := channel.Ready(t.Context()); err != nil || r.Listening[0] != "first" {
		t.Errorf("the first one was pushed away: %+v, %v", r, err)
	}
}
