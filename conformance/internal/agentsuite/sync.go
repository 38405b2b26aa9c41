package agentsuite

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/florete/flor/conformance/internal/node"
	"github.com/florete/flor/conformance/internal/rete"
	"github.com/florete/flor/conformance/internal/trial"
	"github.com/florete/flor/envelope/envelopetest"
	"github.com/florete/flor/envelope/schema"
)

// syncCases are about what an agent fetches, admits and refuses.
func syncCases() []Case {
	rows := []Case{
		{"sync/request", "the set is fetched by the coordinator's hostname through the inbound, with have", "AGT-2 AGT-4", checkFetchRequest},
		{"sync/applied", "a newer good set becomes active, is recorded, and moves the mark", "AGT-4 SET-3 SET-6", checkApplied},
		{"sync/original-bytes", "what is stored of a set is the text as it was served", "ENV-8 SET-3", checkOriginalBytes},
		{"sync/unchanged", "the active set with other white space is unchanged", "AGT-4 ENV-8", checkUnchanged},
		{"sync/older-offers", "an older set from the coordinator is counted in the status", "AGT-7", checkOlderOffers},
		{"sync/pending-mark", "the mark moves only when the workloads have run for a while", "AGT-4", checkPendingMark},
		{"sync/not-ready", "a workload that serves ready and is not keeps the mark back until it is", "AGT-4 SUP-11",
			keptBack(func(*node.Node) string { return `{"ready":false,"listening":[],"waiting":[]}` })},
		{"sync/waits-for-inbound", "a workload that waits for the address of the inbound that sync uses keeps the mark back", "AGT-4 SUP-11",
			keptBack(func(n *node.Node) string { return waitingFor(n.Coordinator.Addr) })},
		{"sync/waits-for-identity", "a workload that waits for the identity of sync's principal keeps the mark back", "AGT-4 SUP-11",
			keptBack(func(n *node.Node) string { return waitingFor("identity " + n.Rete.ID("/node/alpha")) })},
		{"sync/waits-for-another", "a workload that waits for what sync does not need keeps the mark back from nobody", "AGT-4 SUP-11", checkWaitsForAnother},
		{"sync/failed-workload", "a set of which a workload does not come up stays active and is not confirmed", "AGT-4", checkNotConfirmed},
		{"sync/dry-run", "a dry run tells what would happen and stages nothing", "AGT-6", checkDryRun},
		{"sync/from-file", "a set document in the body is admitted by the same steps", "AGT-6 AGT-9", checkFromFile},
		{"sync/junk-body", "a body that is no set document is a result like any other: refused, and nothing changes", "AGT-9 ENV-17", checkJunkBody},
		{"sync/watch", "a coordinator that holds its answers is watched, and what comes is applied at once", "AGT-4 CRD-1", checkWatch},
		{"sync/without-watch", "a coordinator that does not know wait is asked by the poll interval alone", "AGT-4 CRD-1", checkNoWatch},
		{"sync/unknown-node", "404 is unreachable, with a reason", "AGT-4", checkUnknownNode},
		{"sync/not-published", "503 is unreachable, with a reason", "AGT-4", checkNotPublished},
		{"sync/no-coordinator", "without a coordinator workloads run and the sync is unreachable", "AGT-4", checkNoCoordinator},
		{"sync/strange-answer", "an answer that is none of the contract is failed and ends nobody", "AGT-4", checkStrangeAnswer},
		{"sync/too-large-answer", "an answer over 64 MiB is refused", "AGT-4 ENV-17", checkTooLargeAnswer},
		{"sync/unservable", "a set that flor's own executable turns down with 78 is refused and not staged", "AGT-4", checkUnservable},
		{"sync/check-failed", "a check that breaks is failed, not refused, and the set is not staged", "AGT-4", checkCheckFailed},
		{"sync/missing-executable", "a set that names an executable which is not there is unservable", "AGT-4 SUP-2", checkMissingExecutable},
		{"sync/signer-rotation", "add, switch and retire signers, and the old signer's sets are refused", "ENV-12 ENV-13", checkRotation},
		{"sync/way-back", "a node that missed a rotation follows a new signer that its CA certifies", "ENV-12", checkWayBack},
		{"sync/retired-for-good", "retired keys are remembered in state.json and through a restart", "ENV-12 SET-6", checkRetiredForGood},
	}
	return append(rows, refusals()...)
}

