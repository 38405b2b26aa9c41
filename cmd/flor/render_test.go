package main

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/florete/flor/supervise/control"
)

// AGT-10: what is wrong stands first.
func TestStatusForAPerson(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	doc := control.StatusDoc{
		Scope: "my-rete", Node: "alpha", TrustDomain: "rete-lovers",
		Agent: control.Agent{PID: 7, UptimeMS: 61_000, Build: "v1.0.0"},
		Set:   control.Set{Active: 43, Mark: 42, Pending: 43, Retained: []uint64{42, 43}},
		Workloads: []control.Workload{
			{Name: "flor", State: "up", Since: now.Add(-time.Minute), PID: 8, Set: 43, Via: "swapped"},
			{
				Name: "coordinator", State: "backoff", Since: now.Add(-2 * time.Second), Restarts: 3,
				LastExit: &control.Exit{Code: -1, Signal: "killed", At: now}, NextTry: now.Add(time.Second),
			},
		},
		LastSync:    &control.SyncResult{Result: control.Failed, Trigger: "watch", When: now.Add(-12 * time.Second)},
		LastContact: now.Add(-10 * time.Second), NextSync: now.Add(5 * time.Minute),
		Identity: []control.Certificate{{ID: "spiffe://rete-lovers/node/alpha", NotAfter: now.AddDate(0, 0, 90)}},
		Health:   []string{"coordinator: backoff (signal killed)"},
	}
	want := `my-rete: node alpha of rete-lovers: degraded, 1 problem
  ! coordinator: backoff (signal killed)
set        v43 active, not confirmed yet (mark v42), kept v42
sync       failed 12s ago by watch, last contact 10s ago, next in 5m0s
workload   flor         up 1m0s     pid 8 on v43 (swapped)
workload   coordinator  backoff 2s  no process  3 restarts, last end: signal killed at 12:00:00, next try 12:00:01
identity   spiffe://rete-lovers/node/alpha, valid for 90 days
agent      pid 7, up 1m1s, v1.0.0
`
	var got strings.Builder
	render(&got, doc, now)
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Error(diff)
	}
}

var update = flag.Bool("update", false, "write the golden files anew")

// AGT-10: what a person reads in each state of a node, what is wrong first. The
// documents are those of the agent's own test.
func TestStatusInEachState(t *testing.T) {
	t.Parallel()
	documents, err := filepath.Glob("../../supervise/agent/testdata/status/*.json")
	if err != nil || len(documents) == 0 {
		t.Fatalf("documents: %v %v", documents, err)
	}
	for _, path := range documents {
		name := strings.TrimSuffix(filepath.Base(path), ".json")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var doc control.StatusDoc
			if err := json.Unmarshal(text, &doc); err != nil {
				t.Fatal(err)
			}
			var got strings.Builder
			render(&got, doc, time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC))
			checkGolden(t, filepath.Join("testdata/status", name+".golden"), got.String())
		})
	}
}

func checkGolden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s: %s", path, diff)
	}
}
