package agentsuite

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"

	"github.com/florete/flor/conformance/internal/node"
	"github.com/florete/flor/conformance/internal/rete"
	"github.com/florete/flor/conformance/internal/trial"
)

// activationCases are about what a new set does to workloads, and about an
// agent that is killed in the middle of it.
func activationCases() []Case {
	return []Case{
		{"activation/swap", "a workload that swaps is offered its artifact and keeps its process", "SUP-11 AGT-4", checkSwap},
		{"activation/restart-without-channel", "a changed workload without a control channel is restarted on its artifact", "AGT-4 SUP-11", checkRestart},
		{"activation/restart-on-demand", "a workload that answers restart is restarted", "SUP-11", checkRestartAnswer},
		{"activation/silent-channel", "a workload that does not answer within 2 s is restarted", "SUP-11", checkSilentChannel},
		{"activation/drain-first", "a workload with a control channel is told to drain before the SIGTERM of a restart", "SUP-4 SUP-11", checkDrainFirst},
		{"activation/unchanged-goes-on", "a workload of which only the version moved keeps running", "ENV-8 AGT-4", checkKept},
		{"activation/start-and-stop", "new workloads start, those that left stop, and their state stays", "AGT-4 SET-4", checkStartAndStop},
		{"activation/own-payload", "a new inbound takes effect in place, and no workload is restarted", "AGT-5", checkOwnPayload},
		{"activation/set-in-use", "a set that a living process runs on is kept", "SET-4", checkSetInUse},
		{"crash/during-fetch", "killed while it fetches, the agent comes back on its set", "AGT-3 SET-3", checkKilledFetching},
		{"crash/during-check", "killed while a set is staged and checked, the old set is active and nothing is left of the new one, nor of the check", "SET-2 SET-3 SET-4 AGT-3 SUP-9", checkKilledChecking},
		{"crash/before-confirmation", "killed before the mark moved, the new set is whole and is confirmed after the start", "AGT-4 SET-3 SET-6", checkKilledPending},
		{"crash/survivors", "workloads of an agent that was killed are ended before others are started", "SUP-9 AGT-3", checkSurvivors},
		{"crash/recycled-pid", "a process that only has the pid of an old workload is left alone", "SUP-9", checkRecycledPID},
		{"crash/half-enrolment", "a re-enrolment that was cut short is finished", "BND-3", checkHalfEnrolment},
		{"crash/half-replacement", "a scope that was about to take another's place takes it", "BND-3", checkHalfReplacement},
	}
}

// channel is the control channel of a workload, served by the suite.
type channel struct {
	mu      sync.Mutex
	calls   []string // path and body
	answers map[string]string
}

// serveChannel serves the control channel of a started workload; answers has the
// body for each path, and a path without one is answered 404.
func serveChannel(t *trial.T, n *node.Node, e node.Event, answers map[string]string) *channel {
	c := &channel{answers: maps.Clone(answers)}
	n.ServeChannel(n.Workloads.Environment(e)["FLORWL_CONTROL_SOCKET"], func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(io.LimitReader(r.Body, 64<<10))
		c.mu.Lock()
		c.calls = append(c.calls, r.URL.Path+" "+string(body))
		answer, ok := c.answers[r.URL.Path]
		c.mu.Unlock()
		switch {
		case !ok:
			http.NotFound(w, r)
		case answer == "":
			<-r.Context().Done() // says nothing
		default:
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, answer)
		}
	})
	return c
}

// called tells whether a call has this path and these words in its body.
func (c *channel) called(path string, words ...string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.ContainsFunc(c.calls, func(call string) bool {
		return strings.HasPrefix(call, path+" ") && !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(call, w) })
	})
}

// answer changes what is said to calls of a path from now on.
func (c *channel) answer(path, body string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answers[path] = body
}

// count is how many calls of a path there were.
func (c *channel) count(path string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	called := 0
	for _, call := range c.calls {
		if strings.HasPrefix(call, path+" ") {
			called++
		}
	}
	return called
}

const (
	readyAnswer   = `{"ready":true,"listening":[],"waiting":[]}`
	swappedAnswer = `{"result":"swapped"}`
	restartAnswer = `{"result":"restart"}`
)

