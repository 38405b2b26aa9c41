package agentsuite

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/florete/flor/conformance/internal/node"
	"github.com/florete/flor/conformance/internal/rete"
	"github.com/florete/flor/conformance/internal/trial"
)

// supervisionCases are about what a workload finds, and what its end leads
// to.
func supervisionCases() []Case {
	return []Case{
		{"spawn/environment", "a workload has the variables of the contract, with absolute paths", "SUP-1", checkEnvironment},
		{"spawn/no-variables-of-flor", "of the agent's own environment no FLOR variable but FLOR_LOG is handed down", "SUP-1", checkInherited},
		{"spawn/scope-trees", "the scope's trees go to flor's own programs alone", "SUP-1", checkTrees},
		{"spawn/state-directory", "the state directory is there, with mode 0700, before the start", "SUP-1", checkStateDirectory},
		{"spawn/descriptors", "fd 0 is empty, and nothing beyond fd 2 is inherited", "SUP-2", checkDescriptors},
		{"spawn/log-sink", "fd 1 and fd 2 are a datagram socket to the log daemon, and no byte is relayed", "OBS-1 SUP-2", checkLogSink},
		{"spawn/process-group", "a workload leads its process group", "SUP-2", checkProcessGroup},
		{"spawn/lib-alone", "an executable is looked up in the lib directory and nowhere else", "SUP-2", checkLibAlone},
		{"spawn/check-environment", "--check runs with the file and in the spawn environment", "AGT-4 SUP-1", checkCheckEnvironment},
		{"end/rejected", "exit 78 is rejected, and not tried again until somebody asks", "SUP-3 SUP-6 SUP-7", checkRejected},
		{"end/rejected-until-new-payload", "a rejected workload is tried on a new payload", "SUP-3 SUP-6", checkRejectedRevives},
		{"end/unavailable", "exit 69 is tried again", "SUP-3 SUP-6", checkUnavailable},
		{"end/crash", "a crash is tried again after delays that grow", "SUP-6", checkCrash},
		{"end/clean-but-unasked", "exit 0 without SIGTERM is a crash", "SUP-3", checkUnaskedExit},
		{"end/signal", "an end by a signal is a crash, and the status names the signal", "SUP-3 AGT-9", checkSignalled},
		{"end/left-behind", "what a workload left in its process group is ended before it is started again", "SUP-5", checkLeftBehind},
		{"end/others-helper", "another workload's helper is not hit", "SUP-5", checkOthersHelper},
		{"orphans/other-group", "a descendant that left the process group is ended, too", "SUP-5", checkOtherGroup},
		{"stop/no-overlap", "a restart starts the next process after the old one has ended", "SUP-4", checkNoOverlap},
		{"stop/restart-grace", "at a restart a workload that ignores SIGTERM is killed", "SUP-4", checkRestartGrace},
		{"stop/grace", "at a stop a workload that ignores SIGTERM is killed after the grace, and the agent ends with 0", "SUP-4", checkStopGrace},
		{"stop/reverse-order", "workloads are stopped in reverse order", "SUP-8", checkReverseOrder},
		{"stop/one-by-one", "at the agent's end a workload is told to stop once the one after it has ended", "SUP-8", checkOneByOne},
		{"stop/slow-stop", "a stop that takes long is told in the status, with the pid that holds it", "SUP-8 SUP-7", checkSlowStop},
		{"log/no-daemon", "a log destination where nobody answers ends the agent with 69", "OBS-1", checkNoDaemon},
		{"log/wrong-socket", "a log destination of the wrong socket type ends the agent with 78", "OBS-1", checkWrongSocket},
		{"log/record-form", "each record is one datagram of one line, with priority, program, time and level", "OBS-2", checkRecordForm},
		{"log/start-line", "the start line tells program, sink and directories", "OBS-5", checkStartLine},
		{"log/edges", "a trouble that goes on is logged once", "OBS-4", checkEdges},
	}
}

