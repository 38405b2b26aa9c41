package supervise_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/florete/flor/supervise"
)

// TestMain lets the test binary be a supervisor that is killed (see
// TestSurvivorsOfAKilledSupervisorAreEnded).
func TestMain(m *testing.M) {
	if dir := os.Getenv("SUPERVISE_TEST_RUNDIR"); dir != "" {
		superviseUntilKilled(dir)
	}
	if manner := os.Getenv(mannerEnv); manner != "" {
		behave(manner)
	}
	if os.Getenv(orderlyEnv) != "" {
		superviseByOrders()
	}
	goleak.VerifyTestMain(m)
}

// patience is how long a test waits for what should happen at once; machines
// are busy at times.
const patience = 30 * time.Second

// quick is a policy whose retries do not make tests wait. Its graces are long
// enough for a busy machine; tests that have to see their end shorten them.
var quick = supervise.Policy{
	MinDelay: 5 * time.Millisecond, MaxDelay: 10 * time.Millisecond, Liveness: 20 * time.Millisecond,
	StopGrace: patience, RestartGrace: patience, LoopAfter: 4, LoopDelay: time.Hour,
}

// shortGrace is for children that do not end when they are told to.
const shortGrace = 200 * time.Millisecond

// sh is a child that runs a shell script.
func sh(name, script string, args ...string) supervise.Spec {
	return supervise.Spec{
		Name: name, Path: "/bin/sh", Args: append([]string{"-c", script, name}, args...),
		Env: []string{"PATH=/usr/bin:/bin"}, Policy: quick,
	}
}

const sleeper = "sleep 1000 & wait"

// run starts a supervisor of specs that ends with the test.
func run(t *testing.T, opts supervise.Options, specs ...supervise.Spec) *supervise.Supervisor {
	t.Helper()
	s := supervise.New(opts)
	if err := s.Apply(t.Context(), specs); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
		if left := s.Status(); len(left) > 0 {
			t.Errorf("left after Run: %+v", left)
		}
	})
	return s
}

// await waits until a child is as wanted, and returns its status.
func await(t *testing.T, s *supervise.Supervisor, name string, wanted func(supervise.Status) bool) supervise.Status {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var all []supervise.Status
	for all = range s.Watch(ctx) {
		for _, st := range all {
			if st.Name == name && wanted(st) {
				return st
			}
		}
	}
	t.Fatalf("%s never became as wanted, last: %+v", name, all)
	return supervise.Status{}
}

func is(state supervise.State) func(supervise.Status) bool {
	return func(st supervise.Status) bool { return st.State == state }
}

// awaitText waits until a file has a line of text, and returns the text.
func awaitText(t *testing.T, path string) string {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		if text, _ := os.ReadFile(path); strings.HasSuffix(string(text), "\n") {
			return strings.TrimSpace(string(text))
		}
	}
	t.Fatalf("%s was never written", path)
	return ""
}

// whenReady is the command with which a script says that its traps are set;
// awaitReady waits until the process of a status has said so.
func whenReady(dir string) string { return "echo >" + dir + "/ready-$$" }

func awaitReady(t *testing.T, dir string, st supervise.Status) {
	t.Helper()
	awaitText(t, filepath.Join(dir, fmt.Sprintf("ready-%d", st.PID)))
}

// awaitGone waits until no process has a pid any more.
func awaitGone(t *testing.T, pid int) {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		if !alive(pid) {
			return
		}
	}
	t.Errorf("process %d is still there", pid)
}

func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || !strings.Contains(string(stat), ") Z ")
}

