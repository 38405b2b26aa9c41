package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/florete/flor/envelope"
	"github.com/florete/flor/envelope/envelopetest"
	"github.com/florete/flor/envelope/schema"
	"github.com/florete/flor/supervise/control"
)

const (
	kills = 20
	// longRuns are the kills, one in so many, before which the agent gets time
	// to confirm a set: three seconds of liveness, and some.
	longRuns = 12
)

// oneEach is one instance of each workload: the writer and what it has started
// in a session of its own (SUP-5), and the vertex.
var oneEach = map[string]int{"app": 2, "flor": 1}

// killed is a node whose agent is killed again and again.
type killed struct {
	*station
	rete rete
	from *coordinator

	// group is the cgroup that agents are started in, empty for the test's own.
	group string

	published uint64
	mark      uint64
	survivors int
	// left are the processes of the scope that the last kill has left, and when
	// each had started; checks counts the kills that left one that judged an
	// artifact.
	left   map[int]string
	checks int
	// unfinished is what the last kill left of replacements that were under way.
	unfinished map[string]os.FileInfo
	cutShort   int
}

// TestKillTheAgent kills a real agent at random moments while it is served newer
// and newer sets, with workloads that write. After each restart: a coherent set,
// a mark that never fell, one instance of each workload, no process and no file
// that is nobody's (SET-3, SET-4, SUP-5, SUP-9, AGT-3).
func TestKillTheAgent(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, seed))
	newKilled(t).killAgain(random, kills)
}

// killAgain kills the agent so many times, and stops it at last.
func (k *killed) killAgain(random *rand.Rand, kills int) {
	k.t.Helper()
	k.publish()
	for i := range kills {
		k.start()
		k.healthy()
		k.runFor(random, i%longRuns == longRuns-1)
		k.kill()
		k.coherent()
	}
	k.start()
	last := k.healthy()
	k.stop()
	k.nothingLeft()
	k.t.Logf("kills: %d, each followed by a healthy start; sets published: %d, active at last: v%d, mark: v1 to v%d; kills in the middle of a write: %d, of a check: %d; workloads that outlived an agent and were ended: %d",
		kills, k.published, last.Set.Active, k.mark, k.cutShort, k.checks, k.survivors)
}

func newKilled(t *testing.T) *killed { return unenrolled(t).enrolled() }

func unenrolled(t *testing.T) *killed {
	return &killed{station: newStation(t), rete: newRete("demo"), from: newCoordinator(t), mark: 1, published: 1}
}

func (k *killed) enrolled() *killed {
	k.enrol(k.rete.bundleOf(k.set(1)))
	return k
}

// set has a vertex that swaps and a writer that restarts at every third version.
// At every fourth one the check takes its time, and leaves something behind.
func (k *killed) set(version uint64) [][]byte {
	agent := k.rete.authority.AgentPayload("alpha", envelopetest.Block(k.rete.signer), "flor", "app")
	agent.Workloads[0].Run, agent.Workloads[1].Run = []string{"flor-vertex"}, []string{"writer"}
	agent.Inbounds[0].Via.Addr = k.from.addr
	agent.Sync.PollInterval = "1s"
	vertex := k.rete.vertex("1.0")
	link := "mgmt"
	if version%4 == 0 {
		link = dawdles
	}
	vertex.Links[0].Members[0].Name = link + strconv.FormatUint(version, 10)
	return [][]byte{
		k.rete.signer.Sign("alpha", envelope.AgentName, version, agent),
		k.rete.signer.Sign("alpha", "flor", version, vertex),
		k.rete.signer.Sign("alpha", "app", version, map[string]any{"schema_version": "1.0", "n": version, "hides": k.group != ""}),
	}
}

func (k *killed) publish() {
	k.published++
	k.from.publish(k.published, document(k.set(k.published)))
}

