package agent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/florete/flor/supervise/program"
)

func example(run string) spawn {
	return spawn{
		scope: "demo", name: "flor", run: run,
		mgmtArtifact: "/s/v4/flor.json", stateDir: "/s/workloads/flor", logSink: program.SinkShared,
		socket: "/r/flor.sock", scopeRoot: "/s", runtimeRoot: "/r",
	}
}

// SUP-1: the table, and nothing of the agent's own FLOR* but FLOR_LOG.
func TestSpawnEnvironment(t *testing.T) {
	t.Parallel()
	own := []string{"PATH=/bin", "FLOR_STATE_HOME=/x", "FLOR_LOG=debug", "FLORWL_NAME=other", "FLORX=1", "HOME=/h"}
	want := []string{
		"PATH=/bin", "FLOR_LOG=debug", "HOME=/h",
		"FLORWL_SCOPE=demo", "FLORWL_NAME=flor", "FLORWL_MGMT_ARTIFACT=/s/v4/flor.json",
		"FLORWL_STATE_DIR=/s/workloads/flor", "FLORWL_CONTROL_SOCKET=/r/flor.sock", "FLORWL_LOG_SINK=shared",
	}
	if diff := cmp.Diff(want, environ(own, example("tenant"))); diff != "" {
		t.Error(diff)
	}
	platform := append(want, "FLORWL_SCOPE_ROOT=/s", "FLORWL_RUNTIME_ROOT=/r")
	if diff := cmp.Diff(platform, environ(own, example("flor-vertex"))); diff != "" {
		t.Error(diff)
	}
}

// SUP-2: an executable is looked up in the lib directory and nowhere else.
func TestExecutableIsFoundInTheLibDirectoryOnly(t *testing.T) {
	t.Parallel()
	lib := t.TempDir()
	present := filepath.Join(lib, "tool")
	if err := os.WriteFile(present, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(lib, "data"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if path, err := executable(lib, "tool"); err != nil || path != present {
		t.Errorf("executable: %q, %v", path, err)
	}
	for run, words := range map[string]string{"sh": "sh is not in " + lib, "data": "is not an executable file"} {
		if _, err := executable(lib, run); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("executable %s: %v, want %q", run, err, words)
		}
	}
}