// applied ends the case unless a sync was applied.
func applied(t *trial.T, r node.Result) {
	if r.Result != "applied" {
		t.Fatalf("the sync is %q (%s %s: %s); it must be applied", r.Result, r.Code, r.Reason, r.Message)
	}
}

// refused ends the case unless a sync was refused for a reason; an empty code is
// not compared.
func refused(t *trial.T, r node.Result, reason, code string) {
	if r.Result != "refused" || r.Reason != reason || code != "" && r.Code != code {
		t.Fatalf("the sync is %q with reason %q, code %q (%s); it must be refused with %s %s", r.Result, r.Reason, r.Code, r.Message, reason, code)
	}
}

func checkFetchRequest(t *trial.T, n *node.Node) {
	n.Enrol(n.Set(7))
	n.Serve()
	f := n.Coordinator.First(t)
	host := "coordinator." + n.Rete.Domain + ".rete"
	switch {
	case f.Target != host+":80":
		t.Fatalf("the inbound is asked for %q; it must be %s, port 80", f.Target, host)
	case f.Method != http.MethodGet || f.Path != "/artifact/mgmt/alpha":
		t.Fatalf("the request is %s %s; it must be GET /artifact/mgmt/alpha", f.Method, f.Path)
	case f.Host != host:
		t.Fatalf("the Host header is %q; it must be %q", f.Host, host)
	case f.Query.Get("have") != "7":
		t.Fatalf("the fetch says have=%q; it must name the active version, 7", f.Query.Get("have"))
	}
}

func checkApplied(t *trial.T, n *node.Node) {
	n.Enrol(n.Set(1))
	n.Serve()
	n.Coordinator.Answer(node.Published(2, rete.Document(n.Set(2)...)))
	r := n.Sync(nil)
	applied(t, r)
	if r.Held != 1 || r.Offered != 2 || r.Trigger != "request" {
		t.Fatalf("the result has held %d, offered %d, trigger %q; it must be 1, 2 and request", r.Held, r.Offered, r.Trigger)
	}
	st, err := n.Root.State()
	t.Check(err, "read state.json")
	if active(n) != "v2" || st.Mark != 2 || st.Pending != 0 {
		t.Fatalf("after an applied set current is %q, mark %d, pending %d; it must be v2, 2 and none", active(n), st.Mark, st.Pending)
	}
	if len(st.Sets) == 0 {
		t.Fatalf("state.json has no record of a set; it must have one of each that is retained")
	}
	last := st.Sets[len(st.Sets)-1]
	if last.Version != 2 || len(last.Members) != 1 || len(last.Members["agent"]) != 64 || len(last.Trust) == 0 {
		t.Fatalf("state.json has %+v as its last record; it must be that of v2, with a digest for each member and the trust", last)
	}
}

func checkOriginalBytes(t *trial.T, n *node.Node) {
	n.Enrol(n.Set(1))
	n.Serve()
	set := n.Set(2)
	set[0] = bytes.Replace(set[0], []byte(`"node": `), []byte("\"node\"  :\t"), 1)
	n.Coordinator.Answer(node.Published(2, rete.Document(set...)))
	applied(t, n.Sync(nil))
	if got := n.Root.Read(mgmt + "sets/v2/agent.json"); strings.TrimSuffix(got, "\n") != string(set[0]) {
		t.Fatalf("sets/v2/agent.json is not the text that was served; white space of a member must stay as it came")
	}
}

func checkUnchanged(t *trial.T, n *node.Node) {
	set := n.Set(3)
	n.Enrol(set)
	n.Serve()
	spaced := bytes.ReplaceAll(set[0], []byte(": "), []byte(" : "))
	n.Coordinator.Answer(node.Body(rete.Document(spaced)))
	if r := n.Sync(nil); r.Result != "unchanged" {
		t.Fatalf("the active set with other white space is %q (%s); it must be unchanged", r.Result, r.Reason)
	}
}

