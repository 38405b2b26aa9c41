package agent

import (
	"bytes"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/florete/flor/store"
	"github.com/florete/flor/supervise/control"
	"github.com/florete/flor/supervise/program"
)

// AGT-1: one agent per scope; the second names the holder.
func TestASecondAgentNamesTheHolder(t *testing.T) {
	t.Parallel()
	w := newWorld(t, workloadOf("flor", behaviour{}))
	c := w.start()
	w.until(c, "all up", settled)
	options := w.options()
	options.Layout.RuntimeBase = shortDir(t) // as with another XDG_RUNTIME_DIR
	second, err := New(options)
	if err != nil {
		t.Fatal(err)
	}
	err = second.Run(t.Context())
	held, ok := errors.AsType[*store.HeldError](err)
	if !ok || held.PID != os.Getpid() {
		t.Errorf("second agent: %v", err)
	}
	if code := program.ExitCode(err); code != 1 {
		t.Errorf("exit code %d: the holder may end, so it is not 78", code)
	}
	w.until(c, "the first is unharmed", settled)
}

// AGT-1: a clean stop leaves nothing in the runtime base, and an unclean one
// that came before is cleared.
func TestTheRuntimeRootIsMadeAndRemoved(t *testing.T) {
	t.Parallel()
	w := newWorld(t, workloadOf("flor", behaviour{}))
	root, err := w.layout.MakeRuntimeRoot(w.scope)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"agent.sock", "gone.sock"} {
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(root, name), Net: "unix"})
		if err != nil {
			t.Fatal(err)
		}
		l.SetUnlinkOnClose(false)
		l.Close()
	}
	c := w.start()
	w.until(c, "all up", settled)
	info, err := os.Stat(filepath.Join(root, "agent.sock"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("agent.sock: %v %v, want 0600 in user mode", info.Mode(), err)
	}
	if _, err := os.Lstat(filepath.Join(root, "gone.sock")); !os.IsNotExist(err) {
		t.Errorf("a stale socket is still there: %v", err)
	}
	if err := w.stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(root); !os.IsNotExist(err) {
		entries, _ := os.ReadDir(root)
		t.Errorf("the runtime root is still there: %v %v", err, entries)
	}
}

// SET-1: a path that is too long for a socket is refused before anything is
// touched, with path, length and limit.
func TestARuntimePathThatIsTooLong(t *testing.T) {
	t.Parallel()
	w := newWorld(t, workloadOf("flor", behaviour{}))
	options := w.options()
	options.Layout.RuntimeBase = filepath.Join(shortDir(t), strings.Repeat("x", 100))
	agent, err := New(options)
	if err != nil {
		t.Fatal(err)
	}
	err = agent.Run(t.Context())
	if codeOf(err) != "FL2003" || program.ExitCode(err) != 78 {
		t.Errorf("run: %v (exit %d)", err, program.ExitCode(err))
	}
	if _, err := os.Lstat(options.Layout.RuntimeBase); !os.IsNotExist(err) {
		t.Errorf("the runtime base was made: %v", err)
	}
}

// SUP-2: a lib directory without the program is told plainly, and mended without
// a visit.
func TestALibDirectoryWithoutTheProgram(t *testing.T) {
	t.Parallel()
	w := newWorld(t, workloadOf("flor", behaviour{}))
	w.layout.Lib = libDir(t, "flor-coordinator")
	c := w.start()
	words := "flor-vertex is not in " + w.layout.Lib
	doc := w.until(c, "a reason", func(doc control.StatusDoc) bool {
		return len(doc.Workloads) == 1 && doc.Workloads[0].State != "up" && doc.Workloads[0].Reason != "" && strings.Contains(strings.Join(doc.Health, "\n"), "flor")
	})
	if !strings.Contains(doc.Workloads[0].Reason, words) || !strings.Contains(strings.Join(doc.Health, "\n"), words) {
		t.Errorf("reason %q, health %q: want %q", doc.Workloads[0].Reason, doc.Health, words)
	}
	got := w.sync(c, false, bytes.NewReader(document(w.set(2, workloadOf("flor", behaviour{Note: "x"})))))
	if got.Result != control.Refused || got.Reason != string(Unservable) || !strings.Contains(got.Message, words) {
		t.Errorf("sync: %+v", got)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(w.layout.Lib, "flor-vertex")); err != nil {
		t.Fatal(err)
	}
	if err := c.Restart(t.Context(), "flor"); err != nil {
		t.Fatal(err)
	}
	w.until(c, "up", settled)
}

