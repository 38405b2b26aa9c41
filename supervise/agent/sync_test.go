package agent

import (
	"bytes"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/florete/flor/envelope/envelopetest"
	"github.com/florete/flor/envelope/schema"
	"github.com/florete/flor/supervise/control"
)

func slowPoll(root *schema.Agent) { root.Sync.PollInterval = "1h" }

// AGT-4: fetch, verify, check, stage, activate, confirm; SUP-11: what swaps is
// not restarted, and what did not change is not touched.
func TestAPublishedSetIsApplied(t *testing.T) {
	t.Parallel()
	w := newWorld(t, workloadOf("flor", behaviour{}), workloadOf("coordinator", behaviour{Mode: "restart"}), workloadOf("app", behaviour{}))
	c := w.start()
	before := w.until(c, "all up", settled)
	w.relay.publish(2, w.set(2, workloadOf("flor", behaviour{Note: "new"}), workloadOf("coordinator", behaviour{Mode: "restart", Note: "new"}), workloadOf("app", behaviour{})))
	got := w.sync(c, false, nil)
	if got.Result != control.Applied && got.Result != control.Unchanged {
		t.Fatalf("sync: %+v", got)
	}
	after := w.until(c, "v2 confirmed, all well", func(doc control.StatusDoc) bool {
		return settled(doc) && doc.Set.Mark == 2 && len(doc.Health) == 0
	})
	want := map[string]string{"flor": "swapped v2", "coordinator": "spawned v2", "app": "spawned v1"}
	have := map[string]string{}
	for _, l := range after.Workloads {
		have[l.Name] = l.Via + " " + tagOf(l.Set)
	}
	if diff := cmp.Diff(want, have); diff != "" {
		t.Error(diff)
	}
	old, now := pids(before), pids(after)
	if old["flor"] != now["flor"] || old["app"] != now["app"] || old["coordinator"] == now["coordinator"] {
		t.Errorf("processes were %v, are %v: only the coordinator's may change", old, now)
	}
	if after.Set.Active != 2 || after.LastChange.IsZero() {
		t.Errorf("status: %+v", after)
	}
}

// AGT-4.1: a coordinator that knows how to wait needs no poll: the watch brings
// the set, and is no sync while it is idle.
func TestAWatchBringsTheSet(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.relay.tell(func(r *relay) { r.waits = true })
	c := w.start()
	w.until(c, "first contact", func(doc control.StatusDoc) bool { return !doc.LastContact.IsZero() })
	w.relay.publish(2, w.setOf("alpha", 2, slowPoll, workloadOf("flor", behaviour{})))
	doc := w.until(c, "v2 by watch", func(doc control.StatusDoc) bool {
		return doc.Set.Mark == 2 && settled(doc) && doc.LastSync.Trigger == byWatch
	})
	if doc.LastSync.Result != control.Applied {
		t.Errorf("last sync: %+v", doc.LastSync)
	}
	// A request cancels the idle watch, and is answered at once.
	watching := func(r *relay) bool { return r.open > 0 }
	w.relay.until(t, "a watch", watching)
	asked := time.Now()
	if got := w.sync(c, false, nil); got.Result != control.Unchanged || time.Since(asked) > patience {
		t.Errorf("sync during a watch: %+v after %v", got, time.Since(asked))
	}
	w.log.await(t, "trigger=start")
	// So does a restart of what may carry it, before it restarts.
	w.relay.until(t, "the end of the first watch and the next", func(r *relay) bool { return r.broken > 0 && r.open == 1 })
	broken := 0
	w.relay.tell(func(r *relay) { broken = r.broken })
	if err := c.Restart(t.Context(), "flor"); err != nil {
		t.Fatal(err)
	}
	w.relay.until(t, "the end of the watch", func(r *relay) bool { return r.broken > broken })
}

// AGT-4.1: a relay that sends the set to whoever has it is not asked in a circle.
func TestAStubbornRelayIsNotAskedInACircle(t *testing.T) {
	t.Parallel()
	w := newWorld(t, workloadOf("flor", behaviour{}))
	w.relay.publish(1, nil)
	c := w.start()
	w.until(c, "all up", settled)
	next := w.setOf("alpha", 2, slowPoll, workloadOf("flor", behaviour{}))
	if got := w.sync(c, false, bytes.NewReader(document(next))); got.Result != control.Applied {
		t.Fatalf("v2: %+v", got)
	}
	w.relay.publish(2, next)
	w.relay.tell(func(r *relay) { r.waits, r.stubborn = true, true })
	before, began := w.relay.count(), time.Now()
	if got := w.sync(c, false, nil); got.Result != control.Unchanged {
		t.Fatalf("sync: %+v", got)
	}
	w.relay.untilFetched(t, before+4)
	if took := time.Since(began); took < time.Second {
		t.Errorf("four fetches of the same set within %v", took)
	}
}

