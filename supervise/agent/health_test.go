package agent

import (
	"errors"
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
		return []observed{{liveness: liveness{name: "flor", state: state, reason: reason, ready: ready}, since: now.Add(-time.Minute), pid: 7, nextTry: now.Add(time.Second)}}
	}
	cert := func(from, until time.Duration) certificate { return certificate{"id", now.Add(from), now.Add(until)} }
	tests := []struct {
		name string
		c    condition
		want []string
	}{
		{"all well", condition{workloads: workload(supervise.Up, "", &program.Readiness{Ready: true}), certificates: []certificate{cert(-time.Hour, 30*24*time.Hour)}}, []string{}},
		{"what starts and says nothing yet is", condition{workloads: workload(supervise.Starting, "", nil)}, []string{"flor: starting since 2026-05-01T11:59:00Z"}},
		{"not ready yet while it starts is", condition{workloads: workload(supervise.Starting, "", &program.Readiness{})}, []string{"flor: starting since 2026-05-01T11:59:00Z"}},
		{"what starts again tells how it ended", condition{workloads: workload(supervise.Starting, "exit code 3", nil)}, []string{"flor: starting (exit code 3) since 2026-05-01T11:59:00Z"}},
		{"ready while it starts is not", condition{workloads: workload(supervise.Starting, "", &program.Readiness{Ready: true})}, []string{}},
		{"a crash is", condition{workloads: workload(supervise.Backoff, "exit code 3", nil)}, []string{"flor: backoff (exit code 3) since 2026-05-01T11:59:00Z, tried again at 2026-05-01T12:00:01Z"}},
		{"a crash loop is", condition{workloads: workload(supervise.CrashLooping, "signal 9", nil)}, []string{"flor: crash-looping (signal 9) since 2026-05-01T11:59:00Z, tried again at 2026-05-01T12:00:01Z; its log says why; at once: flor agent restart flor"}},
		{"a rejected artifact is", condition{workloads: workload(supervise.Rejected, "exit code 78", nil)}, []string{"flor: rejected (exit code 78) since 2026-05-01T11:59:00Z; it cannot serve its artifact and is not tried again: publish one that it can; to try this one: flor agent restart flor"}},
		{"a refused artifact is", condition{workloads: workload(supervise.Unverified, "", nil)}, []string{"flor: unverified since 2026-05-01T11:59:00Z"}},
		{"a stopped one is", condition{workloads: workload(supervise.Stopped, "", nil)}, []string{"flor: stopped since 2026-05-01T11:59:00Z"}},
		{"a busy port is", condition{workloads: workload(supervise.Up, "", &program.Readiness{Ready: true, Waiting: []string{"127.0.0.1:80"}})}, []string{"flor: waits for 127.0.0.1:80"}},
		{"one that is in use names by whom", condition{workloads: workload(supervise.Up, "", &program.Readiness{Ready: true, Waiting: []string{"127.0.0.1:80", "127.0.0.1:81", "udp 0.0.0.0:82"}}), occupied: map[string]string{"127.0.0.1:80": "sshd, process 9", "udp 0.0.0.0:82": "a process of uid 7"}},
			[]string{"flor: waits for 127.0.0.1:80 (the address is in use by sshd, process 9), 127.0.0.1:81, udp 0.0.0.0:82 (the address is in use by a process of uid 7); remedy: end that process, or publish another address"}},
		{"the one that sync needs, that it does", condition{inbound: "127.0.0.1:80", workloads: workload(supervise.Up, "", &program.Readiness{Ready: true, Waiting: []string{"127.0.0.1:80"}}), occupied: map[string]string{"127.0.0.1:80": "sshd, process 9"}},
			[]string{"flor: waits for 127.0.0.1:80 (the address is in use by sshd, process 9, and sync goes through it); remedy: end that process, or publish another address"}},
		{"a missing identity is, with its code and remedy", condition{node: "alpha", workloads: workload(supervise.Up, "", &program.Readiness{Ready: true, Waiting: []string{"127.0.0.1:80", "identity spiffe://demo/user/ann"}})},
			[]string{"flor: waits for 127.0.0.1:80, identity spiffe://demo/user/ann (FL2102 absent); remedy: retectl issue-bundle --node alpha, then flor enroll"}},
		{"one that the workload refuses is", condition{node: "alpha", workloads: workload(supervise.Up, "", &program.Readiness{Ready: true, Waiting: []string{"identity id"}}), certificates: []certificate{cert(-time.Hour, 30*24*time.Hour)}},
			[]string{"flor: waits for identity id (refused, its log says why); remedy: retectl issue-bundle --node alpha, then flor enroll"}},
		{"a busy port is while it starts", condition{workloads: workload(supervise.Starting, "", &program.Readiness{Ready: true, Waiting: []string{"127.0.0.1:80"}})}, []string{"flor: waits for 127.0.0.1:80"}},
		{"one that does not answer any more is", condition{workloads: []observed{{liveness: liveness{name: "flor", state: supervise.Up, silent: now.Add(-time.Second)}, pid: 7}}},
			[]string{"flor: does not answer on its control channel since 2026-05-01T11:59:59Z, process 7 hangs or is stopped; to start another: flor agent restart flor"}},
		{"what runs and is not ready is", condition{workloads: workload(supervise.Up, "", &program.Readiness{})}, []string{"flor: runs, but is not ready"}},
		{"a program of flor that runs and has not answered yet is", condition{workloads: []observed{{liveness: liveness{name: "flor", state: supervise.Up}, pid: 7, answers: true}}},
			[]string{"flor: runs, but process 7 has not answered on its control channel yet; its log says why; to start another: flor agent restart flor"}},
		{"one that need not answer is not", condition{workloads: workload(supervise.Up, "", nil)}, []string{}},
		{"a process that the newest set has not reached is", condition{active: 5, workloads: []observed{{liveness: liveness{name: "flor", state: supervise.Up, runs: 4, needs: 5}, pid: 7}}}, []string{"flor: still runs on v4, and v5 is active"}},
		{"one that starts on the set before is, and what it waits for", condition{active: 5, workloads: []observed{{liveness: liveness{name: "flor", state: supervise.Starting, runs: 4, needs: 5, ready: &program.Readiness{Waiting: []string{"127.0.0.1:80"}}}, pid: 7}}},
			[]string{"flor: still runs on v4, and v5 is active", "flor: waits for 127.0.0.1:80"}},
		{"one that nothing changed for is not", condition{active: 5, workloads: []observed{{liveness: liveness{name: "flor", state: supervise.Up, runs: 4, needs: 4}, pid: 7}}}, []string{}},
		{"one that has no process yet runs on nothing", condition{active: 5, workloads: []observed{{liveness: liveness{name: "flor", state: supervise.Starting, needs: 5}, since: now}}}, []string{"flor: starting since 2026-05-01T12:00:00Z"}},
		{"a restart is, from its first moment", condition{workloads: []observed{{liveness: liveness{name: "flor", state: supervise.Stopping}, since: now, pid: 7, active: true}}}, []string{"flor: is being stopped since 2026-05-01T12:00:00Z"}},
		{"one that leaves the set is not, while it stops soon", condition{workloads: []observed{{liveness: liveness{name: "flor", state: supervise.Stopping}, since: now.Add(time.Millisecond - slowStop), pid: 7}}}, []string{}},
		{"an agent that ends is, whatever still serves", condition{stopping: now, workloads: workload(supervise.Up, "", &program.Readiness{Ready: true})}, []string{"the agent is being stopped since 2026-05-01T12:00:00Z, and its workloads with it"}},
		{"a slow stop names its process", condition{workloads: workload(supervise.Stopping, "", nil)}, []string{"flor: is being stopped since 2026-05-01T11:59:00Z, process 7 holds it"}},
		{"a recovered set is", condition{recovered: true, active: 3, mark: 4}, []string{"recovered: the set v4 was damaged on disk, an older or partial one runs (v3); the next sync that brings v4 or newer mends it"}},
		{"lost trust is", condition{trustLost: true}, []string{"trust-state-lost: agent/state.json is gone, so no set can be admitted; workloads run on; remedy: flor enroll with a new bundle"}},
		{"a set that is not confirmed is", condition{active: 5, late: []string{"flor: rejected"}}, []string{"set v5 is active but not confirmed: flor: rejected"}},
		{"a mark that cannot be written is", condition{active: 5, unwritten: "no space left on device"}, []string{"set v5 is active, but its mark cannot be written: no space left on device; tried again until it can"}},
		{"what cannot be put in order on disk is", condition{untidy: "remove v1: permission denied"}, []string{"the scope cannot be put in order on disk: remove v1: permission denied; tried again at each sync"}},
		{"a sync in trouble is", condition{trouble: "FL1409 unreachable: refused", since: now}, []string{"sync: FL1409 unreachable: refused, since 2026-05-01T12:00:00Z"}},
		{"a process that nobody may end is", condition{strays: []supervise.Stray{{PID: 9, Command: "sleep"}}}, []string{"process 9 (sleep) was left by a workload and cannot be told whose it is: end it by hand"}},
		{"an expired certificate is, and it may be the clock", condition{node: "alpha", certificates: []certificate{cert(-time.Hour, 0)}}, []string{"the clock says 2026-05-01T12:00:00Z, but the certificate of id is valid from 2026-05-01T11:00:00Z to 2026-05-01T12:00:00Z: set the clock if it is wrong; if it is right, the certificate has expired: retectl issue-bundle --node alpha, then flor enroll"}},
		{"one of the future is a wrong clock", condition{certificates: []certificate{cert(time.Hour, 2*time.Hour)}}, []string{"the clock says 2026-05-01T12:00:00Z, but the certificate of id is valid from 2026-05-01T13:00:00Z to 2026-05-01T14:00:00Z: set the clock"}},
		{"what lacks it for that reason is no second reason to enrol", condition{node: "alpha", workloads: workload(supervise.Up, "", &program.Readiness{Ready: true, Waiting: []string{"identity id"}}), certificates: []certificate{cert(time.Hour, 2*time.Hour)}},
			[]string{
				"the clock says 2026-05-01T12:00:00Z, but the certificate of id is valid from 2026-05-01T13:00:00Z to 2026-05-01T14:00:00Z: set the clock",
				"flor: waits for identity id (not valid now, see above)",
			}},
		{"one that expires in 14 days is", condition{certificates: []certificate{cert(-time.Hour, 14*24*time.Hour)}}, []string{"the certificate of id expires at 2026-05-15T12:00:00Z, in 14 days: flor enroll with a new bundle before"}},
		{"one that expires a second later is not", condition{certificates: []certificate{cert(-time.Hour, 14*24*time.Hour+time.Second)}}, []string{}},
		{"one that cannot be read is", condition{node: "alpha", unreadable: []error{errors.New("alpha.crt: no PEM")}}, []string{"identity: alpha.crt: no PEM; remedy: retectl issue-bundle --node alpha, then flor enroll"}},
		{"what others come of stands first", condition{
			node: "alpha", workloads: workload(supervise.Unverified, "", nil), trouble: "FL3201", since: now,
			certificates: []certificate{cert(-time.Hour, time.Hour), cert(-time.Hour, -time.Minute)},
		}, []string{
			"the clock says 2026-05-01T12:00:00Z, but the certificate of id is valid from 2026-05-01T11:00:00Z to 2026-05-01T11:59:00Z: set the clock if it is wrong; if it is right, the certificate has expired: retectl issue-bundle --node alpha, then flor enroll",
			"flor: unverified since 2026-05-01T11:59:00Z",
			"sync: FL3201, since 2026-05-01T12:00:00Z",
			"the certificate of id expires at 2026-05-01T13:00:00Z, in 0 days: flor enroll with a new bundle before",
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.c.now, tt.c.clock = now, now
			if diff := cmp.Diff(tt.want, health(tt.c)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