// started enrols a node with workloads, starts it and waits for the first of
// each.
func started(n *node.Node, workloads ...rete.Workload) []node.Event {
	n.Enrol(n.Set(1, workloads...))
	n.Start()
	events := make([]node.Event, 0, len(workloads))
	for _, w := range workloads {
		events = append(events, n.Workloads.Await("start", w.Name, 1))
	}
	return events
}

func checkEnvironment(t *trial.T, n *node.Node) {
	e := started(n, node.Tenant("app", 1))[0]
	env := n.Workloads.Environment(e)
	for name, want := range map[string]string{
		"FLORWL_SCOPE": n.Scope, "FLORWL_NAME": "app",
		"FLORWL_MGMT_ARTIFACT":  n.Root.Path(mgmt + "sets/v1/app.json"),
		"FLORWL_STATE_DIR":      n.Root.Path("workloads/app"),
		"FLORWL_LOG_SINK":       "syslog",
		"FLORWL_CONTROL_SOCKET": n.RuntimePath("app.sock"),
	} {
		if env[name] != want {
			t.Fatalf("a workload finds %s=%q; it must be %q", name, env[name], want)
		}
	}
	if ctrl, ok := env["FLORWL_CTRL_ARTIFACT"]; ok {
		t.Fatalf("a workload without a ctrl artifact finds FLORWL_CTRL_ARTIFACT=%q; it must be unset", ctrl)
	}
}

func checkInherited(t *trial.T, n *node.Node) {
	n.Env = append(n.Env, "FLOR_SECRET=1", "FLORWL_BOGUS=1", "HARMLESS=yes")
	e := started(n, node.Tenant("app", 1))[0]
	env := n.Workloads.Environment(e)
	for name := range env {
		if strings.HasPrefix(name, "FLOR") && !strings.HasPrefix(name, "FLORWL_") && name != "FLOR_LOG" || name == "FLORWL_BOGUS" {
			t.Fatalf("a workload inherits %s; no FLOR variable of the agent but FLOR_LOG may be handed down", name)
		}
	}
	if env["FLOR_LOG"] != "info" || env["HARMLESS"] != "yes" {
		t.Fatalf("a workload finds FLOR_LOG=%q and HARMLESS=%q; FLOR_LOG and what is not flor's must be handed down", env["FLOR_LOG"], env["HARMLESS"])
	}
}

func checkTrees(t *trial.T, n *node.Node) {
	events := started(n, node.Tenant("app", 1), node.Vertex("flor", 1))
	tenant, vertex := n.Workloads.Environment(events[0]), n.Workloads.Environment(events[1])
	for name, want := range map[string]string{"FLORWL_SCOPE_ROOT": string(n.Root), "FLORWL_RUNTIME_ROOT": n.RuntimePath("")} {
		if vertex[name] != want {
			t.Fatalf("flor-vertex finds %s=%q; it must be %q", name, vertex[name], want)
		}
		if _, ok := tenant[name]; ok {
			t.Fatalf("a tenant finds %s; the scope's trees are for flor's own programs", name)
		}
	}
}

func checkStateDirectory(t *trial.T, n *node.Node) {
	n.Workloads.Does("app", `[ -d "$FLORWL_STATE_DIR" ] && say made "$(ls -ld "$FLORWL_STATE_DIR")"`)
	started(n, node.Tenant("app", 1))
	if e := n.Workloads.Await("made", "app", 1); !strings.HasPrefix(e.Artifact, "drwx------") {
		t.Fatalf("the state directory is %s; it must be 0700", e.Artifact)
	}
}