// AGT-4.2, ENV-11, ENV-12, ENV-17, ENV-18: each refusal has its own reason, and
// leaves everything as it was.
func TestOffersThatAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, workloadOf("flor", behaviour{}))
	c := w.start()
	w.until(c, "all up", settled)
	if got := w.sync(c, false, bytes.NewReader(document(w.setOf("alpha", 5, slowPoll, workloadOf("flor", behaviour{}))))); got.Result != control.Applied {
		t.Fatalf("v5: %+v", got)
	}
	good := w.set(6, workloadOf("flor", behaviour{Note: "six"}))
	stranger := &world{t: t, authority: w.authority, signer: w.authority.Signer("stranger", envelopetest.Expired), socks: w.socks}
	tampered := bytes.Replace(document(good), []byte("six"), []byte("sin"), 1)
	tests := []struct {
		name, reason string
		doc          []byte
	}{
		{"an older set", "replay", document(w.set(4, workloadOf("flor", behaviour{})))},
		{"a version far above the mark", "version-jump", document(w.set(6+1<<20, workloadOf("flor", behaviour{})))},
		{"the active version with other content", "equivocation", document(w.set(5, workloadOf("flor", behaviour{Note: "other"})))},
		{"a changed byte", "bad-signature", tampered},
		{"members of two sets", "wrong-version", document([][]byte{good[0], w.set(7, workloadOf("flor", behaviour{}))[1]})},
		{"a set without a member", "missing-member", document(good[:1])},
		{"a set of another node", "wrong-node", document(w.setOf("beta", 6, nil, workloadOf("flor", behaviour{})))},
		{"a signer whose certificate has expired", "signer-not-valid-now", document(stranger.set(6, workloadOf("flor", behaviour{})))},
		{"no set at all", "not-json", []byte("<html>")},
		{"an executable that is not installed", "unservable", document(w.set(6, workloadOf("flor", behaviour{}), workloadOf("stranger", behaviour{})))},
		{"a payload that the installed program does not read", "unservable", document(w.set(6, workloadOf("flor", behaviour{SchemaVersion: "1.9"})))},
	}
	before := w.until(c, "at rest", settled)
	for _, tt := range tests {
		got := w.sync(c, false, bytes.NewReader(tt.doc))
		if got.Result != control.Refused || got.Code == "" || got.Reason != tt.reason {
			t.Errorf("%s: %s %s %s: %s", tt.name, got.Result, got.Code, got.Reason, got.Message)
		}
		if got.Held != 5 || (got.Offered == 0) != (tt.reason == "not-json") {
			t.Errorf("%s: held v%d, offered v%d", tt.name, got.Held, got.Offered)
		}
	}
	after := w.until(c, "at rest", settled)
	if diff := cmp.Diff(pids(before), pids(after)); diff != "" || after.Set.Active != 5 || after.Set.Mark != 5 {
		t.Errorf("refusals had an effect: %+v %s", after.Set, diff)
	}
	if after.OlderOffers != 0 {
		t.Errorf("older offers: %d, but no relay made one (AGT-7)", after.OlderOffers)
	}
	if sets := setsOnDisk(t, w); !slices.Equal(sets, []string{"v1", "v5"}) {
		t.Errorf("sets on disk: %v", sets)
	}
}