// healthy waits for every workload to have a process, and checks mark and
// processes.
func (k *killed) healthy() control.StatusDoc {
	k.t.Helper()
	doc := k.until("a process of each workload", func(doc control.StatusDoc) bool {
		return doc.Agent.PID == k.agent.Process.Pid && len(doc.Workloads) == 2 && !slices.ContainsFunc(doc.Workloads, func(w control.Workload) bool { return w.PID == 0 })
	})
	if doc.Set.Recovered || doc.Set.TrustStateLost {
		k.t.Fatalf("the set was not coherent: %+v", doc.Set)
	}
	k.advance(doc)
	k.ended()
	k.oneOfEach()
	k.cleared()
	k.grouped()
	return doc
}

// oneOfEach waits until each workload has one process. Between two looks one
// may be on its way from one process to the next; two looks that see two
// processes of a workload have seen them at once.
func (k *killed) oneOfEach() {
	k.t.Helper()
	twice, deadline := 0, time.Now().Add(patience)
	for {
		n := k.processes()
		if maps.Equal(n, oneEach) {
			return
		}
		if twice++; n["app"] <= oneEach["app"] && n["flor"] <= oneEach["flor"] && len(n) <= len(oneEach) {
			twice = 0
		}
		if twice > 1 || time.Now().After(deadline) {
			k.t.Fatalf("processes by workload: %v", n)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func (k *killed) advance(doc control.StatusDoc) {
	k.t.Helper()
	if doc.Set.Mark < k.mark {
		k.t.Fatalf("the mark fell from v%d to v%d", k.mark, doc.Set.Mark)
	}
	k.mark = doc.Set.Mark
}

// runFor publishes newer sets until the moment of the kill. A long run ends
// once the mark has moved, and a random while after.
func (k *killed) runFor(random *rand.Rand, long bool) {
	k.t.Helper()
	k.publish()
	if long {
		k.advance(k.until("a mark that moves", func(doc control.StatusDoc) bool { return doc.Set.Mark == k.published }))
	}
	for range random.IntN(3) {
		time.Sleep(time.Duration(random.Int64N(int64(80 * time.Millisecond))))
		k.publish()
	}
	time.Sleep(time.Duration(random.Int64N(int64(80 * time.Millisecond))))
}

func (k *killed) kill() {
	k.agent.Process.Kill()
	k.agent.Wait()
	for _, n := range k.processes() {
		k.survivors += n
	}
	k.left = map[int]string{}
	judged := false
	for _, p := range k.running() {
		k.left[p.pid] = startOf(p.pid)
		judged = judged || p.judges
	}
	if judged {
		k.checks++
	}
	k.unfinished = map[string]os.FileInfo{}
	for _, pattern := range []string{"agent/*.tmp", "artifacts/mgmt/*.tmp", "artifacts/mgmt/sets/*.partial"} {
		left, _ := filepath.Glob(filepath.Join(k.dir, "state/retes/demo", pattern))
		for _, path := range left {
			if info, err := os.Lstat(path); err == nil {
				k.unfinished[path] = info
			}
		}
	}
	k.cutShort += min(len(k.unfinished), 1)
}

// cleared checks that what the last kill left unfinished has gone.
func (k *killed) cleared() {
	k.t.Helper()
	for path, left := range k.unfinished {
		if info, err := os.Lstat(path); err == nil && os.SameFile(left, info) && info.ModTime().Equal(left.ModTime()) {
			k.t.Errorf("left by the kill and still there: %s", path)
		}
	}
}

// coherent checks the disk as the kill left it: current names a set that is
// whole and verifies.
func (k *killed) coherent() {
	k.t.Helper()
	mgmt := filepath.Join(k.dir, "state/retes/demo/artifacts/mgmt")
	current, err := os.ReadFile(filepath.Join(mgmt, "current"))
	if err != nil {
		k.t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(mgmt, "sets", strings.TrimSpace(string(current)), "*.json"))
	if err != nil || len(files) != 3 {
		k.t.Fatalf("members of %q: %v %v", current, files, err)
	}
	var texts [][]byte
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			k.t.Fatal(err)
		}
		texts = append(texts, text)
	}
	set, err := schema.VerifySet(envelope.Held{Anchor: k.rete.authority.Anchor()}, "alpha", texts, time.Now())
	if err != nil || set.Version < k.mark {
		k.t.Fatalf("active %q: %v", current, err)
	}
}

// ended checks that of what the last kill left nothing runs any more: neither a
// workload, nor what judged an artifact, nor what either had left.
func (k *killed) ended() {
	k.t.Helper()
	for pid, start := range k.left {
		if start != "" && startOf(pid) == start {
			k.t.Errorf("left by the kill and still running: %d, %q", pid, commandLine(pid))
		}
	}
}

func commandLine(pid int) []byte {
	words, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return words
}

// startOf tells a process from a later one of its pid; empty for one that has
// ended.
func startOf(pid int) string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(text), ") ")
	if fields := strings.Fields(rest); len(fields) > 19 && fields[0] != "Z" {
		return fields[19]
	}
	return ""
}