func checkDescriptors(t *trial.T, n *node.Node) {
	n.Workloads.Does("app", `
if read word; then say input "$word"; fi
for fd in 3 4 5 6 7 8 9; do if (eval ": <&$fd") 2>/dev/null; then say open "$fd"; fi; done
say looked`)
	started(n, node.Tenant("app", 1))
	n.Workloads.Await("looked", "app", 1)
	if open := n.Workloads.Events("open", "app"); len(open) > 0 {
		t.Fatalf("a workload inherits descriptor %s; only 0, 1 and 2 may be open", open[0].Artifact)
	}
	if len(n.Workloads.Events("input", "app")) > 0 {
		t.Fatalf("a workload reads something from fd 0; it must be the null device")
	}
}

func checkLogSink(t *trial.T, n *node.Node) {
	n.Workloads.Does("app", "echo to standard output; echo to standard error >&2")
	started(n, node.Tenant("app", 1))
	for _, want := range []string{"to standard output\n", "to standard error\n"} {
		t.Await("the log daemon must receive what a workload writes, as it was written: "+want, func() bool {
			return slices.Contains(n.Log.Records(), want)
		})
	}
}

func checkProcessGroup(t *trial.T, n *node.Node) {
	e := started(n, node.Tenant("app", 1))[0]
	group, err := syscall.Getpgid(e.PID)
	t.Check(err, "look at the workload's process group")
	if group != e.PID {
		t.Fatalf("workload %d is in process group %d; it must lead one of its own", e.PID, group)
	}
}

func checkLibAlone(t *trial.T, n *node.Node) {
	elsewhere := t.Dir()
	path := filepath.Join(elsewhere, "wanderer")
	t.Check(os.Symlink(filepath.Join(n.Lib, "tenant"), path), "make an executable outside of lib")
	n.Env = append(n.Env, "PATH="+elsewhere+":"+os.Getenv("PATH"))
	w := node.Tenant("app", 1)
	w.Run = "wanderer"
	started(n, node.Tenant("web", 1))
	n.Until("the agent must end a first sync", func(s node.Status) bool { return s.LastSync != nil })
	refused(t, n.Sync(rete.Document(n.Set(2, w)...)), "unservable", "FL1404")
	if len(n.Workloads.Events("start", "app")) > 0 {
		t.Fatalf("an executable that is in PATH and not in lib was started")
	}
}

func checkCheckEnvironment(t *trial.T, n *node.Node) {
	n.Workloads.Checks(`[ -r "$2" ] && [ -n "$FLORWL_SCOPE_ROOT" ] && [ -n "$FLORWL_STATE_DIR" ] && [ "$FLORWL_NAME" = flor ] || exit 78`)
	n.Enrol(n.Set(1))
	n.Serve()
	if r := n.DryRun(rete.Document(n.Set(2, node.Vertex("flor", 1))...)); r.Result != "applied" {
		t.Fatalf("the dry run is %q (%s); --check must be given a readable file and the workload's environment", r.Result, r.Message)
	}
	n.Workloads.Await("check", "flor", 1)
}

// crashing has another workload crash, whose restarts tell how much time passes.
func crashing(n *node.Node) rete.Workload {
	n.Workloads.Does("clock", "exit 1")
	return node.Tenant("clock", 1)
}

func checkRejected(t *trial.T, n *node.Node) {
	n.Workloads.Does("app", "exit 78")
	started(n, node.Tenant("app", 1), crashing(n))
	n.Until("a workload that exits 78 must be rejected", func(s node.Status) bool { return s.Of("app").State == "rejected" })
	n.Workloads.Await("start", "clock", 4)
	if got := len(n.Workloads.Events("start", "app")); got != 1 {
		t.Fatalf("a workload that exited 78 was started %d times; it must not be tried again", got)
	}
	if a := n.Call("POST", "/v1/workloads/app/restart", nil); a.Status != 202 {
		t.Fatalf("the restart of a rejected workload is answered %d; it must be 202", a.Status)
	}
	n.Workloads.Await("start", "app", 2)
}

