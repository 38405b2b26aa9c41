package agent

import (
	"strings"
	"syscall"
	"testing"

	"github.com/florete/flor/supervise/control"
)

// AGT-10: a process that hangs is up and serves nobody. Status tells it, it is
// left as it is, and when it goes on all is well; one that serves no control
// channel is none of that sort.
func TestAHungWorkloadIsAProblem(t *testing.T) {
	t.Parallel()
	w := newWorld(t, workloadOf("flor", behaviour{}), workloadOf("app", behaviour{Mode: "silent"}))
	w.relay.publish(1, w.set(1, workloadOf("flor", behaviour{}), workloadOf("app", behaviour{Mode: "silent"})))
	c := w.start()
	well := func(doc control.StatusDoc) bool {
		return settled(doc) && doc.Workloads[0].Ready != nil && len(doc.Health) == 0
	}
	before := w.until(c, "all well", well)
	pid := pids(before)["flor"]
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	w.agent.attendant.stir()
	w.until(c, "the hung workload told", func(doc control.StatusDoc) bool {
		return len(doc.Health) == 1 && strings.HasPrefix(doc.Health[0], "flor: does not answer on its control channel since ")
	})
	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	w.agent.attendant.stir()
	if after := w.until(c, "all well again", well); pids(after)["flor"] != pid {
		t.Errorf("flor was %d, is %d", pid, pids(after)["flor"])
	}
}