func checkOlderOffers(t *trial.T, n *node.Node) {
	n.Enrol(n.Set(4), n.Set(5))
	n.Serve()
	n.Coordinator.Answer(node.Body(rete.Document(n.Set(3)...)))
	refused(t, n.Sync(nil), "replay", "FL1401")
	if s := n.Status(); s.OlderOffers != 1 || s.Set.Active != 5 {
		t.Fatalf("after an older set was offered the status has older_offers %d and active %d; it must be 1 and 5", s.OlderOffers, s.Set.Active)
	}
}

func checkPendingMark(t *trial.T, n *node.Node) {
	n.Enrol(n.Set(1, node.Tenant("app", 1)))
	n.Serve()
	n.Coordinator.Answer(node.Published(2, rete.Document(n.Set(2, node.Tenant("app", 2))...)))
	result := make(chan node.Result, 1)
	go func() { r, _ := n.TrySync(); result <- r }()
	n.Workloads.Await("start", "app", 2)
	st, err := n.Root.State()
	t.Check(err, "read state.json")
	if st.Mark != 1 || st.Pending != 2 {
		t.Fatalf("when the workload of v2 has just started state.json has mark %d and pending %d; the mark must stay 1 until it has run for 3 s", st.Mark, st.Pending)
	}
	applied(t, <-result)
	st, err = n.Root.State()
	t.Check(err, "read state.json")
	if st.Mark != 2 || st.Pending != 0 {
		t.Fatalf("after the sync was applied state.json has mark %d and pending %d; it must be 2 and none", st.Mark, st.Pending)
	}
}

// waitingFor is the answer of a workload that is ready and waits for something.
func waitingFor(entry string) string {
	return `{"ready":true,"listening":[],"waiting":["` + entry + `"]}`
}

// attended starts a node whose workload app serves this answer as ready, and
// waits until nothing but that can keep a set from being confirmed.
func attended(t *trial.T, n *node.Node, ready string) *channel {
	n.Enrol(n.Set(1, node.Tenant("app", 1)))
	n.Start()
	c := serveChannel(t, n, n.Workloads.Await("start", "app", 1), map[string]string{"/v1/ready": ready})
	n.Until("a workload that runs for 3 s must be up, and a first sync end", func(s node.Status) bool {
		return s.Of("app").State == "up" && s.LastSync != nil
	})
	return c
}

// keptBack is a check that the mark waits for a workload that says this as ready.
func keptBack(says func(*node.Node) string) func(*trial.T, *node.Node) {
	return func(t *trial.T, n *node.Node) {
		ready := says(n)
		c := attended(t, n, ready)
		go func() { _, _ = n.TrySyncWith(rete.Document(n.Set(2, node.Tenant("app", 1))...)) }()
		n.Until("the offered set must become active", func(s node.Status) bool { return s.Set.Active == 2 })
		// The second call comes when what the first one said has been considered.
		asked := c.count("/v1/ready")
		n.Agent.Await("while a set waits to be confirmed GET /v1/ready must be asked again", func() bool { return c.count("/v1/ready") >= asked+2 })
		st, err := n.Root.State()
		t.Check(err, "read state.json")
		if st.Mark != 1 || st.Pending != 2 {
			t.Fatalf("while a workload answers GET /v1/ready with %s state.json has mark %d and pending %d; the mark must stay 1 until it says otherwise", ready, st.Mark, st.Pending)
		}
		c.answer("/v1/ready", readyAnswer)
		n.Until("the mark must move when the workload is ready and waits for nothing", func(s node.Status) bool {
			return s.Set.Mark == 2 && s.Set.Pending == 0
		})
	}
}

func checkWaitsForAnother(t *trial.T, n *node.Node) {
	attended(t, n, waitingFor("127.0.0.1:1"))
	r := n.Sync(rete.Document(n.Set(2, node.Tenant("app", 1))...))
	if r.Result != "applied" {
		t.Fatalf("the sync is %q (%s: %s) while a workload waits for an address that is not the inbound of sync; it must be applied, and the address told in health", r.Result, r.Reason, r.Message)
	}
}