func checkRejectedRevives(t *trial.T, n *node.Node) {
	n.Workloads.Does("app", `case "$FLORWL_MGMT_ARTIFACT" in */v1/*) exit 78;; esac`)
	started(n, node.Tenant("app", 1))
	n.Until("a workload that exits 78 must be rejected", func(s node.Status) bool {
		return s.Of("app").State == "rejected" && s.LastSync != nil
	})
	applied(t, n.Sync(rete.Document(n.Set(2, node.Tenant("app", 2))...)))
}

func checkUnavailable(t *trial.T, n *node.Node) {
	n.Workloads.Does("app", "exit 69")
	started(n, node.Tenant("app", 1))
	n.Workloads.Await("start", "app", 3)
	n.Until("exit 69 must be backoff, with its code as the last exit", func(s node.Status) bool {
		w := s.Of("app")
		return w.State == "backoff" && w.LastExit != nil && w.LastExit.Code == 69
	})
}

func checkCrash(t *trial.T, n *node.Node) {
	n.Workloads.Does("app", "exit 1")
	started(n, node.Tenant("app", 1))
	first := time.Now()
	n.Workloads.Await("start", "app", 7)
	// 100, 200, 400, 800, 1600 and 3200 ms are 6.3 s. Less 20 %, and less what the
	// first report may have come late; a machine on which seven starts take as long
	// without any delay would have to be very busy.
	const least = 4500 * time.Millisecond
	if took := time.Since(first); took < least {
		t.Fatalf("seven starts of a crashing workload took %v; the delays must begin at 100 ms and double", took)
	}
	n.Until("a crash must be backoff, with its code as the last exit", func(s node.Status) bool {
		w := s.Of("app")
		return w.State == "backoff" && w.Restarts >= 4 && w.LastExit != nil && w.LastExit.Code == 1
	})
}

func checkUnaskedExit(t *trial.T, n *node.Node) {
	n.Workloads.Does("app", "exit 0")
	started(n, node.Tenant("app", 1))
	n.Workloads.Await("start", "app", 2)
	if w := n.Until("the agent must tell of the restart", func(s node.Status) bool { return s.Of("app").Restarts > 0 }).Of("app"); w.State == "stopped" {
		t.Fatalf("a workload that exits 0 unasked is stopped; it must be a crash")
	}
}

func checkSignalled(t *trial.T, n *node.Node) {
	n.Workloads.Does("app", "kill -KILL $$")
	started(n, node.Tenant("app", 1))
	n.Workloads.Await("start", "app", 2)
	n.Until("the last exit of a killed workload must have code -1 and name the signal", func(s node.Status) bool {
		w := s.Of("app")
		return w.LastExit != nil && w.LastExit.Signal != "" && w.LastExit.Code == -1
	})
}