// A restart of what is not there is refused.
func TestRestartNamesAWorkloadOfTheActiveSet(t *testing.T) {
	t.Parallel()
	w := newWorld(t, workloadOf("flor", behaviour{}))
	c := w.start()
	before := w.until(c, "all up", settled)
	if err := c.Restart(t.Context(), "nobody"); codeOf(err) != "FL3305" {
		t.Errorf("restart: %v", err)
	}
	if err := c.Restart(t.Context(), "flor"); err != nil {
		t.Fatal(err)
	}
	w.until(c, "another process", func(doc control.StatusDoc) bool {
		return settled(doc) && pids(doc)["flor"] != pids(before)["flor"]
	})
}

// SET-6: without its state an agent runs what it has and admits nothing.
func TestALostTrustState(t *testing.T) {
	t.Parallel()
	w := newWorld(t, workloadOf("flor", behaviour{}))
	if err := os.Remove(filepath.Join(w.layout.RetesDir(), w.scope, "agent/state.json")); err != nil {
		t.Fatal(err)
	}
	c := w.start()
	doc := w.until(c, "up", settled)
	if !doc.Set.TrustStateLost || !strings.HasPrefix(strings.Join(doc.Health, "\n"), "trust-state-lost") {
		t.Errorf("status: %+v %q", doc.Set, doc.Health)
	}
	got := w.sync(c, false, bytes.NewReader(document(w.set(2, workloadOf("flor", behaviour{})))))
	if got.Result != control.Refused || got.Reason != "trust-state-lost" || !strings.Contains(got.Message, "flor enroll") {
		t.Errorf("sync: %+v", got)
	}
	if n := w.relay.count(); n != 0 {
		t.Errorf("%d fetches of what cannot be admitted", n)
	}
}

// SET-5: a damaged active set gives way to the last known good, and the next
// fetch, without have, brings it back.
func TestADamagedSetIsRecovered(t *testing.T) {
	t.Parallel()
	w := newWorld(t, workloadOf("flor", behaviour{}))
	second := w.set(2, workloadOf("flor", behaviour{Note: "two"}))
	c := w.start()
	w.until(c, "up", settled)
	if got := w.sync(c, false, bytes.NewReader(document(second))); got.Result != control.Applied {
		t.Fatalf("sync: %+v", got)
	}
	if err := w.stop(); err != nil {
		t.Fatal(err)
	}
	damaged := filepath.Join(w.layout.RetesDir(), w.scope, "artifacts/mgmt/sets/v2/flor.json")
	if err := os.WriteFile(damaged, make([]byte, 100), 0o600); err != nil {
		t.Fatal(err)
	}
	w.relay.tell(func(r *relay) { r.fetches = 0 })
	c = w.start()
	doc := w.until(c, "recovered", func(doc control.StatusDoc) bool { return settled(doc) })
	if !doc.Set.Recovered || doc.Set.Active != 1 || doc.Set.Mark != 2 || len(doc.Health) == 0 {
		t.Errorf("set: %+v, health %q", doc.Set, doc.Health)
	}
	w.relay.until(t, "a fetch without have", func(r *relay) bool { return r.fetches > 0 && r.have == 0 })
	w.relay.publish(2, second)
	doc = w.until(c, "v2 again", func(doc control.StatusDoc) bool { return doc.Set.Active == 2 && settled(doc) })
	if doc.Set.Recovered || doc.Set.Mark != 2 {
		t.Errorf("set: %+v", doc.Set)
	}
}

