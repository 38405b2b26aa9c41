package agent

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/florete/flor/supervise/control"
)

func (w *world) mgmt(name string) string {
	return filepath.Join(w.layout.RetesDir(), w.scope, "artifacts/mgmt", name)
}

func (w *world) spoil(name string) {
	w.t.Helper()
	if err := os.WriteFile(w.mgmt(name), []byte("v99\n"), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// onSecond starts an agent that has v1 and runs v2, and gives v2.
func onSecond(t *testing.T) (w *world, c *control.Client, second [][]byte) {
	t.Helper()
	w = newWorld(t, workloadOf("flor", behaviour{}))
	second = w.set(2, workloadOf("flor", behaviour{Note: "two"}))
	c = w.start()
	w.until(c, "up", settled)
	if got := w.sync(c, false, bytes.NewReader(document(second))); got.Result != control.Applied {
		t.Fatalf("sync: %+v", got)
	}
	return w, c, second
}

// SET-5: damage of the active set while it runs is found at the next sync: the
// last known good runs, and the next fetch, without have, mends it.
func TestASyncFindsADamagedSet(t *testing.T) {
	t.Parallel()
	w, c, second := onSecond(t)
	w.spoil("current")
	if err := os.RemoveAll(w.mgmt("sets/v2")); err != nil {
		t.Fatal(err)
	}
	w.sync(c, false, nil)
	doc := w.until(c, "v1 again", func(doc control.StatusDoc) bool { return doc.Set.Active == 1 && settled(doc) })
	if !doc.Set.Recovered || doc.Set.Mark != 2 || !strings.Contains(strings.Join(doc.Health, "\n"), "recovered") {
		t.Errorf("set: %+v, health %q", doc.Set, doc.Health)
	}
	w.relay.until(t, "a fetch without have", func(r *relay) bool { return r.have == 0 })
	w.relay.publish(2, second)
	w.until(c, "v2, mended", func(doc control.StatusDoc) bool {
		return doc.Set.Active == 2 && !doc.Set.Recovered && settled(doc) && len(doc.Health) == 0
	})
}

// SET-5: what was altered on disk is not run at the next spawn: the workload
// comes back on the last known good.
func TestASpawnRunsNothingAltered(t *testing.T) {
	t.Parallel()
	w, c, _ := onSecond(t)
	w.spoil("sets/v2/flor.json")
	if err := c.Restart(t.Context(), "flor"); err != nil {
		t.Fatal(err)
	}
	doc := w.until(c, "flor on v1", func(doc control.StatusDoc) bool {
		return doc.Set.Active == 1 && settled(doc) && doc.Workloads[0].Set == 1
	})
	if !doc.Set.Recovered || doc.Set.Mark != 2 {
		t.Errorf("set: %+v", doc.Set)
	}
}

// SET-5: with no other set a process goes on, no other is spawned from what is
// damaged, and the same set mends it.
func TestADamagedMemberWithoutAnAlternative(t *testing.T) {
	t.Parallel()
	w := newWorld(t, workloadOf("flor", behaviour{}), workloadOf("app", behaviour{}))
	same := w.set(1, workloadOf("flor", behaviour{}), workloadOf("app", behaviour{}))
	c := w.start()
	before := w.until(c, "up", settled)
	w.spoil("sets/v1/app.json")
	w.sync(c, false, nil)
	doc := w.until(c, "the damage", func(doc control.StatusDoc) bool { return doc.Set.Recovered })
	if pids(doc)["app"] != pids(before)["app"] {
		t.Errorf("app was %d, is %d", pids(before)["app"], pids(doc)["app"])
	}
	if err := c.Restart(t.Context(), "app"); err != nil {
		t.Fatal(err)
	}
	doc = w.until(c, "app unverified", func(doc control.StatusDoc) bool { return doc.Workloads[1].State == "unverified" })
	if !strings.Contains(doc.Workloads[1].Reason, "is not the one that was admitted") {
		t.Errorf("app: %+v", doc.Workloads[1])
	}
	w.relay.publish(1, same)
	w.until(c, "mended", func(doc control.StatusDoc) bool { return settled(doc) && len(doc.Health) == 0 })
}

// SET-5: only current is damaged: the active set stays, and all is well once the
// coordinator has none newer.
func TestADamagedCurrentIsWrittenAnew(t *testing.T) {
	t.Parallel()
	w, c, second := onSecond(t)
	w.spoil("current")
	w.relay.publish(2, second)
	w.sync(c, false, nil)
	w.until(c, "v2, well", func(doc control.StatusDoc) bool { return doc.Set.Active == 2 && settled(doc) && len(doc.Health) == 0 })
	if text, err := os.ReadFile(w.mgmt("current")); string(text) != "v2\n" {
		t.Errorf("current: %q, %v", text, err)
	}
}

// SUP-11, SET-5: a swap hands out nothing that is not as it was admitted.
func TestASwapHandsOutNothingAltered(t *testing.T) {
	t.Parallel()
	w, c, _ := onSecond(t)
	f := w.agent.board.read()
	w.spoil("sets/v2/flor.json")
	specs := w.agent.host.specs(f.gen, w.agent.admit.vault.artifact(f.gen))
	if swapped, err := specs[0].Offer(t.Context()); swapped || err == nil {
		t.Errorf("swapped %v, %v", swapped, err)
	}
	w.until(c, "v1 again", func(doc control.StatusDoc) bool { return doc.Set.Active == 1 && settled(doc) })
}

// SET-4: what is nobody's goes at the next sync, also at one that brings nothing.
func TestStrangersGoAtASyncThatBringsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, workloadOf("flor", behaviour{}))
	w.relay.publish(1, w.set(1, workloadOf("flor", behaviour{})))
	c := w.start()
	w.until(c, "all up", settled)
	strangers := []string{"current~", "sets/v9.partial"}
	for _, name := range strangers {
		w.spoil(name)
	}
	if got := w.sync(c, false, nil); got.Result != control.Unchanged {
		t.Fatalf("sync: %+v", got)
	}
	for _, name := range strangers {
		if _, err := os.Lstat(w.mgmt(name)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// AGT-10: one workload whose state directory cannot be made keeps no other from
// running. Status says so, and once it can be made the workload runs.
func TestAStateDirectoryThatCannotBeMade(t *testing.T) {
	t.Parallel()
	w := newWorld(t, workloadOf("flor", behaviour{}), workloadOf("app", behaviour{Mode: "silent"}))
	dir := filepath.Join(w.layout.RetesDir(), w.scope, "workloads/app")
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c := w.start()
	w.until(c, "one that runs and one that is told of", func(doc control.StatusDoc) bool {
		return len(doc.Workloads) == 2 && doc.Workloads[0].State == "up" && doc.Workloads[1].PID == 0 &&
			strings.Contains(strings.Join(doc.Health, "\n"), "the scope cannot be put in order on disk: make the state directory of workload app: ")
	})
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	w.sync(c, false, nil)
	if err := c.Restart(t.Context(), "app"); err != nil {
		t.Fatal(err)
	}
	w.until(c, "both", func(doc control.StatusDoc) bool {
		return settled(doc) && !strings.Contains(strings.Join(doc.Health, "\n"), "in order on disk")
	})
}
