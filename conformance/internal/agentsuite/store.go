package agentsuite

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/florete/flor/conformance/internal/node"
	"github.com/florete/flor/conformance/internal/rete"
	"github.com/florete/flor/conformance/internal/trial"
)

// storeCases are about what an agent finds and leaves on disk.
func storeCases() []Case {
	return []Case{
		{"store/active-set-is-served", "each workload of the active set is started on its artifact, byte for byte", "AGT-3 ENV-8", checkActiveSet},
		{"store/second-agent-is-refused", "a second agent refuses and names the holder of the lock", "AGT-1", checkSecondAgent},
		{"store/lock-is-held", "the lock is an exclusive flock, with the holder's pid in it", "AGT-1", checkLockHeld},
		{"store/lock-outlives-the-agent", "a clean stop leaves the lock file and gives the lock up", "AGT-1", checkLockLeft},
		{"store/clean-stop", "a clean stop unlinks the sockets and nothing that it did not make", "AGT-1", checkCleanStop},
		{"store/stale-socket", "a socket that an unclean stop left is replaced", "AGT-1", checkStaleSocket},
		{"store/leftovers-go", "what is neither the active set nor one before it goes", "SET-4", checkLeftovers},
		{"store/previous-set-is-kept", "of three admitted sets the active one and one before it stay", "SET-4", checkRetained},
		{"store/last-known-good", "where the active set is damaged the newest whole one runs, and the mark stays", "SET-5", checkLastKnownGood},
		{"store/fetch-after-recovery", "after a recovery the next fetch goes without have", "SET-5 AGT-4", checkFetchAfterRecovery},
		{"store/current-is-missing", "without current the newest retained set runs", "SET-5", checkNoCurrent},
		{"store/current-is-zeros", "with current full of zeros the newest retained set runs", "SET-5", checkZeroCurrent},
		{"store/nothing-usable", "with nothing usable the agent exits 78 and names the remedy", "SET-5", checkNothingUsable},
		{"store/partial-set", "of the one set that is left, damaged members are unverified and the others run", "SET-5 SUP-7", checkPartialSet},
		{"store/lost-state", "without state.json workloads run and every set is refused", "SET-6", checkLostState},
		{"store/never-active", "a set that was recorded and never became active counts for nothing, nor do the keys that it would have retired", "SET-6 ENV-12", checkNeverActive},
		{"store/newer-state", "a state.json of a newer schema_version is refused and nothing is touched", "SET-6 ENV-14", checkNewerState},
		{"store/open-runtime-base", "a runtime base that others may write to is refused", "AGT-1 SET-1", checkOpenBase},
		{"store/long-socket-path", "a socket path over the limit is refused with its length and the limit", "SET-1", checkLongPath},
		{"store/modes", "files are made for the owner alone, whatever the umask", "SET-1", checkModes},
	}
}

// mgmt is the directory of sets.
const mgmt = "artifacts/mgmt/"

// active is the version that current names, as text.
func active(n *node.Node) string { return strings.TrimSpace(n.Root.Read(mgmt + "current")) }

func checkActiveSet(t *trial.T, n *node.Node) {
	set := n.Set(7, node.Tenant("app", 1), node.Vertex("flor", 1))
	n.Enrol(set)
	n.Start()
	for i, name := range []string{"app", "flor"} {
		path := n.Workloads.Await("start", name, 1).Artifact
		text, err := os.ReadFile(path)
		if err != nil || string(text) != string(set[i+1]) || !filepath.IsAbs(path) {
			t.Fatalf("workload %s was started with FLORWL_MGMT_ARTIFACT=%s (%v), which is not its artifact in the active set as it was published", name, path, err)
		}
	}
}

func checkSecondAgent(t *trial.T, n *node.Node) {
	n.Enrol(n.Set(1))
	n.Serve()
	first := n.Agent
	code, said := n.Refuses("another agent holds the scope's lock")
	if code == 0 || !strings.Contains(said, strconv.Itoa(first.PID())) {
		t.Fatalf("a second agent of the scope ends with exit %d and does not name pid %d; it must refuse and name the holder of the lock", code, first.PID())
	}
	n.Agent = first
	if first.Ended() || n.Status().Agent.PID != first.PID() {
		t.Fatalf("the second agent disturbed the first one")
	}
}

func lockPath(n *node.Node) string { return filepath.Join(n.StateHome, "retes", n.Scope+".lock") }

