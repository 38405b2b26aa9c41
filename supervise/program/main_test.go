package program

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/florete/flor/envelope"
	"github.com/florete/flor/envelope/envelopetest"
)

// patience is how long a test waits for what should happen at once; machines
// are busy at times.
const patience = 30 * time.Second

// TestMain lets the test binary be a supervised program; what it does is what
// the variable says.
func TestMain(m *testing.M) {
	if behaviour := os.Getenv("PROGRAM_TEST"); behaviour != "" {
		Program{Name: "flor-test", Version: "v0", Run: behaviours[behaviour], Check: checkGreeting}.Main()
	}
	goleak.VerifyTestMain(m)
}

var behaviours = map[string]func(context.Context, *Context) error{
	"drains": func(ctx context.Context, c *Context) error {
		c.Ready()
		<-ctx.Done()
		return ctx.Err()
	},
	"hangs": func(ctx context.Context, c *Context) error {
		c.Ready()
		<-ctx.Done()
		select {}
	},
	"rejects":         func(context.Context, *Context) error { return Reject(errors.New("no such port")) },
	"lacks a service": func(context.Context, *Context) error { return Unavailable(errors.New("no database")) },
	"fails":           func(context.Context, *Context) error { return errors.New("broken") },
	"panics":          func(context.Context, *Context) error { panic("no\nway") },
	"returns":         func(context.Context, *Context) error { return nil },
	"decodes": func(_ context.Context, c *Context) error {
		var g greeting
		return c.Decode(&g)
	},
	"fails to drain": func(ctx context.Context, c *Context) error {
		c.Ready()
		<-ctx.Done()
		return errors.New("disk full")
	},
}

type greeting struct {
	Greeting string `json:"greeting"`
}

func checkGreeting(_ *Context, a envelope.Artifact) error {
	var g greeting
	if err := json.Unmarshal(a.Payload(), &g); err != nil {
		return err
	}
	if g.Greeting == "" {
		return errors.New("nobody is greeted")
	}
	return nil
}

// writeArtifact signs and writes an artifact, and returns its path.
func writeArtifact(t *testing.T, dir, name string, version uint64, payload any) string {
	t.Helper()
	text := envelopetest.NewAuthority("rete-lovers").Signer("alice").Sign("alpha", name, version, payload)
	path := filepath.Join(dir, fmt.Sprintf("%s-v%d.json", name, version))
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// child is the test binary as a supervised program, and its log so far.
func child(t *testing.T, behaviour string, env []string, args ...string) (cmd *exec.Cmd, log func() string) {
	t.Helper()
	out, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { out.Close() })
	cmd = exec.Command(os.Args[0], args...)
	cmd.Env = append([]string{"PROGRAM_TEST=" + behaviour, "FLORWL_NAME=a", "FLORWL_LOG_SINK=shared"}, env...)
	cmd.Stderr = out
	return cmd, func() string {
		text, err := os.ReadFile(out.Name())
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
}

func exitOf(err error) int {
	if ended := (*exec.ExitError)(nil); errors.As(err, &ended) {
		return ended.ExitCode()
	}
	if err != nil {
		return -1000
	}
	return 0
}

// SUP-3, and a program that cannot run says so in one line.
func TestHowAProgramEndsIsItsExitCode(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	wrong := "FLORWL_MGMT_ARTIFACT=" + writeArtifact(t, dir, "a", 1, map[string]any{"greeting": "hi", "volume": 11})
	right := "FLORWL_MGMT_ARTIFACT=" + writeArtifact(t, dir, "a", 2, greeting{"hi"})
	tests := []struct {
		name, behaviour string
		env             []string
		want            int
		says            string
	}{
		{"rejected", "rejects", nil, 78, `ERROR a flor-test: cannot serve this configuration err="no such port"`},
		{"unavailable", "lacks a service", nil, 69, `ERROR a flor-test: a host service does not answer err="no database"`},
		{"a failure", "fails", nil, 1, "ERROR a flor-test: failed err=broken"},
		{"a panic", "panics", nil, 2, `ERROR a flor-test: panic value="no\nway"`},
		{"done without having been told", "returns", nil, 0, "WARN a flor-test: ended without having been told to stop"},
		{"a right payload", "decodes", []string{right}, 0, "INFO a flor-test: started program=flor-test version=v0 sink=shared"},
		{"an unknown member in the payload", "decodes", []string{wrong}, 78, "FL2503 bad-payload"},
		{"no artifact", "decodes", nil, 78, "FL2501 bad-context: no artifact"},
		{"an artifact that is not there", "decodes", []string{"FLORWL_MGMT_ARTIFACT=/nowhere"}, 78, "FL2502 bad-artifact"},
		{"a relative path in the environment", "decodes", []string{"FLORWL_STATE_DIR=here"}, 78, "FLORWL_STATE_DIR=here: want an absolute path"},
		{"an unknown sink", "returns", []string{"FLORWL_LOG_SINK=pigeon"}, 78, "FLORWL_LOG_SINK=pigeon"},
		{"log levels that cannot be understood are no reason to stay down", "returns", []string{"FLOR_LOG=loud"}, 0, "FL2506 bad-log-levels"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cmd, log := child(t, tt.behaviour, tt.env)
			if got := exitOf(cmd.Run()); got != tt.want {
				t.Errorf("exit %d, want %d", got, tt.want)
			}
			if !strings.Contains(log(), tt.says) {
				t.Errorf("log lacks %q:\n%s", tt.says, log())
			}
		})
	}
}