// child is the process that a workload has reported to have started.
func child(t *trial.T, n *node.Node, name string) int {
	pid, err := strconv.Atoi(n.Workloads.Await("child", name, 1).Artifact)
	t.Check(err, "read the pid of a workload's child")
	t.Cleanup(func() {
		if node.Alive(pid) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	return pid
}

func checkLeftBehind(t *trial.T, n *node.Node) {
	n.Workloads.Does("app", `sleep 1000 & say child $!; exit 1`)
	started(n, node.Tenant("app", 1))
	pid := child(t, n, "app")
	n.Workloads.Await("start", "app", 2)
	if node.Alive(pid) {
		t.Fatalf("process %d, which the workload left in its process group, still runs when the workload is started again", pid)
	}
}

func checkOthersHelper(t *trial.T, n *node.Node) {
	n.Workloads.Does("web", `(set -m; sleep 1000 & say child $!)`)
	n.Enrol(n.Set(1, node.Tenant("web", 1), crashing(n)))
	n.Start()
	pid := child(t, n, "web")
	// Of the crashes so far any may have come before the helper was one.
	const crashes = 2
	n.Workloads.Await("start", "clock", len(n.Workloads.Events("start", "clock"))+1+crashes)
	if !node.Alive(pid) {
		t.Fatalf("process %d, a helper of workload web, was ended when another workload crashed", pid)
	}
}

func checkOtherGroup(t *trial.T, n *node.Node) {
	n.Workloads.Does("app", `(set -m; sleep 1000 & say child $!); exit 1`)
	started(n, node.Tenant("app", 1))
	pid := child(t, n, "app")
	n.Workloads.Await("start", "app", 2)
	if node.Alive(pid) {
		t.Fatalf("process %d, which the workload left in another process group, still runs when the workload is started again", pid)
	}
}

// restartOf asks for a restart of app and waits for its second start.
func restartOf(t *trial.T, n *node.Node) {
	n.Until("the agent must open its control socket", func(s node.Status) bool { return s.Of("app").PID != 0 })
	if a := n.Call("POST", "/v1/workloads/app/restart", nil); a.Status != 202 {
		t.Fatalf("POST /v1/workloads/app/restart is answered %d %s; it must be 202", a.Status, a.Body)
	}
	n.Workloads.Await("start", "app", 2)
}

func checkNoOverlap(t *trial.T, n *node.Node) {
	n.Workloads.Does("app", `
trap 'sleep 0.4; exit 0' TERM
if [ -r "$bed/before" ] && kill -0 "$(cat "$bed/before")" 2>/dev/null; then say beside; fi
echo $$ > "$bed/before"
say looked`)
	started(n, node.Tenant("app", 1))
	n.Workloads.Await("looked", "app", 1)
	restartOf(t, n)
	n.Workloads.Await("looked", "app", 2)
	if len(n.Workloads.Events("beside", "app")) > 0 {
		t.Fatalf("the next process was started beside the old one; it must be started after that has ended")
	}
}

func checkRestartGrace(t *trial.T, n *node.Node) {
	n.Workloads.Does("app", `trap '' TERM; say armed`)
	first := started(n, node.Tenant("app", 1))[0]
	n.Workloads.Await("armed", "app", 1)
	restartOf(t, n)
	if node.Alive(first.PID) {
		t.Fatalf("the old process %d still runs beside the new one", first.PID)
	}
}

func checkStopGrace(t *trial.T, n *node.Node) {
	n.Workloads.Does("app", `trap '' TERM; say armed`)
	e := started(n, node.Tenant("app", 1))[0]
	n.Workloads.Await("armed", "app", 1)
	if code := n.Agent.Stop(); code != 0 {
		t.Fatalf("the agent ends with exit %d; it must be 0, also where a workload had to be killed", code)
	}
	if node.Alive(e.PID) {
		t.Fatalf("the workload still runs after the agent has stopped")
	}
}

func checkReverseOrder(t *trial.T, n *node.Node) {
	started(n, node.Tenant("first", 1), node.Tenant("second", 1), node.Tenant("third", 1))
	n.Agent.Stop()
	n.Workloads.Await("stop", "", 3)
	var order []string
	for _, e := range n.Workloads.Events("stop", "") {
		order = append(order, e.Name)
	}
	if want := []string{"third", "second", "first"}; !slices.Equal(order, want) {
		t.Fatalf("workloads were told to stop in the order %v; it must be %v", order, want)
	}
}

// Told to stop, each workload goes on for a while in which the other must not be
// told; whoever is told second ends at once, whatever the order.
func checkOneByOne(t *trial.T, n *node.Node) {
	for _, name := range []string{"first", "second"} {
		n.Workloads.Does(name, `
told() {
	for t in "$bed"/told.*; do if [ -e "$t" ]; then say beside; exit 0; fi; done
	: > "$bed/told.$FLORWL_NAME"
	for i in 1 2 3 4 5 6 7 8 9 10; do
		sleep 0.1
		for t in "$bed"/told.*; do if [ "$t" != "$bed/told.$FLORWL_NAME" ]; then say beside; fi; done
	done
	rm "$bed/told.$FLORWL_NAME"
	say alone
	exit 0
}
trap told TERM
say armed`)
	}
	started(n, node.Tenant("first", 1), node.Tenant("second", 1))
	n.Workloads.Await("armed", "first", 1)
	n.Workloads.Await("armed", "second", 1)
	n.Agent.Stop()
	n.Workloads.Await("alone", "", 1)
	if len(n.Workloads.Events("beside", "")) > 0 {
		t.Fatalf("a workload was told to stop while the one after it was still stopping; it must be told once that has ended, since it may need it to the last")
	}
}

func checkSlowStop(t *trial.T, n *node.Node) {
	n.Workloads.Does("app", `trap '' TERM; say armed`)
	e := started(n, node.Tenant("app", 1))[0]
	n.Workloads.Await("armed", "app", 1)
	n.Until("the agent must open its control socket", func(node.Status) bool { return true })
	n.Agent.Signal(syscall.SIGTERM)
	n.Until("the status must say that the workload is stopping, with its pid, and the health which process holds the stop", func(s node.Status) bool {
		w := s.Of("app")
		return w.State == "stopping" && w.PID == e.PID && strings.Contains(strings.Join(s.Health, "\n"), strconv.Itoa(e.PID))
	})
}

// destination has the agent log somewhere else.
func destination(n *node.Node, where string) {
	n.Env = append(n.Env, "FLOR_LOG_DESTINATION="+where)
}

func checkNoDaemon(t *trial.T, n *node.Node) {
	n.Enrol(n.Set(1))
	destination(n, "unix:"+n.Log.Path()+".nobody")
	if code, _ := n.Refuses("nobody answers at the log destination"); code != 69 {
		t.Fatalf("with nobody at the log destination the agent ends with exit %d; it must be 69", code)
	}
}

func checkWrongSocket(t *trial.T, n *node.Node) {
	n.Enrol(n.Set(1))
	path := n.Log.Path() + ".stream"
	stream, err := net.Listen("unix", path)
	t.Check(err, "listen on a stream socket")
	t.Cleanup(func() { _ = stream.Close() })
	destination(n, "unix:"+path)
	if code, _ := n.Refuses("the log destination is no datagram socket"); code != 78 {
		t.Fatalf("with a stream socket as log destination the agent ends with exit %d; it must be 78", code)
	}
}

// logged is what an agent has logged that serves.
func logged(t *trial.T, n *node.Node) []string {
	records := n.Log.Records()
	if len(records) == 0 {
		t.Fatalf("the agent logged nothing to FLOR_LOG_DESTINATION; there must be a line at the start (OBS-5)")
	}
	return records
}

func checkRecordForm(t *trial.T, n *node.Node) {
	n.Enrol(n.Set(1))
	n.Serve()
	for _, record := range logged(t, n) {
		if !agentRecord.MatchString(record) {
			t.Fatalf("a record is %q; it must be one line: <N>agent: time LEVEL component: message", record)
		}
	}
}

func checkStartLine(t *trial.T, n *node.Node) {
	n.Enrol(n.Set(1))
	n.Serve()
	first := logged(t, n)[0]
	for _, word := range []string{"syslog", string(n.Root), n.Lib} {
		if !strings.Contains(first, word) {
			t.Fatalf("the start line is %q; it must tell the sink and the directories, and has no %q", first, word)
		}
	}
}

func checkEdges(t *trial.T, n *node.Node) {
	n.Enrol(n.Set(1))
	n.Coordinator.Answer(node.UnknownNode)
	n.Serve()
	for range 4 {
		n.Sync(nil)
	}
	told := 0
	for _, record := range n.Log.Records() {
		if strings.Contains(record, "unknown-node") {
			told++
		}
	}
	if told != 1 {
		t.Fatalf("a trouble that five syncs met is logged with its reason, unknown-node, %d times; it must be once, when it begins", told)
	}
}