func checkNotConfirmed(t *trial.T, n *node.Node) {
	n.Enrol(n.Set(1))
	n.Serve()
	n.Workloads.Does("app", "exit 1")
	r := n.Sync(rete.Document(n.Set(2, node.Tenant("app", 1))...))
	if r.Result != "failed" || !strings.Contains(r.Message, "app") {
		t.Fatalf("a set whose workload crashes is %q (%s); who waits must be told failed, and which workload", r.Result, r.Message)
	}
	st, err := n.Root.State()
	t.Check(err, "read state.json")
	if active(n) != "v2" || st.Mark != 1 {
		t.Fatalf("current is %q and the mark %d; the new set must stay active and the mark where it was", active(n), st.Mark)
	}
}

func checkDryRun(t *trial.T, n *node.Node) {
	n.Enrol(n.Set(1, node.Tenant("app", 1), node.Tenant("old", 1)))
	n.Start()
	n.Workloads.Await("start", "old", 1)
	n.Until("the agent must end a first sync", func(s node.Status) bool { return s.LastSync != nil })
	r := n.DryRun(rete.Document(n.Set(2, node.Tenant("app", 2), node.Tenant("new", 1))...))
	actions := map[string]string{}
	for _, w := range r.Workloads {
		actions[w.Name] = w.Action
	}
	if !r.DryRun || r.Offered != 2 || actions["app"] != "restart" || actions["new"] != "start" || actions["old"] != "stop" {
		t.Fatalf("the dry run says dry_run %v, offered %d, %v; it must tell that app restarts, new starts and old stops", r.DryRun, r.Offered, actions)
	}
	if got := setNames(n); active(n) != "v1" || !slices.Equal(got, []string{"v1"}) || len(n.Workloads.Events("start", "app")) != 1 {
		t.Fatalf("after a dry run current is %q and sets are %v; nothing may be staged or started", active(n), got)
	}
}

func checkFromFile(t *trial.T, n *node.Node) {
	n.Enrol(n.Set(1))
	n.Serve()
	r := n.Sync(rete.Document(n.Set(2)...))
	applied(t, r)
	if r.Trigger != "file" || active(n) != "v2" {
		t.Fatalf("a set from a body has trigger %q and current is %q; it must be file and v2", r.Trigger, active(n))
	}
}

func checkJunkBody(t *trial.T, n *node.Node) {
	n.Enrol(n.Set(1))
	n.Serve()
	before := n.Root.Read("agent/state.json")
	refused(t, n.Sync([]byte("this is no set document")), "not-json", "FL1002")
	if got := setNames(n); active(n) != "v1" || !slices.Equal(got, []string{"v1"}) || n.Root.Read("agent/state.json") != before {
		t.Fatalf("after a body that is no set document current is %q and sets are %v; everything must be as it was", active(n), got)
	}
}

// holding answers as a coordinator does that knows wait: 304 when the time is
// over or, as soon as published is closed, the set.
func holding(published <-chan struct{}, version uint64, document []byte) http.HandlerFunc {
	give := node.Published(version, document)
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Flor-Wait", "60")
		select {
		case <-published:
			give(w, r)
			return
		default:
		}
		if r.URL.Query().Get("wait") == "" {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		select {
		case <-published:
			give(w, r)
		case <-r.Context().Done():
		}
	}
}

func checkWatch(t *trial.T, n *node.Node) {
	n.Enrol(n.Set(1))
	published := make(chan struct{})
	n.Coordinator.Answer(holding(published, 2, rete.Document(n.Set(2)...)))
	n.Serve()
	var wait string
	t.Await("after an answer with Flor-Wait the agent must ask with wait at once, not at the next poll", func() bool {
		for _, f := range n.Coordinator.Fetches() {
			wait = f.Query.Get("wait")
		}
		return wait != ""
	})
	if wait != "55" {
		t.Fatalf("the agent asks with wait=%s; it must be 55", wait)
	}
	close(published)
	s := n.Until("what a watch brings must be applied", func(s node.Status) bool { return s.Set.Active == 2 })
	if s = n.Until("the sync of a watch must end", func(s node.Status) bool { return s.LastSync.Offered == 2 }); s.LastSync.Trigger != "watch" {
		t.Fatalf("the sync that a watch brought has trigger %q; it must be watch", s.LastSync.Trigger)
	}
}