func checkLockHeld(t *trial.T, n *node.Node) {
	n.Enrol(n.Set(1))
	n.Serve()
	file, err := os.Open(lockPath(n))
	t.Check(err, "open the lock")
	defer file.Close()
	if syscall.Flock(int(file.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) == nil {
		t.Fatalf("%s is not locked exclusively with flock(2) while the agent runs", lockPath(n))
	}
	text, err := os.ReadFile(lockPath(n))
	if err != nil || strings.TrimSpace(string(text)) != strconv.Itoa(n.Agent.PID()) {
		t.Fatalf("the lock has %q; it must have the holder's pid, %d", text, n.Agent.PID())
	}
}

func checkLockLeft(t *trial.T, n *node.Node) {
	n.Enrol(n.Set(1))
	n.Serve()
	before, err := os.Stat(lockPath(n))
	t.Check(err, "look at the lock")
	if code := n.Agent.Stop(); code != 0 {
		t.Fatalf("after SIGTERM the agent ends with exit %d; it must stop cleanly with 0", code)
	}
	after, err := os.Stat(lockPath(n))
	if err != nil || !os.SameFile(before, after) {
		t.Fatalf("the lock file was removed or replaced at the stop; it must never be unlinked")
	}
}

func checkCleanStop(t *trial.T, n *node.Node) {
	n.Enrol(n.Set(1))
	n.Serve()
	foreign := filepath.Join(n.Runtime, n.Scope, "notes.txt")
	t.Check(os.WriteFile(foreign, []byte("mine"), 0o600), "write a file of somebody else's")
	n.Agent.Stop()
	if _, err := os.Lstat(n.Socket()); err == nil {
		t.Fatalf("%s is still there after a clean stop", n.Socket())
	}
	if _, err := os.Lstat(foreign); err != nil {
		t.Fatalf("a clean stop removed %s, which the agent did not make", foreign)
	}
}

func checkStaleSocket(t *trial.T, n *node.Node) {
	n.Enrol(n.Set(1))
	n.Serve()
	n.Agent.Kill()
	if _, err := os.Lstat(n.Socket()); err != nil {
		t.Fatalf("the agent has no socket at %s", n.Socket())
	}
	n.Serve()
}

func checkLeftovers(t *trial.T, n *node.Node) {
	n.Enrol(n.Set(1), n.Set(2))
	strangers := []string{"sets/v9.partial/agent.json", "sets/v8/agent.json", "sets/v2.bak", "current~", ".current.swp"}
	for _, name := range strangers {
		t.Check(n.Root.Write(mgmt+name, []byte("{}")), "write a leftover")
	}
	n.Serve()
	for _, name := range strangers {
		top := strings.TrimSuffix(name, "/agent.json")
		if _, err := os.Lstat(n.Root.Path(mgmt + top)); err == nil {
			t.Fatalf("%s%s is still there; all but the active set and one before it must go", mgmt, top)
		}
	}
	for _, name := range []string{"sets/v1", "sets/v2"} {
		if _, err := os.Lstat(n.Root.Path(mgmt + name)); err != nil {
			t.Fatalf("%s%s is gone; the active set and one before it must stay", mgmt, name)
		}
	}
}

func checkRetained(t *trial.T, n *node.Node) {
	n.Enrol(n.Set(1))
	n.Serve()
	for version := uint64(2); version <= 3; version++ {
		applied(t, n.Sync(rete.Document(n.Set(version)...)))
	}
	n.Until("sets that nobody uses must go after a sync", func(node.Status) bool { return len(setNames(n)) == 2 })
	if got := setNames(n); !slices.Equal(got, []string{"v2", "v3"}) {
		t.Fatalf("retained are %v; it must be the active v3 and v2 before it", got)
	}
}

// setNames lists the directory of sets.
func setNames(n *node.Node) []string {
	entries, err := os.ReadDir(n.Root.Path(mgmt + "sets"))
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// damage changes one byte of a member's payload on disk.
func damage(t *trial.T, n *node.Node, version int, name string) {
	path := fmt.Sprintf("%ssets/v%d/%s.json", mgmt, version, name)
	text := n.Root.Read(path)
	if !strings.Contains(text, `"n": `) {
		t.Fatalf("%s has nothing to damage", path)
	}
	t.Check(n.Root.Write(path, []byte(strings.Replace(text, `"n": `, `"n": 9`, 1))), "damage a member")
}

// enrolTwo enrols a machine with v1 and v2, whose workload app differs.
func enrolTwo(n *node.Node) {
	n.Enrol(n.Set(1, node.Tenant("app", 1)), n.Set(2, node.Tenant("app", 2)))
}

func checkLastKnownGood(t *trial.T, n *node.Node) {
	enrolTwo(n)
	damage(t, n, 2, "app")
	s := n.Serve()
	if s.Set.Active != 1 || !s.Set.Recovered || s.Set.Mark != 2 {
		t.Fatalf("with v2 damaged the status has active %d, recovered %v, mark %d; it must be 1, true and 2", s.Set.Active, s.Set.Recovered, s.Set.Mark)
	}
	if e := n.Workloads.Await("start", "app", 1); !strings.Contains(e.Artifact, "/v1/") {
		t.Fatalf("the workload was started on %s, not on the last known good", e.Artifact)
	}
	if active(n) != "v1" {
		t.Fatalf("current names %q; the last known good must have become active", active(n))
	}
}

func checkFetchAfterRecovery(t *trial.T, n *node.Node) {
	enrolTwo(n)
	damage(t, n, 2, "app")
	n.Serve()
	if query := n.Coordinator.First(t).Query; query.Has("have") {
		t.Fatalf("the fetch after a recovery says have=%s; it must name nothing, so that the newest set comes again", query.Get("have"))
	}
}

// runsNewest checks that v2 runs after a start.
func runsNewest(t *trial.T, n *node.Node) {
	if s := n.Serve(); s.Set.Active != 2 || s.Set.Mark != 2 {
		t.Fatalf("the status has active %d and mark %d; the newest retained set, v2, must run", s.Set.Active, s.Set.Mark)
	}
	if active(n) != "v2" {
		t.Fatalf("current has %q; it must name v2 again", active(n))
	}
}

func checkNoCurrent(t *trial.T, n *node.Node) {
	enrolTwo(n)
	t.Check(os.Remove(n.Root.Path(mgmt+"current")), "remove current")
	runsNewest(t, n)
}

func checkZeroCurrent(t *trial.T, n *node.Node) {
	enrolTwo(n)
	t.Check(n.Root.Write(mgmt+"current", make([]byte, 3)), "zero current")
	runsNewest(t, n)
}

func checkNothingUsable(t *trial.T, n *node.Node) {
	n.Enrol(n.Set(1))
	t.Check(os.RemoveAll(n.Root.Path(mgmt+"sets/v1")), "remove the set")
	if code, said := n.Refuses("no set can be used"); code != 78 || !strings.Contains(said, "enrol") {
		t.Fatalf("with no usable set the agent ends with exit %d; it must be 78, and say that enrolment is the remedy", code)
	}
}

func checkPartialSet(t *trial.T, n *node.Node) {
	n.Enrol(n.Set(1, node.Tenant("app", 1), node.Tenant("web", 1)))
	damage(t, n, 1, "app")
	n.Start()
	n.Workloads.Await("start", "web", 1)
	n.Until("the workload of the damaged member must be unverified", func(s node.Status) bool { return s.Of("app").State == "unverified" })
	if len(n.Workloads.Events("start", "app")) > 0 {
		t.Fatalf("app was started on a damaged artifact")
	}
}

func checkLostState(t *trial.T, n *node.Node) {
	n.Enrol(n.Set(1, node.Tenant("app", 1)))
	t.Check(os.Remove(n.Root.Path("agent/state.json")), "remove state.json")
	n.Start()
	n.Workloads.Await("start", "app", 1)
	n.Until("without state.json the status must say trust_state_lost", func(s node.Status) bool { return s.Set.TrustLost })
	refused(t, n.Sync(rete.Document(n.Set(2)...)), "trust-state-lost", "")
	if active(n) != "v1" || n.Root.Read("agent/state.json") != "" {
		t.Fatalf("the agent pinned trust again by itself; only an enrolment may")
	}
}

func checkNeverActive(t *trial.T, n *node.Node) {
	n.Enrol(n.Set(1))
	second := n.Rete.CA.Signer("second")
	t.Check(n.Root.Record(n.SetOf(rete.Set{Version: 2, By: second}), n.Rete.Primary), "write a set that is recorded and not active")
	if s := n.Serve(); s.Set.Active != 1 || s.Set.Mark != 1 || s.Set.Pending != 0 || s.Set.Recovered {
		t.Fatalf("with current at v1 and pending 2 the status has active %d, mark %d, pending %d, recovered %v; it must be 1, 1, none and false", s.Set.Active, s.Set.Mark, s.Set.Pending, s.Set.Recovered)
	}
	if r := n.Sync(rete.Document(n.Set(2)...)); r.Result != "applied" {
		t.Fatalf("another v2, of the signer that the active set lists, is %q (%s %s: %s); it must be applied: a set that was recorded and never became active counts for nothing, nor do the keys that it would have retired", r.Result, r.Code, r.Reason, r.Message)
	}
}

func checkNewerState(t *trial.T, n *node.Node) {
	n.Enrol(n.Set(1))
	st, err := n.Root.State()
	t.Check(err, "read state.json")
	st.SchemaVersion = "2.0"
	t.Check(n.Root.WriteState(st), "write a newer state.json")
	t.Check(n.Root.Write(mgmt+"sets/v9.partial/agent.json", []byte("{}")), "write a leftover")
	before := n.Root.Read("agent/state.json")
	if code, _ := n.Refuses("state.json is of a newer schema_version"); code != 78 {
		t.Fatalf("with a state.json of schema 2.0 the agent ends with exit %d; it must be 78: a newer program wrote it", code)
	}
	if n.Root.Read("agent/state.json") != before || n.Root.Read(mgmt+"sets/v9.partial/agent.json") == "" {
		t.Fatalf("the agent touched what a newer program wrote")
	}
}

func checkOpenBase(t *trial.T, n *node.Node) {
	n.Enrol(n.Set(1))
	t.Check(os.Mkdir(n.Runtime, 0o700), "make the runtime base")
	t.Check(os.Chmod(n.Runtime, 0o777), "open the runtime base")
	if code, _ := n.Refuses("others may write to the runtime base"); code == 0 {
		t.Fatalf("the agent runs with a runtime base of mode 0777; it must refuse one that others may write to")
	}
	if _, err := os.Lstat(filepath.Join(n.Runtime, n.Scope)); err == nil {
		t.Fatalf("the agent made its runtime root in a base of mode 0777")
	}
}

func checkLongPath(t *trial.T, n *node.Node) {
	n.Enrol(n.Set(1))
	long := filepath.Join(n.Runtime, strings.Repeat("x", 90))
	n.Env = append(n.Env, "FLOR_RUNTIME_DIR="+long)
	socket := filepath.Join(long, n.Scope, "agent.sock")
	code, said := n.Refuses("the path of its socket is too long")
	if code != 78 {
		t.Fatalf("with a socket path of %d bytes the agent ends with exit %d; it must be 78", len(socket), code)
	}
	for _, word := range []string{socket, strconv.Itoa(len(socket)), strconv.Itoa(node.MaxSocketPath)} {
		if !strings.Contains(said, word) {
			t.Fatalf("the refusal of a long socket path does not have %q; it must name the path, its length and the limit", word)
		}
	}
}

func checkModes(t *trial.T, n *node.Node) {
	n.Enrol(n.Set(1, node.Tenant("app", 1)))
	n.Before = []string{"/bin/sh", "-c", `umask 0; exec "$@"`, "sh"}
	n.Start()
	n.Workloads.Await("start", "app", 1)
	n.Until("the agent must open its control socket", func(node.Status) bool { return true })
	n.Sync(rete.Document(n.Set(2)...))
	if mode := modeOf(n.Socket()); mode.Perm() != 0o600 {
		t.Fatalf("agent.sock has mode %v; in a user's install it must be 0600", mode)
	}
	for _, root := range []string{string(n.Root), filepath.Join(n.Runtime, n.Scope)} {
		_ = filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			if mode := modeOf(path); err == nil && mode.Perm()&0o027 != 0 {
				t.Fatalf("%s has mode %v with umask 0; it must not be open to others", path, mode)
			}
			return err
		})
	}
	for _, path := range []string{"agent/state.json", mgmt + "current", mgmt + "sets/v2/agent.json", mgmt + "sets/v2", "workloads/app"} {
		if mode := modeOf(n.Root.Path(path)); mode.Perm()&0o077 != 0 {
			t.Fatalf("%s has mode %v with umask 0; it must be the owner's alone", path, mode)
		}
	}
}

// modeOf is the mode of what is at a path, 0 where nothing is.
func modeOf(path string) fs.FileMode {
	info, err := os.Lstat(path)
	if err != nil {
		return 0
	}
	return info.Mode()
}