func mustAtoi(t *testing.T, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestAChildThatIsKilledComesBack(t *testing.T) {
	t.Parallel()
	s := run(t, supervise.Options{}, sh("a", sleeper))
	first := await(t, s, "a", is(supervise.Up))
	if err := syscall.Kill(first.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	second := await(t, s, "a", func(st supervise.Status) bool { return st.Restarts == 1 && st.State == supervise.Up })
	if second.PID == first.PID || second.LastExit.Signal != "killed" || second.LastExit.Told {
		t.Errorf("after the kill: %+v, last exit %+v", second, second.LastExit)
	}
}

// SUP-3.
func TestExitCodesDecideWhatComesNext(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, script string
		want         supervise.State
		verdict      supervise.Verdict
		code         int
	}{
		{"78 is rejected at once", "exit 78", supervise.Rejected, supervise.VerdictRejected, 78},
		{"1 becomes a crash loop", "exit 1", supervise.CrashLooping, supervise.VerdictCrash, 1},
		{"0 without having been told to stop is a crash", "exit 0", supervise.CrashLooping, supervise.VerdictCrash, 0},
		{"a signal is a crash", "kill -SEGV $$", supervise.CrashLooping, supervise.VerdictCrash, -1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := run(t, supervise.Options{}, sh("a", tt.script))
			st := await(t, s, "a", is(tt.want))
			if st.LastExit.Code != tt.code || st.LastExit.Verdict != tt.verdict || st.PID != 0 {
				t.Errorf("got %+v, last exit %+v", st, st.LastExit)
			}
		})
	}
}

// SUP-6.
func TestExit69IsRetriedAndNeverACrashLoop(t *testing.T) {
	t.Parallel()
	var causes sync.Map
	s := run(t, supervise.Options{OnRestart: func(_ string, c supervise.Cause) { causes.Store(c, true) }}, sh("a", "exit 69"))
	st := await(t, s, "a", func(st supervise.Status) bool { return st.Restarts >= 8 })
	if st.State == supervise.CrashLooping {
		t.Errorf("exit 69 counted as a crash: %+v", st)
	}
	if _, ok := causes.Load(supervise.CauseUnavailable); !ok {
		t.Error("no restart was counted as unavailable")
	}
}

func TestAnExecutableThatIsMissingIsAFailureWithItsReason(t *testing.T) {
	t.Parallel()
	missing := filepath.Join(t.TempDir(), "flor-vertex")
	s := run(t, supervise.Options{}, supervise.Spec{Name: "a", Path: missing, Policy: quick})
	st := await(t, s, "a", is(supervise.CrashLooping))
	if !strings.Contains(st.Reason, "FL2305 spawn-failed") || !strings.Contains(st.Reason, missing) {
		t.Errorf("reason %q", st.Reason)
	}
}

// OBS-1: a sink that is missing when a child is spawned is that child's 69.
func TestALogSinkThatIsMissingIsRetriedAsUnavailable(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "out")
	tries := 0
	spec := sh("a", "echo here; "+sleeper)
	spec.OpenOut = func() (*os.File, error) {
		if tries++; tries < 7 {
			return nil, errors.New("no daemon")
		}
		return os.Create(out)
	}
	s := run(t, supervise.Options{}, spec)
	if got := awaitText(t, out); got != "here" {
		t.Errorf("output %q", got)
	}
	if st := await(t, s, "a", is(supervise.Up)); st.LastExit.Verdict != supervise.VerdictUnavailable || st.Restarts != 6 {
		t.Errorf("status %+v, last exit %+v", st, st.LastExit)
	}
}

// SUP-1, SUP-2: the child's world is what the spec says and nothing else. The
// test opens a descriptor without close-on-exec, as if it had inherited it. The
// script looks at itself without a pipe, whose ends the shell would hold.
func TestAChildGetsItsSpecAndNothingElse(t *testing.T) {
	if _, err := os.Stat("/proc/self/fd"); err != nil {
		t.Skip("no /proc here to look into a process from outside")
	}
	t.Setenv("LEAKED", "yes")
	fd, err := syscall.Open("/dev/null", syscall.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(fd) })
	dir := t.TempDir()
	out, err := os.Create(filepath.Join(dir, "out"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { out.Close() })
	script := `readlink /proc/$$/fd/0; ls -m /proc/$$/fd; tr '\0' ' ' </proc/$$/environ; echo
		cut -d' ' -f5 /proc/$$/stat | grep -qx $$ && echo leader; pwd; echo err >&2; echo >` + dir + `/done; ` + sleeper
	spec := sh("a", script)
	spec.Env, spec.Dir, spec.Out = []string{"ONLY=this", "PATH=/usr/bin:/bin"}, "/", out
	run(t, supervise.Options{}, spec)
	awaitText(t, filepath.Join(dir, "done"))
	got, err := os.ReadFile(out.Name())
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(got)), "\n")
	want := []string{"/dev/null", "0, 1, 2", "ONLY=this PATH=/usr/bin:/bin", "leader", "/", "err"}
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("the child's world (-want +got):\n%s", diff)
	}
}