// processes counts the processes that run for this scope, by workload. What
// judges an artifact, and what that has left, is none.
func (k *killed) processes() map[string]int {
	found := map[string]int{}
	for _, p := range k.running() {
		if !p.judges {
			found[p.workload]++
		}
	}
	return found
}

// scoped is a process that runs for this scope.
type scoped struct {
	pid      int
	workload string
	// judges is set where it has an artifact that is still staged.
	judges bool
}

func (k *killed) running() []scoped {
	var found []scoped
	mark := []byte("FLORWL_STATE_DIR=" + k.dir + "/state/retes/demo/workloads/")
	tables, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range tables {
		environ, err := os.ReadFile(path)
		_, rest, ours := bytes.Cut(environ, mark)
		if err != nil || !ours {
			continue
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		name, _, _ := bytes.Cut(rest, []byte{0})
		found = append(found, scoped{pid, string(name), bytes.Contains(environ, []byte(".partial/"))})
	}
	return found
}

// nothingLeft checks what a clean stop leaves: no process, no file that is not
// the scope's, and the writer's numbers in order.
func (k *killed) nothingLeft() {
	k.t.Helper()
	if n := k.processes(); len(n) > 0 {
		k.t.Errorf("processes after the stop: %v", n)
	}
	k.noStrayFile()
	app := filepath.Join(k.dir, "state/retes/demo/workloads/app")
	if _, err := os.Lstat(filepath.Join(app, "second")); err == nil {
		k.t.Error("two instances of a workload ran at once")
	}
	numbers, err := os.ReadFile(filepath.Join(app, "numbers"))
	if err != nil {
		k.t.Fatal(err)
	}
	for n, line := range strings.Split(strings.TrimSpace(string(numbers)), "\n") {
		if line != strconv.Itoa(n) {
			k.t.Fatalf("line %d of the writer is %q", n, line)
		}
	}
}

// noStrayFile lists what is below state and runtime directory.
func (k *killed) noStrayFile() {
	k.t.Helper()
	known := []string{
		"run", "state", "state/retes", "state/retes/demo.lock", "state/retes/demo",
		"state/retes/demo/identity/*", "state/retes/demo/identity/certs/*",
		"state/retes/demo/agent/state.json", "state/retes/demo/artifacts/*",
		"state/retes/demo/artifacts/mgmt/current", "state/retes/demo/artifacts/mgmt/sets",
		"state/retes/demo/artifacts/mgmt/sets/v*[0-9]", "state/retes/demo/artifacts/mgmt/sets/v*[0-9]/*.json",
		"state/retes/demo/*", "state/retes/demo/workloads/*", "state/retes/demo/workloads/app/numbers",
	}
	for _, root := range []string{"run", "state"} {
		err := filepath.WalkDir(filepath.Join(k.dir, root), func(path string, _ fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			name := strings.TrimPrefix(path, k.dir+"/")
			if err == nil && !slices.ContainsFunc(known, func(p string) bool { ok, _ := filepath.Match(p, name); return ok }) {
				k.t.Errorf("a stray file: %s", name)
			}
			return err
		})
		if err != nil {
			k.t.Error(err)
		}
	}
	if sets, _ := filepath.Glob(k.dir + "/state/retes/demo/artifacts/mgmt/sets/*"); len(sets) > 3 {
		k.t.Errorf("sets that nobody uses: %v", sets)
	}
}