// offering starts a node whose workload app serves a control channel with these
// answers, and offers it a changed artifact.
func offering(t *trial.T, n *node.Node, answers map[string]string) (first node.Event, c *channel, r node.Result) {
	n.Enrol(n.Set(1, node.Tenant("app", 1)))
	n.Start()
	first = n.Workloads.Await("start", "app", 1)
	c = serveChannel(t, n, first, answers)
	n.Until("the agent must end a first sync", func(s node.Status) bool { return s.LastSync != nil })
	return first, c, n.Sync(rete.Document(n.Set(2, node.Tenant("app", 2))...))
}

func checkSwap(t *trial.T, n *node.Node) {
	first, c, r := offering(t, n, map[string]string{"/v1/apply": swappedAnswer, "/v1/ready": readyAnswer})
	applied(t, r)
	if !c.called("/v1/apply", `"mgmt_artifact"`, "/v2/app.json") {
		t.Fatalf("the changed artifact was not offered with POST /v1/apply and its path")
	}
	if w := n.Status().Of("app"); w.PID != first.PID || w.Set != 2 || w.Via != "swapped" || len(n.Workloads.Events("start", "app")) != 1 {
		t.Fatalf("after it swapped the status has pid %d, set %d, via %q; it must be %d, 2 and swapped", w.PID, w.Set, w.Via, first.PID)
	}
}

// restarted checks that app was started again, on v2.
func restarted(t *trial.T, n *node.Node, first node.Event) {
	second := n.Workloads.Await("start", "app", 2)
	if second.PID == first.PID || !strings.Contains(second.Artifact, "/v2/") {
		t.Fatalf("the workload was started again on %s; it must be the artifact of the new set", second.Artifact)
	}
}

func checkRestart(t *trial.T, n *node.Node) {
	n.Enrol(n.Set(1, node.Tenant("app", 1)))
	n.Start()
	first := n.Workloads.Await("start", "app", 1)
	n.Until("the agent must end a first sync", func(s node.Status) bool { return s.LastSync != nil })
	applied(t, n.Sync(rete.Document(n.Set(2, node.Tenant("app", 2))...)))
	restarted(t, n, first)
	if len(n.Workloads.Events("stop", "app")) != 1 {
		t.Fatalf("the workload was not told to stop with SIGTERM before it was started again")
	}
}

func checkRestartAnswer(t *trial.T, n *node.Node) {
	first, _, _ := offering(t, n, map[string]string{"/v1/apply": restartAnswer, "/v1/ready": readyAnswer, "/v1/drain": `{"result":"drained"}`})
	restarted(t, n, first)
}

func checkSilentChannel(t *trial.T, n *node.Node) {
	first, _, _ := offering(t, n, map[string]string{"/v1/apply": "", "/v1/ready": readyAnswer})
	restarted(t, n, first)
}

func checkDrainFirst(t *trial.T, n *node.Node) {
	first, c, _ := offering(t, n, map[string]string{"/v1/apply": restartAnswer, "/v1/ready": readyAnswer, "/v1/drain": `{"result":"drained"}`})
	restarted(t, n, first)
	if !c.called("/v1/drain", `"within_ms"`, "800") {
		t.Fatalf("the workload was not told POST /v1/drain with 800 ms before it was restarted")
	}
}

func checkKept(t *trial.T, n *node.Node) {
	n.Enrol(n.Set(1, node.Tenant("app", 1)))
	n.Start()
	first := n.Workloads.Await("start", "app", 1)
	n.Until("the agent must end a first sync", func(s node.Status) bool { return s.LastSync != nil })
	applied(t, n.Sync(rete.Document(n.Set(2, node.Tenant("app", 1))...)))
	if w := n.Status().Of("app"); w.PID != first.PID {
		t.Fatalf("a workload whose payload is canonically the same was restarted")
	}
}