func checkNoWatch(t *trial.T, n *node.Node) {
	set := n.SetOf(rete.Set{Version: 1, Poll: "2s"})
	n.Enrol(set)
	n.Coordinator.Answer(node.Published(1, rete.Document(set...)))
	n.Serve()
	t.Await("the agent must ask again by its poll interval", func() bool { return len(n.Coordinator.Fetches()) >= 2 })
	for _, f := range n.Coordinator.Fetches() {
		if f.Query.Has("wait") {
			t.Fatalf("a coordinator that never sent Flor-Wait is asked with wait=%s", f.Query.Get("wait"))
		}
	}
}

// unreachable ends the case unless a sync was unreachable with a reason, and the
// agent goes on.
func unreachable(t *trial.T, n *node.Node, answer http.HandlerFunc, reason string) {
	n.Enrol(n.Set(1))
	n.Coordinator.Answer(answer)
	n.Serve()
	if r := n.Sync(nil); r.Result != "unreachable" || r.Reason != reason {
		t.Fatalf("the sync is %q with reason %q; it must be unreachable with %s", r.Result, r.Reason, reason)
	}
	if n.Agent.Ended() {
		t.Fatalf("the agent ended")
	}
}

func checkUnknownNode(t *trial.T, n *node.Node) { unreachable(t, n, node.UnknownNode, "unknown-node") }

func checkNotPublished(t *trial.T, n *node.Node) {
	unreachable(t, n, node.NotPublished, "not-published")
}

func checkNoCoordinator(t *trial.T, n *node.Node) {
	n.Enrol(n.SetOf(rete.Set{Version: 1, Inbound: "127.0.0.1:1", Workloads: []rete.Workload{node.Tenant("app", 1)}}))
	n.Start()
	n.Workloads.Await("start", "app", 1)
	n.Until("the first sync must end", func(s node.Status) bool { return s.LastSync != nil })
	if r := n.Sync(nil); r.Result != "unreachable" || r.Reason == "" {
		t.Fatalf("with nobody at the inbound the sync is %q with reason %q; it must be unreachable, with a reason", r.Result, r.Reason)
	}
	if s := n.Status(); s.Of("app").PID == 0 {
		t.Fatalf("the workload does not run (%s); a lost coordinator must stop nothing", s.Of("app").State)
	}
}

func checkStrangeAnswer(t *trial.T, n *node.Node) {
	n.Enrol(n.Set(1))
	n.Coordinator.Answer(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<html>welcome</html>")
	})
	n.Serve()
	if r := n.Sync(nil); r.Result != "failed" && r.Result != "refused" {
		t.Fatalf("a page of HTML is %q; it must be failed or refused", r.Result)
	}
	n.Coordinator.Answer(node.Published(2, rete.Document(n.Set(2)...)))
	applied(t, n.Sync(nil))
}

func checkTooLargeAnswer(t *trial.T, n *node.Node) {
	n.Enrol(n.Set(1))
	var sent atomic.Int64
	n.Coordinator.Answer(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", "67108865") // 64 MiB and one
		chunk := bytes.Repeat([]byte(" "), 1<<20)
		for range 64 {
			if _, err := w.Write(chunk); err != nil {
				return
			}
			sent.Add(int64(len(chunk)))
		}
		_, _ = w.Write([]byte("{"))
	})
	n.Serve()
	if r := n.Sync(nil); r.Result != "refused" || r.Reason != "too-large" {
		t.Fatalf("an answer of 64 MiB and one byte is %q with reason %q (%s) after %d bytes; it must be refused as too-large", r.Result, r.Reason, r.Message, sent.Load())
	}
}

// nothingStaged ends the case if v2 left anything behind.
func nothingStaged(t *trial.T, n *node.Node) {
	if got := setNames(n); active(n) != "v1" || slices.Contains(got, "v2") {
		t.Fatalf("current is %q and sets are %v; what is turned down must not be staged", active(n), got)
	}
}

func checkUnservable(t *trial.T, n *node.Node) {
	n.Enrol(n.Set(1))
	n.Serve()
	n.Workloads.Checks("echo no such adapter >&2; exit 78")
	r := n.Sync(rete.Document(n.Set(2, node.Vertex("flor", 1))...))
	refused(t, r, "unservable", "FL1404")
	if !strings.Contains(r.Message, "no such adapter") {
		t.Fatalf("the refusal says %q; it must have the words of the executable", r.Message)
	}
	nothingStaged(t, n)
}

