package agent

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/florete/flor/envelope"
	"github.com/florete/flor/supervise/program"
)

// TestMain lets the test binary be the workloads too: the lib directories of
// tests hold links to it under the names of programs.
func TestMain(m *testing.M) {
	switch filepath.Base(os.Args[0]) {
	case "flor-vertex", "flor-coordinator", "tenant":
		workload.Main()
	}
	// A program under the race detector sleeps a second before it exits, longer
	// than a restart's grace.
	os.Setenv("GORACE", "atexit_sleep_ms=0")
	goleak.VerifyTestMain(m)
}

// behaviour is the payload of a test's workload: how it behaves.
type behaviour struct {
	SchemaVersion string `json:"schema_version"`
	// Mode is "" (serve, and swap when offered a change), "restart" (serve, and
	// do not swap), "reject" (exit 78), "crash" (exit 1), "late" (serve, never
	// ready), "second" (ready from its second process on), "silent" (no control
	// channel) or "check-crash" (--check breaks).
	Mode string `json:"mode"`
	// Note makes payloads differ.
	Note  string `json:"note,omitempty"`
	Waits string `json:"waits,omitempty"`
	// Listens is what it says that it listens on.
	Listens string `json:"listens,omitempty"`
}

var workload = program.Program{Name: "workload", Version: "test", Run: serveWorkload, Check: checkWorkload}

func checkWorkload(_ *program.Context, a envelope.Artifact) error {
	b, err := parseBehaviour(a)
	switch {
	case err != nil:
		return err
	case b.SchemaVersion != "1.0":
		return errors.New("payload " + b.SchemaVersion + ": upgrade this program, it reads 1.0")
	case b.Mode == "check-crash":
		os.Exit(3)
	}
	return nil
}

func serveWorkload(ctx context.Context, c *program.Context) error {
	a, err := c.Artifact()
	if err != nil {
		return err
	}
	b, err := parseBehaviour(a)
	if err != nil {
		return program.Reject(err)
	}
	switch b.Mode {
	case "reject":
		return program.Reject(errors.New("this payload cannot be served"))
	case "crash":
		return errors.New("crash on purpose")
	case "silent":
		<-ctx.Done()
		return nil
	}
	first := b.Mode == "second" && firstProcess(c.StateDir)
	c.OnApply(func(_ context.Context, next envelope.Artifact, _ bool) (bool, error) {
		to, err := parseBehaviour(next)
		return err == nil && to.Mode == b.Mode && b.Mode != "restart", err
	})
	c.OnReady(func() program.Readiness {
		r := program.Readiness{Ready: b.Mode != "late" && !first}
		if b.Waits != "" {
			r.Waiting = []string{b.Waits}
		}
		if b.Listens != "" {
			r.Listening = []string{b.Listens}
		}
		return r
	})
	<-ctx.Done()
	return nil
}

// firstProcess tells the first process that runs with a state directory.
func firstProcess(stateDir string) bool {
	mark, err := os.OpenFile(filepath.Join(stateDir, "ran"), os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return false
	}
	return mark.Close() == nil
}