func checkStartAndStop(t *trial.T, n *node.Node) {
	n.Enrol(n.Set(1, node.Tenant("old", 1)))
	n.Start()
	old := n.Workloads.Await("start", "old", 1)
	n.Until("the agent must end a first sync", func(s node.Status) bool { return s.LastSync != nil })
	t.Check(n.Root.Write("workloads/old/data", []byte("mine")), "write a workload's data")
	n.Sync(rete.Document(n.Set(2, node.Tenant("new", 1))...))
	n.Workloads.Await("start", "new", 1)
	n.Workloads.Await("stop", "old", 1)
	t.Await("the workload that left must end", func() bool { return !node.Alive(old.PID) })
	if n.Root.Read("workloads/old/data") != "mine" {
		t.Fatalf("the state directory of a workload that left was touched")
	}
}

func checkOwnPayload(t *trial.T, n *node.Node) {
	n.Enrol(n.Set(1, node.Tenant("app", 1)))
	n.Start()
	first := n.Workloads.Await("start", "app", 1)
	n.Until("the agent must end a first sync", func(s node.Status) bool { return s.LastSync != nil })
	moved := node.NewCoordinator(t)
	n.Sync(rete.Document(n.SetOf(rete.Set{Version: 2, Inbound: moved.Addr, Workloads: []rete.Workload{node.Tenant("app", 1)}})...))
	n.Sync(nil)
	if len(moved.Fetches()) == 0 {
		t.Fatalf("after a set with another inbound the fetch still goes to the old one")
	}
	if s := n.Status(); s.Of("app").PID != first.PID || s.Agent.PID != n.Agent.PID() {
		t.Fatalf("a change of the agent's own payload restarted a workload")
	}
}

func checkSetInUse(t *trial.T, n *node.Node) {
	n.Enrol(n.Set(1, node.Tenant("app", 1)))
	n.Start()
	n.Workloads.Await("start", "app", 1)
	n.Until("the agent must end a first sync", func(s node.Status) bool { return s.LastSync != nil })
	for version := uint64(2); version <= 4; version++ {
		applied(t, n.Sync(rete.Document(n.Set(version, node.Tenant("app", 1))...)))
	}
	if _, err := os.Stat(n.Workloads.Events("start", "app")[0].Artifact); err != nil {
		t.Fatalf("the artifact that a living process was given is gone: %w", err)
	}
}

func checkKilledFetching(t *trial.T, n *node.Node) {
	n.Enrol(n.Set(1, node.Tenant("app", 1)))
	n.Coordinator.Answer(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, `{"artifacts":[`)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	n.Start()
	n.Agent.Await("the agent must fetch at its start", func() bool { return len(n.Coordinator.Fetches()) > 0 })
	n.Agent.Kill()
	n.Coordinator.Answer(node.Published(2, rete.Document(n.Set(2)...)))
	n.Serve()
	n.Until("the agent must sync after it was killed during a fetch", func(s node.Status) bool { return s.Set.Active == 2 })
}

func checkKilledChecking(t *trial.T, n *node.Node) {
	n.Enrol(n.Set(1, node.Tenant("app", 1)))
	n.Serve()
	n.Workloads.Checks(`while [ -e "$bed/events" ]; do sleep 1; done`) // as long as there is a machine
	go func() {
		_, _ = n.TrySyncWith(rete.Document(n.Set(2, node.Tenant("app", 1), node.Vertex("flor", 1))...))
	}()
	judge := n.Workloads.Await("check", "flor", 1)
	n.Agent.Kill()
	if active(n) != "v1" {
		t.Fatalf("current is %q before the set was checked; it must be v1", active(n))
	}
	n.Workloads.Checks("exit 0")
	if s := n.Serve(); s.Set.Active != 1 || s.Set.Recovered {
		t.Fatalf("after the kill the status has active %d, recovered %v; it must be 1 and false", s.Set.Active, s.Set.Recovered)
	}
	if got := setNames(n); !slices.Equal(got, []string{"v1"}) {
		t.Fatalf("after the start sets are %v; what was staged and not published must go", got)
	}
	if node.Alive(judge.PID) {
		t.Fatalf("process %d, which checked the set for the agent that was killed, still runs; whatever an agent had started ends with the next one's start", judge.PID)
	}
}