func checkCheckFailed(t *trial.T, n *node.Node) {
	n.Enrol(n.Set(1))
	n.Serve()
	n.Workloads.Checks("exit 1")
	if r := n.Sync(rete.Document(n.Set(2, node.Vertex("flor", 1))...)); r.Result != "failed" || r.Reason != "check-failed" {
		t.Fatalf("where --check exits 1 the sync is %q with reason %q; it must be failed with check-failed", r.Result, r.Reason)
	}
	nothingStaged(t, n)
}

func checkMissingExecutable(t *trial.T, n *node.Node) {
	n.Enrol(n.Set(1))
	n.Serve()
	w := node.Tenant("app", 1)
	w.Run = "nowhere"
	refused(t, n.Sync(rete.Document(n.Set(2, w)...)), "unservable", "FL1404")
	nothingStaged(t, n)
}

// rotation is a set of a signer that lists signers.
func rotation(n *node.Node, version uint64, by *rete.Identity, lists ...*rete.Identity) []byte {
	return rete.Document(n.SetOf(rete.Set{Version: version, By: by, Lists: lists})...)
}

func checkRotation(t *trial.T, n *node.Node) {
	first, second := n.Rete.Primary, n.Rete.CA.Signer("second")
	n.Enrol(n.Set(1))
	n.Serve()
	applied(t, n.Sync(rotation(n, 2, first, first, second)))
	applied(t, n.Sync(rotation(n, 3, second, first, second)))
	applied(t, n.Sync(rotation(n, 4, second, second)))
	refused(t, n.Sync(rotation(n, 5, first, first)), "signer-retired", "FL1105")
	if active(n) != "v4" {
		t.Fatalf("current is %q; the set of the retired signer must change nothing", active(n))
	}
}

func checkWayBack(t *trial.T, n *node.Node) {
	n.Enrol(n.Set(1))
	n.Serve()
	minted := n.Rete.CA.Signer("minted")
	applied(t, n.Sync(rotation(n, 2, minted, minted)))
}

func checkRetiredForGood(t *trial.T, n *node.Node) {
	first, second := n.Rete.Primary, n.Rete.CA.Signer("second")
	n.Enrol(n.Set(1))
	n.Serve()
	applied(t, n.Sync(rotation(n, 2, second, second)))
	st, err := n.Root.State()
	t.Check(err, "read state.json")
	if !slices.Contains(st.Retired, first.Entry().Pubkey) {
		t.Fatalf("state.json has retired %v; it must have the key that fell out of the block", st.Retired)
	}
	n.Agent.Stop()
	n.Serve()
	refused(t, n.Sync(rotation(n, 3, first, first)), "signer-retired", "FL1105")
}

// refusalRow is a set that must be refused and leave everything as it was.
type refusalRow struct {
	name, title  string
	reason, code string
	rules        string
	document     func(n *node.Node) []byte
}