func setsOnDisk(t *testing.T, w *world) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(w.layout.RetesDir(), w.scope, "artifacts/mgmt/sets"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// AGT-4.3: a check that breaks is no refusal: it is tried again.
func TestACheckThatBreaksIsAFailure(t *testing.T) {
	t.Parallel()
	w := newWorld(t, workloadOf("flor", behaviour{}))
	c := w.start()
	w.until(c, "all up", settled)
	got := w.sync(c, false, bytes.NewReader(document(w.set(2, workloadOf("flor", behaviour{Mode: "check-crash"})))))
	if got.Result != control.Failed || got.Reason != string(CheckFailed) {
		t.Errorf("sync: %+v", got)
	}
	if sets := setsOnDisk(t, w); !slices.Equal(sets, []string{"v1"}) {
		t.Errorf("sets on disk: %v", sets)
	}
}

// AGT-4.1, AGT-7: what a coordinator may say in place of a set.
func TestCoordinatorsThatGiveNoSet(t *testing.T) {
	t.Parallel()
	w := newWorld(t, workloadOf("flor", behaviour{}))
	c := w.start()
	tests := []struct {
		name   string
		tell   func(*relay)
		result control.Result
		reason string
	}{
		{"nothing published yet", func(r *relay) { r.status = http.StatusServiceUnavailable }, control.Unreachable, "not-published"},
		{"no such node", func(r *relay) { r.status = http.StatusNotFound }, control.Unreachable, "unknown-node"},
		{"a web page", func(r *relay) { r.html, r.status, r.version = true, 0, 9 }, control.Failed, "unexpected-answer"},
		{"the version we have", func(r *relay) { r.html, r.status, r.version = false, 0, 1 }, control.Unchanged, ""},
	}
	w.until(c, "all up", settled)
	for _, tt := range tests {
		w.relay.tell(tt.tell)
		got := w.sync(c, false, nil)
		if got.Result != tt.result || got.Reason != tt.reason {
			t.Errorf("%s: %s %s: %s", tt.name, got.Result, got.Reason, got.Message)
		}
	}
	w.relay.server.Close()
	if got := w.sync(c, false, nil); got.Result != control.Unreachable {
		t.Errorf("a coordinator that is gone: %+v", got)
	}
	doc := w.until(c, "trouble in status", func(doc control.StatusDoc) bool { return len(doc.Health) > 0 })
	if doc.LastContact.IsZero() {
		t.Error("the last contact is not told")
	}
}

// AGT-5: the agent's own payload takes effect in place.
func TestTheAgentsOwnPayloadRestartsNobody(t *testing.T) {
	t.Parallel()
	w := newWorld(t, workloadOf("flor", behaviour{}))
	c := w.start()
	before := w.until(c, "all up", settled)
	next := w.authority.Signer("secondary")
	rotated := w.setOf("alpha", 2, func(root *schema.Agent) {
		root.Trust = envelopetest.Block(w.signer, next)
		root.Inbounds = append(root.Inbounds, schema.Inbound{
			Principal: "spiffe://demo/user/ann", Via: schema.InboundVia{Kind: "socks5", Addr: "127.0.0.1:1999"},
		})
		root.Sync.PollInterval = "1h"
	}, workloadOf("flor", behaviour{}))
	if got := w.sync(c, false, bytes.NewReader(document(rotated))); got.Result != control.Applied || len(got.Workloads) > 0 {
		t.Fatalf("sync: %+v", got)
	}
	after := w.until(c, "v2", func(doc control.StatusDoc) bool { return doc.Set.Mark == 2 })
	if diff := cmp.Diff(pids(before), pids(after)); diff != "" {
		t.Error(diff)
	}
	inbounds, err := c.Inbounds(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := inbounds["spiffe://demo/user/ann"]; got != (control.Inbound{Kind: "socks5", Addr: "127.0.0.1:1999"}) {
		t.Errorf("inbound: %+v", got)
	}
	w.signer = next // the new signer may sign the next set
	if got := w.sync(c, false, bytes.NewReader(document(w.set(3, workloadOf("flor", behaviour{}))))); got.Result != control.Applied {
		t.Errorf("a set by the new signer: %+v", got)
	}
}

// AGT-4.5: new workloads start, those that left stop.
func TestWorkloadsComeAndGo(t *testing.T) {
	t.Parallel()
	w := newWorld(t, workloadOf("flor", behaviour{}), workloadOf("app", behaviour{}))
	c := w.start()
	before := w.until(c, "all up", settled)
	next := w.set(2, workloadOf("coordinator", behaviour{}), workloadOf("flor", behaviour{}))
	got := w.sync(c, false, bytes.NewReader(document(next)))
	want := []control.Change{{Name: "app", Action: "stop"}, {Name: "coordinator", Action: "start"}}
	if diff := cmp.Diff(want, got.Workloads); got.Result != control.Applied || diff != "" {
		t.Fatalf("sync: %+v %s", got, diff)
	}
	after := w.until(c, "app gone", func(doc control.StatusDoc) bool { return settled(doc) && pids(doc)["app"] == 0 })
	if after.Workloads[0].Name != "coordinator" || pids(after)["flor"] != pids(before)["flor"] {
		t.Errorf("workloads: %+v", after.Workloads)
	}
}

// AGT-6: a dry run tells all and changes nothing.
func TestADryRunChangesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, workloadOf("flor", behaviour{}), workloadOf("coordinator", behaviour{Mode: "restart"}))
	c := w.start()
	before := w.until(c, "all up", settled)
	tree := listing(t, filepath.Join(w.layout.RetesDir(), w.scope))
	next := w.set(2, workloadOf("flor", behaviour{Note: "x"}), workloadOf("coordinator", behaviour{Mode: "restart", Note: "x"}), workloadOf("app", behaviour{}))
	got := w.sync(c, true, bytes.NewReader(document(next)))
	want := []control.Change{{Name: "flor", Action: "swap"}, {Name: "coordinator", Action: "restart"}, {Name: "app", Action: "start"}}
	if diff := cmp.Diff(want, got.Workloads); got.Result != control.Applied || !got.DryRun || got.Offered != 2 || diff != "" {
		t.Fatalf("dry run: %+v %s", got, diff)
	}
	bad := w.set(2, workloadOf("flor", behaviour{SchemaVersion: "1.9"}), workloadOf("coordinator", behaviour{Mode: "restart"}))
	if got := w.sync(c, true, bytes.NewReader(document(bad))); got.Result != control.Refused || got.Reason != string(Unservable) {
		t.Errorf("dry run of a set that cannot be served: %+v", got)
	}
	if diff := cmp.Diff(tree, listing(t, filepath.Join(w.layout.RetesDir(), w.scope))); diff != "" {
		t.Error(diff)
	}
	if _, err := os.Stat(filepath.Join(w.layout.RuntimeBase, w.scope, trial)); !os.IsNotExist(err) {
		t.Errorf("the trial is still there: %v", err)
	}
	after := w.until(c, "all up", settled)
	if after.LastSync != nil && after.LastSync.DryRun {
		t.Errorf("a dry run is told as the last sync: %+v", after.LastSync)
	}
	if diff := cmp.Diff(pids(before), pids(after)); diff != "" || after.Set.Active != 1 {
		t.Errorf("the dry run had an effect: %+v %s", after.Set, diff)
	}
}