func checkKilledPending(t *trial.T, n *node.Node) {
	n.Enrol(n.Set(1, node.Tenant("app", 1)))
	n.Serve()
	go func() { _, _ = n.TrySyncWith(rete.Document(n.Set(2, node.Tenant("app", 2))...)) }()
	n.Workloads.Await("start", "app", 2)
	n.Agent.Kill()
	st, err := n.Root.State()
	t.Check(err, "read state.json")
	if active(n) != "v2" || st.Mark != 1 || st.Pending != 2 {
		t.Fatalf("when v2 has just been activated current is %q, mark %d, pending %d; it must be v2, 1 and 2", active(n), st.Mark, st.Pending)
	}
	n.Start()
	n.Until("the mark must move after the start, when the workloads have run for a while", func(s node.Status) bool {
		return s.Set.Active == 2 && s.Set.Mark == 2 && s.Set.Pending == 0
	})
}

func checkSurvivors(t *trial.T, n *node.Node) {
	n.Enrol(n.Set(1, node.Tenant("app", 1)))
	n.Start()
	first := n.Workloads.Await("start", "app", 1)
	n.Until("the workload must be recorded", func(s node.Status) bool { return s.Of("app").PID == first.PID })
	n.Agent.Kill()
	if !node.Alive(first.PID) {
		t.Fatalf("the workload died with the agent; nothing to be seen")
	}
	n.Start()
	n.Workloads.Await("start", "app", 2)
	if node.Alive(first.PID) {
		t.Fatalf("when the workload was started again, process %d of the agent that was killed still ran", first.PID)
	}
}

func checkRecycledPID(t *trial.T, n *node.Node) {
	n.Enrol(n.Set(1, node.Tenant("app", 1)))
	n.Start()
	first := n.Workloads.Await("start", "app", 1)
	n.Until("the workload must be recorded", func(s node.Status) bool { return s.Of("app").PID == first.PID })
	n.Agent.Kill()
	bystander := exec.Command("sleep", "1000")
	t.Check(bystander.Start(), "start a bystander")
	ended := make(chan struct{})
	go func() { _ = bystander.Wait(); close(ended) }()
	t.Cleanup(func() { _ = bystander.Process.Kill(); <-ended })
	pointAt(t, n, bystander.Process.Pid)
	n.Start()
	n.Workloads.Await("start", "app", 2)
	if !node.Alive(bystander.Process.Pid) {
		t.Fatalf("a process that only has the pid of a recorded workload, and another start time, was ended")
	}
}

// pointAt rewrites children.json as if the recorded pid were another's by now.
func pointAt(t *trial.T, n *node.Node, pid int) {
	path := n.RuntimePath("children.json")
	text, err := os.ReadFile(path)
	t.Check(err, "read children.json")
	var record map[string]any
	t.Check(json.Unmarshal(text, &record), "read children.json")
	children, _ := record["children"].([]any)
	if len(children) != 1 {
		t.Fatalf("children.json has %d children, not the one that ran", len(children))
	}
	children[0].(map[string]any)["pid"] = pid
	text, err = json.Marshal(record)
	t.Check(err, "write children.json")
	t.Check(os.WriteFile(path, text, 0o600), "write children.json")
}

func checkHalfEnrolment(t *trial.T, n *node.Node) {
	n.Enrol(n.Set(1))
	t.Check(n.Rete.Enrol(rete.Scope(n.Root.Path("enrolment")), n.Set(3)), "write a re-enrolment")
	s := n.Serve()
	if s.Set.Active != 3 || s.Set.Mark != 3 || active(n) != "v3" {
		t.Fatalf("with a whole enrolment/ in the scope root the status has active %d and mark %d; it must be copied into place, v3", s.Set.Active, s.Set.Mark)
	}
	if _, err := os.Lstat(n.Root.Path("enrolment")); err == nil {
		t.Fatalf("enrolment/ is still there after it was copied into place")
	}
}

func checkHalfReplacement(t *trial.T, n *node.Node) {
	n.Enrol(n.Set(1))
	next := strings.TrimSuffix(string(n.Root), n.Scope) + ".next-" + n.Scope
	t.Check(os.Rename(string(n.Root), next), "rename the scope root")
	if s := n.Serve(); s.Set.Active != 1 {
		t.Fatalf("with no scope and a whole retes/.next-%s that one must take its place", n.Scope)
	}
}