// refusals are sets that a coordinator serves and no node may take.
func refusals() []Case {
	rows := []refusalRow{
		{"replay", "an older set", "replay", "FL1401", "AGT-4", func(n *node.Node) []byte { return rete.Document(n.Set(4)...) }},
		{"version-jump", "a version more than 2^20 above the mark", "version-jump", "FL1402", "AGT-4", func(n *node.Node) []byte {
			return rete.Document(n.Set(5 + 1<<20 + 1)...)
		}},
		{"equivocation", "another set of the active version", "equivocation", "FL1403", "AGT-4", func(n *node.Node) []byte {
			return rete.Document(n.SetOf(rete.Set{Version: 5, Poll: "23h"})...)
		}},
		{"tampered-root", "a root whose payload was changed after signing", "bad-signature", "FL1104", "ENV-6 ENV-11", func(n *node.Node) []byte {
			return bytes.Replace(rete.Document(n.Set(6)...), []byte(`"24h"`), []byte(`"12h"`), 1)
		}},
		{"tampered-member", "a member whose payload was changed after signing", "bad-signature", "FL1104", "ENV-6 ENV-11", func(n *node.Node) []byte {
			return bytes.Replace(rete.Document(n.Set(6, node.Tenant("app", 1))...), []byte(`"n": 1`), []byte(`"n": 2`), 1)
		}},
		{"mixed-versions", "a member of the version before", "wrong-version", "FL1206", "ENV-18", func(n *node.Node) []byte {
			root, app := n.Set(7, node.Tenant("app", 1))[0], n.Set(6, node.Tenant("app", 1))[1]
			return rete.Document(root, app)
		}},
		{"incomplete", "a set that lacks a member of its inventory", "missing-member", "FL1209", "ENV-18", func(n *node.Node) []byte {
			return rete.Document(n.Set(6, node.Tenant("app", 1))[0])
		}},
		{"unlisted-member", "a member that the inventory does not name", "unlisted-member", "FL1210", "ENV-18", func(n *node.Node) []byte {
			return rete.Document(n.Set(6)[0], n.Set(6, node.Tenant("app", 1))[1])
		}},
		{"two-roots", "a set with two roots", "two-roots", "FL1203", "ENV-18", func(n *node.Node) []byte {
			return rete.Document(n.Set(6)[0], n.Set(6)[0])
		}},
		{"another-node", "the set of another node", "wrong-node", "FL1205", "ENV-18", func(n *node.Node) []byte {
			return rete.Document(n.SetOf(rete.Set{Version: 6, Node: "beta"})...)
		}},
		{"foreign-id", "a root that names a principal of another trust domain", "foreign-id", "FL1211", "ENV-18", func(n *node.Node) []byte {
			return rete.Document(n.SetOf(rete.Set{Version: 6, Root: func(a *schema.Agent) {
				a.Sync.Coordinator = "spiffe://elsewhere/service/coordinator"
			}})...)
		}},
		{"mixed-signers", "a member of another signer than the root's", "mixed-signers", "FL1212", "ENV-18", func(n *node.Node) []byte {
			second := n.Rete.CA.Signer("second")
			both := []*rete.Identity{n.Rete.Primary, second}
			app := []rete.Workload{node.Tenant("app", 1)}
			root := n.SetOf(rete.Set{Version: 6, Lists: both, Workloads: app})[0]
			return rete.Document(root, n.SetOf(rete.Set{Version: 6, By: second, Lists: both, Workloads: app})[1])
		}},
		{"stranger", "a signer that another CA certifies", "bad-signer-cert", "FL1114", "ENV-10 ENV-12", func(n *node.Node) []byte {
			stranger := envelopetest.NewAuthority(n.Rete.Domain).Signer("stranger")
			return rotation(n, 6, stranger, stranger)
		}},
		{"expired-signer", "a new signer whose certificate has expired", "signer-not-valid-now", "FL1106", "ENV-13", func(n *node.Node) []byte {
			expired := n.Rete.CA.Signer("expired", envelopetest.Expired)
			return rotation(n, 6, expired, expired)
		}},
		{"signer-not-listed", "a root whose block leaves its own signer out", "signer-not-listed", "FL1107", "ENV-12", func(n *node.Node) []byte {
			return rotation(n, 6, n.Rete.Primary, n.Rete.CA.Signer("second"))
		}},
	}
	cases := make([]Case, 0, len(rows))
	for _, r := range rows {
		cases = append(cases, Case{"refusal/" + r.name, r.title + " is refused and changes nothing", r.rules + " AGT-4", r.check})
	}
	return cases
}

// check serves the document to a node whose active set is v5.
func (r refusalRow) check(t *trial.T, n *node.Node) {
	n.Enrol(n.Set(5))
	n.Serve()
	before := n.Root.Read("agent/state.json")
	n.Coordinator.Answer(node.Body(r.document(n)))
	refused(t, n.Sync(nil), r.reason, r.code)
	if got := setNames(n); active(n) != "v5" || !slices.Equal(got, []string{"v5"}) {
		t.Fatalf("after the refusal current is %q and sets are %v; everything must be as it was", active(n), got)
	}
	if n.Root.Read("agent/state.json") != before {
		t.Fatalf("the refusal changed state.json")
	}
	if left, _ := os.ReadDir(filepath.Join(n.Runtime, n.Scope)); slices.ContainsFunc(left, func(e os.DirEntry) bool { return e.IsDir() }) {
		t.Fatalf("the refusal left a directory in the runtime root")
	}
}