// listing has every file below a directory with its size and time.
func listing(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err == nil && !e.IsDir() {
			files[path] = info.ModTime().String()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// AGT-4: requests during one sync coalesce into one more.
func TestRequestsDuringASyncAreOneMore(t *testing.T) {
	t.Parallel()
	w := newWorld(t, workloadOf("flor", behaviour{}))
	c := w.start()
	w.until(c, "all up", settled)
	if got := w.sync(c, false, bytes.NewReader(document(w.setOf("alpha", 2, slowPoll, workloadOf("flor", behaviour{}))))); got.Result != control.Applied {
		t.Fatalf("slow the polls down: %+v", got)
	}
	w.relay.publish(2, w.setOf("alpha", 2, slowPoll, workloadOf("flor", behaviour{})))
	release := w.relay.hold()
	before := w.relay.count()
	ask := func() *request { return w.agent.sync.queue.add(byRequest, false, nil) }
	asked := []*request{ask()}
	w.relay.untilFetched(t, before+1)
	for range 10 {
		asked = append(asked, ask())
	}
	release()
	for _, r := range asked {
		if <-r.done; r.result.Result != control.Unchanged {
			t.Errorf("sync: %+v", r.result)
		}
	}
	if n := w.relay.count() - before; n < 2 || n > 3 {
		t.Errorf("%d fetches for one sync and ten requests during it, want 2", n)
	}
}

// AGT-4.6: what does not come up is told as failed, stays active, and is applied
// once it does, here after an agent restart.
func TestAPendingMarkOutlivesTheAgent(t *testing.T) {
	t.Parallel()
	w := newWorld(t, workloadOf("flor", behaviour{Mode: "restart"}))
	w.liveness = time.Second
	c := w.start()
	w.until(c, "all up", settled)
	next := document(w.set(2, workloadOf("flor", behaviour{Mode: "second"})))
	done := make(chan control.SyncResult, 1)
	go func() {
		got, _ := c.Sync(t.Context(), false, bytes.NewReader(next))
		done <- got
	}()
	doc := w.until(c, "v2 pending", func(doc control.StatusDoc) bool {
		return doc.Set.Active == 2 && doc.Set.Pending == 2 && len(doc.Workloads) == 1 && doc.Workloads[0].State == "up" && doc.Workloads[0].Set == 2
	})
	if doc.Set.Mark != 1 {
		t.Errorf("the mark is v%d before v2 is confirmed", doc.Set.Mark)
	}
	if err := w.stop(); err != nil {
		t.Fatal(err)
	}
	if got := <-done; got.Result != control.Failed || got.Reason != string(Stopping) || got.Offered != 2 {
		t.Errorf("a sync that the agent's end cut short: %+v", got)
	}
	c = w.start()
	doc = w.until(c, "v2 confirmed", func(doc control.StatusDoc) bool { return doc.Set.Mark == 2 && doc.Set.Pending == 0 })
	if doc.Set.Active != 2 {
		t.Errorf("set: %+v", doc.Set)
	}
}

// AGT-4.6: a request is told "failed" in time with workload and cause; later
// the sync is applied all the same.
func TestASetThatDoesNotComeUpIsToldAsFailed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, workloadOf("flor", behaviour{}))
	w.confirmWithin, w.liveness = 4*time.Second, 2*time.Second
	c := w.start()
	w.until(c, "all up", settled)
	got := w.sync(c, false, bytes.NewReader(document(w.set(2, workloadOf("flor", behaviour{Mode: "reject"})))))
	if got.Result != control.Failed || got.Reason != string(NotConfirmed) || !bytes.Contains([]byte(got.Message), []byte("flor: rejected")) {
		t.Fatalf("sync: %+v", got)
	}
	doc := w.until(c, "rejected", func(doc control.StatusDoc) bool { return doc.Workloads[0].State == "rejected" && len(doc.Health) >= 2 })
	if doc.Set.Active != 2 || doc.Set.Mark != 1 || doc.Set.Pending != 2 {
		t.Errorf("set: %+v", doc.Set)
	}
	got = w.sync(c, false, bytes.NewReader(document(w.set(3, workloadOf("flor", behaviour{})))))
	if got.Result != control.Applied {
		t.Errorf("the way out: %+v", got)
	}
}