func TestNilEnvironmentIsEmpty(t *testing.T) {
	t.Setenv("LEAKED", "yes")
	path := filepath.Join(t.TempDir(), "out")
	spec := sh("a", `echo "[$LEAKED]" >`+path+`; while :; do read x </dev/null; done`)
	spec.Env = nil
	run(t, supervise.Options{}, spec)
	if got := awaitText(t, path); got != "[]" {
		t.Errorf("LEAKED is %s in the child", got)
	}
}

// SUP-4: SIGKILL after the grace, to the whole group.
func TestAChildThatIgnoresSIGTERMIsKilledWithItsGroup(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pid")
	spec := sh("a", `trap "" TERM; sleep 1000 & echo $! >`+path+`; while :; do wait; done`)
	spec.Policy.StopGrace = shortGrace
	s := run(t, supervise.Options{}, spec)
	helper := mustAtoi(t, awaitText(t, path))
	st := await(t, s, "a", is(supervise.Up))
	begun := time.Now()
	if err := s.Apply(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	// SUP-8: while it lasts, status says which pid holds it and since when.
	if held := await(t, s, "a", is(supervise.Stopping)); held.PID != st.PID || held.Since.Before(begun) {
		t.Errorf("a stop that lasts shows %+v", held)
	}
	awaitGone(t, st.PID)
	awaitGone(t, helper)
	if took := time.Since(begun); took < shortGrace {
		t.Errorf("killed after %v, before its grace of %v", took, shortGrace)
	}
}

// SUP-5, as far as process groups go.
func TestWhatAChildLeavesInItsGroupEndsWithIt(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pid")
	s := run(t, supervise.Options{}, sh("a", `sleep 1000 & echo $! >`+path+`; exit 78`))
	helper := mustAtoi(t, awaitText(t, path))
	await(t, s, "a", is(supervise.Rejected))
	awaitGone(t, helper)
}

// SUP-4: the new process finds that the old one and its group are gone.
func TestARestartSpawnsOnlyAfterTheOldProcessIsReaped(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	script := `trap 'rmdir ` + dir + `/held; exit 0' TERM
		mkdir ` + dir + `/held || echo two at once >` + dir + `/clash
		` + whenReady(dir) + `; while :; do sleep 0.01; done`
	s := run(t, supervise.Options{}, sh("a", script))
	awaitReady(t, dir, await(t, s, "a", is(supervise.Up)))
	for n := 1; n <= 3; n++ {
		if err := s.Restart("a"); err != nil {
			t.Fatal(err)
		}
		st := await(t, s, "a", func(st supervise.Status) bool { return st.Restarts == n && st.State == supervise.Up })
		awaitReady(t, dir, st)
		if !st.LastExit.Told || st.LastExit.Code != 0 {
			t.Errorf("restart %d: last exit %+v", n, st.LastExit)
		}
	}
	if text, err := os.ReadFile(filepath.Join(dir, "clash")); err == nil {
		t.Error(string(text))
	}
}

// SUP-4: drained before the SIGTERM of a restart, not of a stop.
func TestARestartDrainsFirst(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	spec := sh("a", `trap 'test -e `+dir+`/drained && exit 0; exit 9' TERM; `+whenReady(dir)+`; while :; do sleep 0.01; done`)
	drains := 0
	spec.Drain = func(ctx context.Context) error {
		drains++
		if deadline, ok := ctx.Deadline(); !ok || time.Until(deadline) > quick.RestartGrace {
			t.Errorf("drain has until %v", deadline)
		}
		return os.WriteFile(filepath.Join(dir, "drained"), nil, 0o600)
	}
	s := run(t, supervise.Options{}, spec)
	awaitReady(t, dir, await(t, s, "a", is(supervise.Up)))
	if err := s.Restart("a"); err != nil {
		t.Fatal(err)
	}
	st := await(t, s, "a", func(st supervise.Status) bool { return st.Restarts == 1 && st.State == supervise.Up })
	if st.LastExit.Code != 0 {
		t.Errorf("last exit %+v: SIGTERM came before the drain", st.LastExit)
	}
	if err := s.Apply(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	awaitGone(t, st.PID)
	if drains != 1 {
		t.Errorf("drained %d times, want once", drains)
	}
}

func TestADrainThatHangsDoesNotHoldTheRestart(t *testing.T) {
	t.Parallel()
	spec := sh("a", sleeper)
	spec.Policy.RestartGrace = shortGrace
	spec.Drain = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	s := run(t, supervise.Options{}, spec)
	await(t, s, "a", is(supervise.Up))
	if err := s.Restart("a"); err != nil {
		t.Fatal(err)
	}
	await(t, s, "a", func(st supervise.Status) bool { return st.Restarts == 1 && st.State == supervise.Up })
}

func TestRejectedComesBackOnRestartAndOnANewRevision(t *testing.T) {
	t.Parallel()
	ok := filepath.Join(t.TempDir(), "ok")
	spec := sh("a", `test -e `+ok+` || exit 78; `+sleeper)
	spec.Revision = "1"
	s := run(t, supervise.Options{}, spec)
	await(t, s, "a", is(supervise.Rejected))
	if err := s.Restart("a"); err != nil {
		t.Fatal(err)
	}
	await(t, s, "a", func(st supervise.Status) bool { return st.State == supervise.Rejected && st.Restarts == 1 })
	if err := os.WriteFile(ok, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	spec.Revision = "2"
	if err := s.Apply(t.Context(), []supervise.Spec{spec}); err != nil {
		t.Fatal(err)
	}
	await(t, s, "a", is(supervise.Up))
}

// SUP-11, from the side of the supervisor.
func TestAChangeIsOfferedBeforeItRestarts(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		swapped bool
		err     error
		want    supervise.Status
	}{
		{"taken over", true, nil, supervise.Status{Tag: "v2", Swapped: true}},
		{"not taken over", false, nil, supervise.Status{Tag: "v2", Restarts: 1}},
		{"an error means restart", true, errors.New("no answer"), supervise.Status{Tag: "v2", Restarts: 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			spec := sh("a", sleeper)
			spec.Revision, spec.Tag = "1", "v1"
			s := run(t, supervise.Options{}, spec)
			before := await(t, s, "a", is(supervise.Up))
			spec.Revision, spec.Tag = "2", "v2"
			spec.Offer = func(context.Context) (bool, error) { return tt.swapped, tt.err }
			if err := s.Apply(t.Context(), []supervise.Spec{spec}); err != nil {
				t.Fatal(err)
			}
			st := await(t, s, "a", func(st supervise.Status) bool { return st.State == supervise.Up && st.Tag == "v2" })
			got := supervise.Status{Tag: st.Tag, Swapped: st.Swapped, Restarts: st.Restarts}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if tt.want.Swapped != (st.PID == before.PID) {
				t.Errorf("pid %d, before %d", st.PID, before.PID)
			}
		})
	}
}

func TestTheSameRevisionLeavesTheProcessAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	spec := sh("a", `echo "$V" >`+dir+`/$V; `+sleeper)
	spec.Revision, spec.Tag, spec.Env = "1", "v1", []string{"V=v1", "PATH=/usr/bin:/bin"}
	s := run(t, supervise.Options{}, spec)
	before := await(t, s, "a", is(supervise.Up))
	spec.Tag, spec.Env = "v2", []string{"V=v2", "PATH=/usr/bin:/bin"}
	if err := s.Apply(t.Context(), []supervise.Spec{spec}); err != nil {
		t.Fatal(err)
	}
	if st := s.Status()[0]; st.PID != before.PID || st.Tag != "v1" {
		t.Errorf("it runs as %+v, before %+v", st, before)
	}
	// A spawn for any reason uses the newest spec.
	if err := syscall.Kill(before.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	awaitText(t, filepath.Join(dir, "v2"))
	await(t, s, "a", func(st supervise.Status) bool { return st.Tag == "v2" })
}

// SUP-10: the caller may keep its list, change it and apply it again.
func TestAListThatIsChangedInPlaceIsAChange(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	specs := []supervise.Spec{sh("a", `echo >`+dir+`/$V; `+sleeper)}
	specs[0].Env = []string{"V=v1", "PATH=/usr/bin:/bin"}
	s := run(t, supervise.Options{}, specs...)
	awaitText(t, filepath.Join(dir, "v1"))
	specs[0].Env[0] = "V=v2"
	if err := s.Apply(t.Context(), specs); err != nil {
		t.Fatal(err)
	}
	awaitText(t, filepath.Join(dir, "v2"))
}

// SUP-7: a refusal of the caller is a state, not a crash.
func TestARefusedSpecIsNotSpawned(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	spec := sh("a", "touch "+dir+"/ran; "+sleeper)
	spec.Refused = "FL1003 bad-signature"
	s := run(t, supervise.Options{}, spec)
	st := await(t, s, "a", is(supervise.Unverified))
	if st.Reason != spec.Refused {
		t.Errorf("reason %q", st.Reason)
	}
	if err := s.Restart("a"); err == nil {
		t.Error("a restart started what may not run")
	}
	if _, err := os.Stat(filepath.Join(dir, "ran")); err == nil {
		t.Error("it was spawned")
	}
	spec.Refused = ""
	if err := s.Apply(t.Context(), []supervise.Spec{spec}); err != nil {
		t.Fatal(err)
	}
	await(t, s, "a", is(supervise.Up))
}

// SET-5: what a child would run on is checked before each spawn, and a check
// that fails is a state, not a crash; a restart checks again.
func TestEachSpawnIsCheckedFirst(t *testing.T) {
	t.Parallel()
	var damaged atomic.Bool
	spec := sh("a", sleeper)
	spec.Check = func() error {
		if damaged.Load() {
			return errors.New("its artifact was altered")
		}
		return nil
	}
	s := run(t, supervise.Options{}, spec)
	before := await(t, s, "a", is(supervise.Up))
	damaged.Store(true)
	if err := syscall.Kill(before.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	st := await(t, s, "a", is(supervise.Unverified))
	if st.Reason != "its artifact was altered" || st.PID != 0 || !st.NextTry.IsZero() {
		t.Errorf("status: %+v", st)
	}
	damaged.Store(false)
	if err := s.Restart("a"); err != nil {
		t.Fatal(err)
	}
	await(t, s, "a", is(supervise.Up))
}

// SUP-8.
func TestStartInListOrderStopInReverse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "log")
	var specs []supervise.Spec
	for _, name := range []string{"a", "b", "c"} {
		specs = append(specs, sh(name, `trap 'sleep 0.03; echo $0 >>`+path+`; exit 0' TERM; `+whenReady(dir)+`; while :; do sleep 0.01; done`))
	}
	s := supervise.New(supervise.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	if err := s.Apply(ctx, specs); err != nil {
		t.Fatal(err)
	}
	for _, spec := range specs {
		awaitReady(t, dir, await(t, s, spec.Name, is(supervise.Up)))
	}
	var order []string
	for _, st := range s.Status() {
		order = append(order, st.Name)
	}
	if !slices.Equal(order, []string{"a", "b", "c"}) {
		t.Errorf("status in the order %v", order)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Fields(string(text)); !slices.Equal(got, []string{"c", "b", "a"}) {
		t.Errorf("stopped in the order %v", got)
	}
}

func TestASlowWatcherDelaysNobody(t *testing.T) {
	t.Parallel()
	s := run(t, supervise.Options{}, sh("a", sleeper))
	await(t, s, "a", is(supervise.Up))
	for range s.Watch(t.Context()) {
		// This consumer is stuck in its first value while all of this happens.
		for n := 1; n <= 5; n++ {
			if err := s.Restart("a"); err != nil {
				t.Fatal(err)
			}
			await(t, s, "a", func(st supervise.Status) bool { return st.Restarts == n })
		}
		break
	}
}

func TestListsThatCannotBeSupervisedAreRefused(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		specs []supervise.Spec
		want  string
	}{
		{"no name", []supervise.Spec{{Path: "/bin/sh"}}, "name"},
		{"a slash in the name", []supervise.Spec{{Name: "a/b", Path: "/bin/sh"}}, "name"},
		{"a newline in the name", []supervise.Spec{{Name: "a\nb", Path: "/bin/sh"}}, "name"},
		{"the same name twice", []supervise.Spec{sh("a", "x"), sh("a", "y")}, "two specs"},
		{"a marker that is not in the environment", []supervise.Spec{{Name: "a", Path: "/bin/sh", Marker: "K=v"}}, "marker"},
		{"a marker without a key", []supervise.Spec{{Name: "a", Path: "/bin/sh", Marker: "K", Env: []string{"K"}}}, "marker"},
		{"the same marker twice", []supervise.Spec{
			{Name: "a", Path: "/bin/sh", Marker: "K=v", Env: []string{"K=v"}},
			{Name: "b", Path: "/bin/sh", Marker: "K=v", Env: []string{"K=v"}},
		}, "marker"},
		{"an executable by bare name", []supervise.Spec{{Name: "a", Path: "sh"}}, "absolute"},
		{"a NUL in the environment", []supervise.Spec{{Name: "a", Path: "/bin/sh", Env: []string{"K=\x00"}}}, "NUL"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := supervise.New(supervise.Options{}).Apply(t.Context(), tt.specs)
			var refusal *supervise.Error
			if !errors.As(err, &refusal) || refusal.Code() != "FL2301" || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// SUP-9: without a place for its record a supervisor would spawn nothing.
func TestARunDirectoryThatIsNotThereIsRefused(t *testing.T) {
	t.Parallel()
	for name, dir := range map[string]string{"absent": filepath.Join(t.TempDir(), "no"), "a file": os.Args[0]} {
		err := supervise.New(supervise.Options{RunDir: dir}).Run(t.Context())
		var refusal *supervise.Error
		if !errors.As(err, &refusal) || refusal.Code() != "FL2302" || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestASupervisorRunsOnce(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := supervise.New(supervise.Options{})
	if err := s.Run(ctx); err != nil {
		t.Fatal(err)
	}
	var refusal *supervise.Error
	if err := s.Run(ctx); !errors.As(err, &refusal) || refusal.Code() != "FL2304" {
		t.Errorf("a second Run: %v", err)
	}
	if err := s.Apply(ctx, nil); !errors.As(err, &refusal) || refusal.Code() != "FL2304" {
		t.Errorf("Apply after Run: %v", err)
	}
	if err := s.Restart("a"); !errors.As(err, &refusal) || refusal.Code() != "FL2303" {
		t.Errorf("Restart of nothing: %v", err)
	}
}

// recordedChild is the form of children.json, written down a second time.
type recordedChild struct {
	Name       string `json:"name"`
	PID        int    `json:"pid"`
	StartTicks uint64 `json:"start_ticks"`
	BootID     string `json:"boot_id"`
}

type recordedChildren struct {
	SchemaVersion string          `json:"schema_version"`
	Children      []recordedChild `json:"children"`
	Marks         []recordedMark  `json:"marks,omitempty"`
}

type recordedMark struct {
	Name   string `json:"name"`
	BootID string `json:"boot_id"`
	Marker string `json:"marker,omitempty"`
	Cgroup string `json:"cgroup,omitempty"`
}

func readChildren(t *testing.T, dir string) recordedChildren {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "children.json"))
	if err != nil {
		t.Fatal(err)
	}
	var doc recordedChildren
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return doc
}

func writeChildren(t *testing.T, dir string, doc recordedChildren) {
	t.Helper()
	text, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "children.json"), text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// SUP-2.
func TestChildrenAreRecordedWhileTheyRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := run(t, supervise.Options{RunDir: dir}, sh("a", sleeper), sh("b", "exit 78"))
	st := await(t, s, "a", is(supervise.Up))
	await(t, s, "b", is(supervise.Rejected))
	doc := readChildren(t, dir)
	if doc.SchemaVersion != "1.0" || len(doc.Children) != 1 {
		t.Fatalf("record %+v", doc)
	}
	if c := doc.Children[0]; c.Name != "a" || c.PID != st.PID || c.StartTicks == 0 || c.BootID == "" {
		t.Errorf("record of a: %+v, pid is %d", c, st.PID)
	}
}
