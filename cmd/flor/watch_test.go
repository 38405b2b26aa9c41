package main

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/florete/flor/supervise/control"
)

// AGT-10: --watch --json follows as a document a line, and says at the end that
// the agent is gone.
func TestStatusIsFollowed(t *testing.T) {
	t.Parallel()
	i, r := newStation(t), newRete("demo")
	i.enrol(r.bundle())
	i.start()
	i.until("an answer", func(control.StatusDoc) bool { return true })
	watch := i.command("agent", "status", "--watch", "--json")
	lines, err := watch.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var told bytes.Buffer
	watch.Stderr = &told
	if err := watch.Start(); err != nil {
		t.Fatal(err)
	}
	var states []string
	documents := json.NewDecoder(lines)
	for !slices.Contains(states, "up") {
		var doc control.StatusDoc
		if err := documents.Decode(&doc); err != nil {
			t.Fatal(err)
		}
		if len(doc.Workloads) > 0 {
			states = append(states, doc.Workloads[0].State)
		}
	}
	// The first look may come before the workload was begun with.
	if states = slices.Compact(states); states[0] == "stopped" {
		states = states[1:]
	}
	if !slices.Equal(states, []string{"starting", "up"}) {
		t.Errorf("states that were told: %v", states)
	}
	i.stop()
	for doc := (control.StatusDoc{}); documents.Decode(&doc) == nil; {
	}
	watch.Wait()
	if !strings.HasPrefix(told.String(), "flor: FL3306 not-running: ") || strings.Count(told.String(), "\n") != 1 {
		t.Errorf("told at the agent's end: %s", &told)
	}
	if code := watch.ProcessState.ExitCode(); code != exitCould {
		t.Errorf("exit code %d after the agent's end, want %d: not running", code, exitCould)
	}
}