// SUP-4.
func TestSIGTERMIsTheEndOfTheContext(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, behaviour string
		signals         int
		want            int
		says            string
	}{
		{"drained", "drains", 1, 0, `told to stop signal=terminated`},
		{"a second signal does not wait", "hangs", 2, 1, "told to stop a second time"},
		{"a drain that fails is not a clean stop", "fails to drain", 1, 1, `failed err="disk full"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			socket := filepath.Join(dir, "s")
			cmd, log := child(t, tt.behaviour, []string{"FLORWL_CONTROL_SOCKET=" + socket})
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			awaitReady(t, socket)
			for range tt.signals {
				if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
					t.Fatal(err)
				}
				awaitLog(t, log, "told to stop") // two signals at once would be one
			}
			if got := exitOf(cmd.Wait()); got != tt.want {
				t.Errorf("exit %d, want %d", got, tt.want)
			}
			if !strings.Contains(log(), tt.says) {
				t.Errorf("log lacks %q:\n%s", tt.says, log())
			}
			if _, err := os.Lstat(socket); tt.want == 0 && err == nil {
				t.Error("its control socket is still there")
			}
		})
	}
}

func awaitReady(t *testing.T, socket string) {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		if r, err := DialControl(socket).Ready(t.Context()); err == nil && r.Ready {
			return
		}
	}
	t.Fatal("never ready")
}

func awaitLog(t *testing.T, log func() string, words string) {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		if strings.Contains(log(), words) {
			return
		}
	}
	t.Fatalf("never logged %q", words)
}

// A log pipe that nobody reads any more does not end the program.
func TestAProgramOutlivesTheReaderOfItsLog(t *testing.T) {
	t.Parallel()
	socket := filepath.Join(t.TempDir(), "s")
	cmd, _ := child(t, "drains", []string{"FLORWL_CONTROL_SOCKET=" + socket})
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	awaitReady(t, socket)
	r.Close()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
}

func TestCheckJudgesAnArtifactAndServesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	broken := filepath.Join(dir, "broken.json")
	if err := os.WriteFile(broken, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, file string
		want       int
		says       string
	}{
		{"one that can be served", writeArtifact(t, dir, "a", 1, greeting{"hi"}), 0, ""},
		{"one that cannot", writeArtifact(t, dir, "a", 2, greeting{}), 78, "nobody is greeted"},
		{"no artifact at all", broken, 78, "FL2502 bad-artifact"},
		{"a file that is not there", filepath.Join(dir, "absent"), 78, "FL2502 bad-artifact"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cmd, log := child(t, "hangs", nil, "--check", tt.file)
			if got := exitOf(cmd.Run()); got != tt.want {
				t.Errorf("exit %d, want %d", got, tt.want)
			}
			if !strings.Contains(log(), tt.says) || tt.says == "" && log() != "" {
				t.Errorf("log:\n%s", log())
			}
		})
	}
}

func TestACommandLineThatCannotBeUnderstoodIsExit2(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"--loud"}, {"--rete", "x"}, {"stray"}} {
		cmd, log := child(t, "returns", nil, args...)
		if got := exitOf(cmd.Run()); got != ExitUsage || log() == "" {
			t.Errorf("%v: exit %d, %q", args, got, log())
		}
	}
}

// SUP-1: by hand, flags override variables.
func TestFlagsOverrideTheEnvironment(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	artifact := writeArtifact(t, dir, "b", 7, greeting{"by hand"})
	var got *Context
	p := Program{
		Name: "flor-test",
		Locate: func(h ByHand) (*Context, error) {
			if h != (ByHand{Rete: "home", Name: "b", Set: "v7"}) {
				t.Errorf("flags arrived as %+v", h)
			}
			return &Context{Scope: h.Rete, Name: h.Name, MgmtArtifact: artifact}, nil
		},
		Run: func(_ context.Context, c *Context) error {
			got = c
			var g greeting
			return c.Decode(&g)
		},
	}
	env := []string{"FLORWL_NAME=a", "FLORWL_SCOPE=work", "FLORWL_MGMT_ARTIFACT=/nowhere", "FLORWL_STATE_DIR=" + dir, "FLOR_LOG=error"}
	if code := p.Exit(t.Context(), []string{"--rete", "home", "--name", "b", "--set", "v7"}, env); code != 0 {
		t.Fatalf("exit %d", code)
	}
	if got.Scope != "home" || got.Name != "b" || got.MgmtArtifact != artifact || got.StateDir != dir {
		t.Errorf("context %+v", got)
	}
}

func TestExitCodesOfErrors(t *testing.T) {
	t.Parallel()
	base := errors.New("x")
	tests := []struct {
		name string
		err  error
		want int
	}{
		{"nil", nil, 0},
		{"plain", base, 1},
		{"rejected", Reject(base), 78},
		{"unavailable", Unavailable(base), 69},
		{"wrapped", fmt.Errorf("while: %w", Reject(base)), 78},
		{"the outermost counts", Unavailable(Reject(base)), 69},
		{"rejecting nothing", Reject(nil), 0},
	}
	for _, tt := range tests {
		if got := ExitCode(tt.err); got != tt.want {
			t.Errorf("%s: exit %d, want %d", tt.name, got, tt.want)
		}
	}
	if !errors.Is(Reject(base), base) {
		t.Error("the cause is lost")
	}
}
