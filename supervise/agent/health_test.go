package agent

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/florete/flor/supervise"
	"github.com/florete/flor/supervise/program"
)

// The health list names what is wrong, and is empty when nothing is.
func TestHealth(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	workload := func(state supervise.State, reason string, ready *program.Readiness) []observed {
		return []observed{{liveness: liveness{name: "flor", state: state, reason: reason, ready: ready}, since: now.Add(-time.Minute), pid: 7}}
	}
	tests := []struct {
		name string
		c    condition
		want []string
	}{
		{"all well", condition{workloads: workload(supervise.Up, "", &program.Readiness{Ready: true}), certificates: []certificate{{"id", now.Add(30 * 24 * time.Hour)}}}, []string{}},
		{"starting is no problem", condition{workloads: workload(supervise.Starting, "", nil)}, []string{}},
		{"a crash loop is", condition{workloads: workload(supervise.CrashLooping, "signal 9", nil)}, []string{"flor: crash-looping (signal 9) since 2026-05-01T11:59:00Z"}},
		{"a refused artifact is", condition{workloads: workload(supervise.Unverified, "", nil)}, []string{"flor: unverified since 2026-05-01T11:59:00Z"}},
		{"a busy port is", condition{workloads: workload(supervise.Up, "", &program.Readiness{Ready: true, Waiting: []string{"127.0.0.1:80"}})}, []string{"flor: waits for 127.0.0.1:80"}},
		{"a slow stop names its process", condition{workloads: workload(supervise.Stopping, "", nil)}, []string{"flor: is being stopped since 2026-05-01T11:59:00Z, process 7 holds it"}},
		{"a recovered set is", condition{recovered: true, active: 3, mark: 4}, []string{"recovered: the set v4 was damaged on disk, an older or partial one runs (v3)"}},
		{"lost trust is", condition{trustLost: true}, []string{"trust-state-lost: agent/state.json is gone, so no set can be admitted; workloads run on; remedy: flor enroll with a new bundle"}},
		{"a set that is not confirmed is", condition{active: 5, late: []string{"flor: rejected"}}, []string{"set v5 is active but not confirmed: flor: rejected"}},
		{"a sync in trouble is", condition{trouble: "FL1409 unreachable: refused", since: now}, []string{"sync: FL1409 unreachable: refused, since 2026-05-01T12:00:00Z"}},
		{"an expired certificate is", condition{certificates: []certificate{{"id", now}}}, []string{"certificate of id expired at 2026-05-01T12:00:00Z"}},
		{"one about to expire is", condition{certificates: []certificate{{"id", now.Add(time.Hour)}}}, []string{"certificate of id expires at 2026-05-01T13:00:00Z"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.c.now = now
			if diff := cmp.Diff(tt.want, health(tt.c)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