// SET-4: kept are the active set, one before it, and what a living process was
// given; status tells just these.
func TestSetsInUseAreKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t, workloadOf("flor", behaviour{}), workloadOf("app", behaviour{}))
	c := w.start()
	w.until(c, "all up", settled)
	for version, note := range []string{2: "b", 3: "c", 4: "d", 5: "e"} {
		if note == "" {
			continue
		}
		next := w.set(uint64(version), workloadOf("flor", behaviour{Note: note}), workloadOf("app", behaviour{}))
		if got := w.sync(c, false, bytes.NewReader(document(next))); got.Result != control.Applied {
			t.Fatalf("v%d: %+v", version, got)
		}
	}
	doc := w.until(c, "all up", settled)
	if diff := cmp.Diff([]uint64{1, 4, 5}, doc.Set.Retained); diff != "" {
		t.Error(diff)
	}
	if sets := setsOnDisk(t, w); !slices.Equal(sets, []string{"v1", "v4", "v5"}) {
		t.Errorf("sets on disk: %v", sets)
	}
	if err := c.Restart(t.Context(), "app"); err != nil {
		t.Fatal(err)
	}
	// A spawn for any reason uses the active set (AGT-4.5).
	w.until(c, "app on v5", func(doc control.StatusDoc) bool {
		return settled(doc) && slices.ContainsFunc(doc.Workloads, func(l control.Workload) bool { return l.Name == "app" && l.Set == 5 })
	})
}

// AGT-7: a relay that offers an older set is an event: told in status, counted,
// logged once while it goes on.
func TestARelayThatGoesBackIsAnEvent(t *testing.T) {
	t.Parallel()
	w := newWorld(t, workloadOf("flor", behaviour{}))
	w.relay.publish(1, w.set(1, workloadOf("flor", behaviour{})))
	c := w.start()
	w.until(c, "in contact", func(doc control.StatusDoc) bool { return settled(doc) && !doc.LastContact.IsZero() })
	if got := w.sync(c, false, bytes.NewReader(document(w.set(2, workloadOf("flor", behaviour{}))))); got.Result != control.Applied {
		t.Fatalf("v2: %+v", got)
	}
	doc := w.until(c, "an older offer, twice", func(doc control.StatusDoc) bool { return doc.OlderOffers >= 2 && doc.LastSync.Reason == "replay" })
	if doc.LastSync.Held != 2 || doc.LastSync.Offered != 1 || !strings.Contains(strings.Join(doc.Health, "\n"), "FL1401 replay") {
		t.Errorf("last sync %+v, health %q", doc.LastSync, doc.Health)
	}
	w.log.await(t, "reason=replay")
	if n := w.log.lines("reason=replay"); n != 1 {
		t.Errorf("logged %d times:\n%s", n, w.log.text())
	}
	// The way out: the relay offers what we have.
	w.relay.publish(2, nil)
	w.until(c, "all well", func(doc control.StatusDoc) bool { return len(doc.Health) == 0 })
}
