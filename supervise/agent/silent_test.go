package agent

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/florete/flor/envelope/schema"
	"github.com/florete/flor/supervise/control"
)

// AGT-7: when what carries sync is ready again, the coordinator is asked at once,
// however long the next fetch was away.
func TestSyncFollowsTheWorkloadThatCarriesIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	carries := workloadOf("flor", behaviour{Listens: w.socks})
	slowly := func(a *schema.Agent) { a.Sync.PollInterval = "1h" }
	c := w.start()
	w.until(c, "the agent", func(doc control.StatusDoc) bool { return doc.LastSync != nil })
	second := w.setOf("alpha", 2, slowly, carries)
	if got := w.sync(c, false, bytes.NewReader(document(second))); got.Result != control.Applied {
		t.Fatalf("sync: %+v", got)
	}
	w.relay.publish(2, second)
	w.until(c, "a fetch an hour away", func(doc control.StatusDoc) bool {
		return settled(doc) && len(doc.Health) == 0 && time.Until(doc.NextSync) > 30*time.Minute
	})
	fetches := w.relay.count()
	if err := c.Restart(t.Context(), "flor"); err != nil {
		t.Fatal(err)
	}
	w.relay.untilFetched(t, fetches+1)
}

// SUP-11, OBS-4: a workload need not serve a control channel; that it is restarted
// for its change is no warning.
func TestAWorkloadWithoutAChannelIsRestartedInPeace(t *testing.T) {
	t.Parallel()
	w := newWorld(t, workloadOf("app", behaviour{Mode: "silent"}))
	c := w.start()
	before := w.until(c, "all up", settled)
	got := w.sync(c, false, bytes.NewReader(document(w.set(2, workloadOf("app", behaviour{Mode: "silent", Note: "new"})))))
	if want := []control.Change{{Name: "app", Action: "restart"}}; !slices.Equal(got.Workloads, want) {
		t.Errorf("the change: %+v, want %+v", got.Workloads, want)
	}
	w.until(c, "another process", func(doc control.StatusDoc) bool { return settled(doc) && pids(doc)["app"] != pids(before)["app"] })
	w.log.await(t, "does not take its change over while it runs")
	if strings.Contains(w.log.text(), "WARN supervise") {
		t.Errorf("the restart is a warning:\n%s", w.log.text())
	}
}

// AGT-10: whoever asks right after a restart is not told of the process before it.
func TestAStatusAfterARestartIsOfTheNewProcess(t *testing.T) {
	t.Parallel()
	w := newWorld(t, workloadOf("flor", behaviour{Mode: "restart"}))
	w.relay.publish(1, w.set(1, workloadOf("flor", behaviour{Mode: "restart"})))
	c := w.start()
	well := func(doc control.StatusDoc) bool { return settled(doc) && len(doc.Health) == 0 }
	before := w.until(c, "all well", well)
	if err := c.Restart(t.Context(), "flor"); err != nil {
		t.Fatal(err)
	}
	for doc, began := before, time.Now(); doc.Workloads[0].PID == before.Workloads[0].PID || len(doc.Health) > 0; {
		if doc = w.status(c); time.Since(began) > patience {
			t.Fatalf("not well again: %q", doc.Health)
		}
		flor := doc.Workloads[0]
		if len(doc.Health) == 0 && (flor.PID == before.Workloads[0].PID || flor.Ready == nil || !flor.Ready.Ready) {
			t.Fatalf("told as well: %+v, ready %+v", flor, flor.Ready)
		}
	}
}

// AGT-10: from the moment in which the agent is told to end, it is not well.
func TestAnAgentThatEndsSaysSo(t *testing.T) {
	t.Parallel()
	w := newWorld(t, workloadOf("flor", behaviour{}))
	w.until(w.start(), "all up", settled)
	if err := w.stop(); err != nil {
		t.Fatal(err)
	}
	if w.agent.board.read().stopping.IsZero() {
		t.Error("it has ended, and status never said that it was ending")
	}
}

// AGT-10: whoever asks is told of a look that began after the question, not of the
// one that was under way.
func TestWhoAsksWaitsForTheNextLook(t *testing.T) {
	t.Parallel()
	a := &attendant{looked: make(chan struct{})}
	underWay := a.begin()
	a.mu.Lock()
	awaited := a.looked
	a.mu.Unlock()
	close(underWay)
	select {
	case <-awaited:
		t.Error("the look that was under way is taken for the one asked for")
	default:
	}
	close(a.begin())
	<-awaited
}

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
	halt(t, pid)
	w.agent.attendant.stir()
	w.until(c, "the hung workload told", func(doc control.StatusDoc) bool {
		return strings.Contains(strings.Join(doc.Health, "\n"), "flor: does not answer on its control channel since ")
	})
	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	w.agent.attendant.stir()
	if after := w.until(c, "all well again", well); pids(after)["flor"] != pid {
		t.Errorf("flor was %d, is %d", pid, pids(after)["flor"])
	}
}

// halt stops a child of this process and waits until it stands still: until then
// it may answer whoever looks at it, and the next look is half a minute away.
func halt(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
		t.Fatalf("process %d does not stand still: %v, %v", pid, status, err)
	}
}

// AGT-9, SET-8: a certificate whose key is gone is a problem and none that status
// lists.
func TestACertificateWithoutItsKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t, workloadOf("flor", behaviour{}))
	if err := os.Remove(filepath.Join(w.layout.RetesDir(), w.scope, "identity/certs/alpha.key")); err != nil {
		t.Fatal(err)
	}
	doc := w.until(w.start(), "all up", settled)
	words := "FL2102 absent: spiffe://demo/node/alpha: its key alpha.key is missing; remedy: retectl issue-bundle --node alpha, then flor enroll"
	if len(doc.Identity) != 0 || !strings.Contains(strings.Join(doc.Health, "\n"), words) {
		t.Errorf("identity %+v, health %q", doc.Identity, doc.Health)
	}
}