// SET-5: with no other set, the members that verify run and the others are
// unverified, which is neither rejected nor crashed (SUP-7); a newer set mends it.
func TestAPartialSetRunsWhatVerifies(t *testing.T) {
	t.Parallel()
	w := newWorld(t, workloadOf("flor", behaviour{}), workloadOf("app", behaviour{}))
	damaged := filepath.Join(w.layout.RetesDir(), w.scope, "artifacts/mgmt/sets/v1/app.json")
	if err := os.WriteFile(damaged, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := w.start()
	doc := w.until(c, "flor up, app not", func(doc control.StatusDoc) bool {
		return len(doc.Workloads) == 2 && doc.Workloads[0].State == "up" && doc.Workloads[1].State == "unverified"
	})
	if doc.Workloads[1].Reason == "" || !strings.Contains(strings.Join(doc.Health, "\n"), "app: unverified") {
		t.Errorf("app: %+v, health %q", doc.Workloads[1], doc.Health)
	}
	got := w.sync(c, false, bytes.NewReader(document(w.set(2, workloadOf("flor", behaviour{}), workloadOf("app", behaviour{})))))
	want := []control.Change{{Name: "app", Action: "start"}}
	if diff := cmp.Diff(want, got.Workloads); got.Result != control.Applied || diff != "" {
		t.Errorf("sync: %+v %s", got, diff)
	}
	w.until(c, "all up", settled)
}

// SET-5: the active set without a predecessor is mended by the same set: what
// was damaged starts, what ran goes on.
func TestADamagedSetWithoutAPredecessorIsMended(t *testing.T) {
	t.Parallel()
	w := newWorld(t, workloadOf("flor", behaviour{}), workloadOf("app", behaviour{}))
	same := w.set(1, workloadOf("flor", behaviour{}), workloadOf("app", behaviour{}))
	damaged := filepath.Join(w.layout.RetesDir(), w.scope, "artifacts/mgmt/sets/v1/app.json")
	whole, err := os.ReadFile(damaged)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(damaged, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := w.start()
	before := w.until(c, "flor up, app not", func(doc control.StatusDoc) bool {
		return len(doc.Workloads) == 2 && doc.Workloads[0].State == "up" && doc.Workloads[1].State == "unverified"
	})
	w.relay.publish(1, same)
	after := w.until(c, "all up", settled)
	if text, err := os.ReadFile(damaged); err != nil || !bytes.Equal(text, whole) {
		t.Errorf("the member on disk: %v\n%s", err, text)
	}
	if pids(before)["flor"] != pids(after)["flor"] || after.Set.Active != 1 || after.Set.Mark != 1 {
		t.Errorf("flor was %d, is %d; set %+v", pids(before)["flor"], pids(after)["flor"], after.Set)
	}
	w.until(c, "all well", func(doc control.StatusDoc) bool { return len(doc.Health) == 0 })
}

// SET-5: nothing usable is exit 78 and names the remedy.
func TestAScopeWithNothingUsable(t *testing.T) {
	t.Parallel()
	w := newWorld(t, workloadOf("flor", behaviour{}))
	if err := os.RemoveAll(filepath.Join(w.layout.RetesDir(), w.scope, "artifacts/mgmt/sets/v1")); err != nil {
		t.Fatal(err)
	}
	agent, err := New(w.options())
	if err != nil {
		t.Fatal(err)
	}
	err = agent.Run(t.Context())
	if program.ExitCode(err) != 78 || !strings.Contains(err.Error(), "flor enroll") {
		t.Errorf("run: %v (exit %d)", err, program.ExitCode(err))
	}
	if _, err := os.Lstat(filepath.Join(w.layout.RuntimeBase, w.scope)); !os.IsNotExist(err) {
		t.Errorf("the runtime root was left: %v", err)
	}
}

// OBS-1: a destination that does not answer is exit 69, one of the wrong sort 78.
func TestLogDestinations(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	stream, err := net.Listen("unix", filepath.Join(dir, "stream"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stream.Close() })
	tests := []struct {
		name, destination string
		code              int
	}{
		{"nothing there", "unix:" + dir + "/absent", 69},
		{"a stream socket", "unix:" + dir + "/stream", 78},
		{"not a destination", "tcp:127.0.0.1:514", 78},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := New(Options{Scope: "demo", LogDestination: tt.destination})
			if program.ExitCode(err) != tt.code || !strings.Contains(err.Error(), strings.TrimPrefix(tt.destination, "unix:")) {
				t.Errorf("New: %v (exit %d), want exit %d", err, program.ExitCode(err), tt.code)
			}
		})
	}
}

// A negative time is a mistake of whoever embeds an agent, and names the option.
func TestATimeThatIsNoneIsRefused(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string]Options{
		"Stall":         {Stall: -time.Second},
		"FetchWithin":   {FetchWithin: -time.Second},
		"ConfirmWithin": {ConfirmWithin: -1},
	} {
		opts.LogStderr = true
		a, err := New(opts)
		if a != nil || err == nil || program.ExitCode(err) != 78 || !strings.Contains(err.Error(), name+" is -") {
			t.Errorf("%s: %v (exit %d)", name, err, program.ExitCode(err))
		}
	}
}

// OBS-4: what repeats is logged once, and its end once.
func TestTroubleIsLoggedAtItsEdges(t *testing.T) {
	t.Parallel()
	w := newWorld(t, workloadOf("flor", behaviour{}))
	c := w.start()
	w.relay.tell(func(r *relay) { r.status = 404 })
	w.relay.untilFetched(t, 4)
	w.until(c, "all up", settled)
	w.relay.publish(1, nil)
	w.until(c, "in contact", func(doc control.StatusDoc) bool { return len(doc.Health) == 0 })
	w.log.await(t, "coordinator in contact again")
	if n := w.log.lines("coordinator gives no set"); n == 0 || n > 3 {
		t.Errorf("the trouble was logged %d times:\n%s", n, w.log.text())
	}
	if n := w.log.lines("coordinator in contact again"); n != 1 {
		t.Errorf("its end was logged %d times:\n%s", n, w.log.text())
	}
}
