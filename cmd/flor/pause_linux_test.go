package main

import (
	"cmp"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/florete/flor/supervise/control"
)

// haltEnv makes the halt another one than 4 s, which is longer than the liveness
// window and a poll: FLOR_TEST_HALT=1m.
const haltEnv = "FLOR_TEST_HALT"

// TestAnAgentThatIsHaltedForAWhile stops an agent by SIGSTOP for longer than
// its liveness window and its polls: once it goes on, it takes nothing that
// happened meanwhile for a crash, and restarts nobody (SUP-6).
func TestAnAgentThatIsHaltedForAWhile(t *testing.T) {
	t.Parallel()
	k := newKilled(t)
	k.from.publish(1, document(k.set(1)))
	k.start()
	well := func(doc control.StatusDoc) bool {
		return len(doc.Health) == 0 && !doc.LastContact.IsZero() && len(doc.Workloads) == 2 &&
			!slices.ContainsFunc(doc.Workloads, func(w control.Workload) bool { return w.State != "up" })
	}
	before := k.until("all up", well)
	k.agent.Process.Signal(syscall.SIGSTOP)
	time.Sleep(haltFor(t))
	k.agent.Process.Signal(syscall.SIGCONT)
	after := k.until("all up", well)
	if diff := gocmp.Diff(processes(before), processes(after)); diff != "" {
		t.Error(diff)
	}
	k.publish()
	k.until("the next set", func(doc control.StatusDoc) bool { return doc.Set.Active == k.published })
}

func haltFor(t *testing.T) time.Duration {
	t.Helper()
	halt, err := time.ParseDuration(cmp.Or(os.Getenv(haltEnv), "4s"))
	if err != nil {
		t.Fatalf("%s: %v", haltEnv, err)
	}
	return halt
}

// processes has the pid and the restarts of each workload.
func processes(doc control.StatusDoc) map[string][2]int {
	all := map[string][2]int{}
	for _, w := range doc.Workloads {
		all[w.Name] = [2]int{w.PID, w.Restarts}
	}
	return all
}
