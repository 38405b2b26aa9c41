package supervise_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/florete/flor/supervise"
)

// leavings are what children do before they end, with a helper that says its
// pid in $D/pid. waits tells that the child first sees it said.
var leavings = []struct {
	name, script string
	atOnce       bool
	// cleared: the helper has no environment.
	cleared bool
}{
	{name: "a fork", script: `sh -c 'echo $$ >$D/pid; exec sleep 1000' &`},
	{name: "setsid", script: `setsid sh -c 'echo $$ >$D/pid; exec sleep 1000' &`},
	{name: "a double fork", script: `(setsid sh -c 'echo $$ >$D/pid; exec sleep 1000' &)`},
	{name: "a tree of sessions", script: `setsid sh -c 'setsid sh -c "setsid sleep 1000 & wait" & echo $$ >$D/pid; wait' &`},
	{name: "deaf to SIGTERM and SIGHUP", script: `setsid sh -c 'trap "" TERM HUP INT; echo $$ >$D/pid; while :; do sleep 1000; done' &`},
	{name: "fork and die at once", script: `setsid sh -c 'setsid sleep 1000 & sleep 1000' & exit 78`, atOnce: true},
	{name: "writing without end to fd 2", script: `setsid sh -c 'echo $$ >$D/pid; while :; do echo noise >&2; done' &`},
	{name: "forking without end", script: `setsid sh -c 'echo $$ >$D/pid; while :; do setsid sleep 1 & sleep 0.002; done' &`},
	{name: "clearing the environment below one who has it", script: `setsid sh -c 'env -i sleep 1000 & echo $! >$D/pid; wait' &`},
	{name: "clearing the environment in the group", script: `env -i D=$D sh -c 'setsid sleep 1000 & echo $! >$D/pid; wait' &`},
	{name: "clearing its environment", script: `env -i D=$D setsid sh -c 'echo $$ >$D/pid; exec sleep 1000' &`, cleared: true},
}

const untilSaid = "\nwhile ! test -s $D/pid; do sleep 0.01; done; exit 78"

// SUP-5: whatever a child left is ended with it; only what clears its
// environment, and only where there is no cgroup, is told of instead.
func TestOrphansEndWithTheirChild(t *testing.T) {
	t.Parallel()
	eachContainment(t, func(t *testing.T, dir string) {
		var ended, told atomic.Int32
		t.Cleanup(func() {
			t.Logf("orphans: %d ways to leave one, %d ended, %d told of", len(leavings), ended.Load(), told.Load())
		})
		for i, l := range leavings {
			t.Run(l.name, func(t *testing.T) {
				t.Parallel()
				own := dir
				if dir != "" {
					own = subgroup(t, dir, i)
				}
				count := &ended
				if leave(t, l.script, l.atOnce, l.cleared && dir == "", own) {
					count = &told
				}
				count.Add(1)
			})
		}
	})
}

// leave runs one child to its end and reports whether what it left is told of
// instead of ended.
func leave(t *testing.T, script string, atOnce, escapes bool, group string) (told bool) {
	dir := t.TempDir()
	o := startIn(t, group, orderlySetup{Subreaper: true})
	if !atOnce {
		script += untilSaid
	}
	spec := marked("a", dir, script)
	released := drainSink(t, &spec)
	t.Cleanup(func() { endCarriers(t, spec.Marker) })
	o.order(orders{Specs: []ordered{spec}})
	o.await("rejected", childIs("a", supervise.Rejected))
	if left := carriers(t, spec.Marker); len(left) > 0 {
		t.Errorf("it left %v", left)
	}
	defer awaitReleased(t, released)
	if atOnce {
		return false
	}
	pid := mustAtoi(t, awaitText(t, filepath.Join(dir, "pid")))
	if !escapes {
		if alive(pid) {
			t.Errorf("%d lives", pid)
		}
		if len(o.last.Strays) > 0 {
			t.Errorf("told of %+v", o.last.Strays)
		}
		return false
	}
	return seeStray(t, o, pid)
}

// startIn starts a supervisor in a cgroup, for it to use, or in none.
func startIn(t *testing.T, group string, setup orderlySetup) *orderly {
	t.Helper()
	if group == "" {
		return startOrderly(t, setup, nil)
	}
	dir, err := os.Open(group)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	setup.Cgroup = true
	return startOrderly(t, setup, &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(dir.Fd())})
}

// drainSink gives a child a pipe for its output and reads it; the channel is
// closed when nobody has the other end any more.
func drainSink(t *testing.T, spec *ordered) <-chan struct{} {
	t.Helper()
	spec.Sink = filepath.Join(t.TempDir(), "sink")
	if err := syscall.Mkfifo(spec.Sink, 0o600); err != nil {
		t.Fatal(err)
	}
	released := make(chan struct{})
	go func() {
		defer close(released)
		if f, err := os.Open(spec.Sink); err == nil {
			defer f.Close()
			_, _ = io.Copy(io.Discard, f)
		}
	}()
	return released
}

func awaitReleased(t *testing.T, released <-chan struct{}) {
	t.Helper()
	select {
	case <-released:
	case <-time.After(patience):
		t.Error("fd 1 and 2 are still held")
	}
}

// seeStray checks that a stray is told of until it ends, and not touched.
func seeStray(t *testing.T, o *orderly, pid int) bool {
	t.Helper()
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
	n := o.await("a stray", func(n news) bool { return len(n.Strays) > 0 })
	if s := n.Strays[0]; s.PID != pid || s.Command != "sleep" || s.Since.IsZero() || !alive(pid) {
		t.Errorf("told of %+v, want %d and that it lives", s, pid)
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
	o.await("no stray", func(n news) bool { return len(n.Strays) == 0 })
	return true
}

// delegated is a cgroup v2 made for the test below its own, as a service manager
// would delegate one.
func delegated(t *testing.T) string {
	t.Helper()
	own, err := supervise.OwnCgroupForTest()
	if err != nil {
		t.Skip("no cgroup v2 here: ", err)
	}
	group, err := os.MkdirTemp(own, "flor-test-")
	if err != nil {
		t.Skip("no cgroup can be made here; root can, where cgroup v2 is mounted writable: ", err)
	}
	t.Cleanup(func() { awaitNoCgroup(t, group) })
	return group
}

// awaitNoCgroup removes a group when all that was in it has ended.
func awaitNoCgroup(t *testing.T, group string) {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		supervise.RemoveCgroupForTest(group)
		if _, err := os.Stat(group); os.IsNotExist(err) {
			return
		}
	}
	t.Errorf("%s does not become empty", group)
}

func subgroup(t *testing.T, dir string, n int) string {
	t.Helper()
	group := filepath.Join(dir, strconv.Itoa(n))
	if err := os.Mkdir(group, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { awaitNoCgroup(t, group) })
	return group
}

// SUP-5: what one child leaves is ended, and nothing else: neither another's
// helper, nor what runs beside with the very same environment and what that has
// left, which ends with it.
func TestOrphansOfOthersAreSpared(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a := marked("a", dir, `setsid sleep 1000 & while ! test -e $D/end; do sleep 0.01; done; exit 78`)
	b := marked("b", dir, `(setsid sleep 1000 &); (env -i D=$D sh -c 'echo >$D/cleared; exec sleep 1000' &); sleep 1000 & wait`)
	for _, each := range []ordered{a, b} {
		t.Cleanup(func() { endCarriers(t, each.Marker) })
	}
	o := startIn(t, "", orderlySetup{Subreaper: true})
	o.order(orders{Specs: []ordered{a, b}, Beside: []beside{
		{Script: `(sh -c 'echo $$ >$D/beside; exec sleep 1000' &); (setsid sh -c 'echo $$ >$D/escaped; exec sleep 1000' &); while ! test -e $D/after; do sleep 0.01; done; exit 7`,
			Env: a.Env, Marker: "TEST_ARTIFACT=" + dir},
	}})
	t.Cleanup(func() { endCarriers(t, "TEST_ARTIFACT="+dir) })
	beside := mustAtoi(t, awaitText(t, filepath.Join(dir, "beside")))
	escaped := mustAtoi(t, awaitText(t, filepath.Join(dir, "escaped")))
	awaitText(t, filepath.Join(dir, "cleared"))
	helpers := awaitCarriers(t, b.Marker, 3)
	if err := os.WriteFile(filepath.Join(dir, "end"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	o.await("a rejected", childIs("a", supervise.Rejected))
	if left := carriers(t, b.Marker); !slices.Equal(left, helpers) {
		t.Errorf("of b there were %v, now %v", helpers, left)
	}
	if !alive(beside) || !alive(escaped) {
		t.Errorf("of what runs beside lives in its group: %v, outside: %v", alive(beside), alive(escaped))
	}
	if err := os.WriteFile(filepath.Join(dir, "after"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	n := o.await("the end of what ran beside", func(n news) bool { return len(n.Codes) == 1 })
	if n.Codes[0] != 7 || len(n.Strays) > 0 {
		t.Errorf("it ended with %d, strays %+v", n.Codes[0], n.Strays)
	}
	awaitGone(t, beside)
	if alive(escaped) {
		t.Error("what it has left lives on")
	}
}

// SUP-5: orphans that end by themselves are reaped, and no exit is taken from
// whoever waits for it.
func TestOrphansThatEndAreReapedAndNobodyElse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := startIn(t, "", orderlySetup{Subreaper: true})
	spec := marked("a", dir, `for i in 1 2 3 4 5 6 7 8 9 10; do (setsid true &); done; echo >$D/done; sleep 1000 & wait`)
	const others = 40
	commands := make([]beside, others)
	for i := range commands {
		commands[i] = beside{Script: "(setsid true &); exit 7"}
	}
	o.order(orders{Specs: []ordered{spec}, Beside: commands})
	awaitText(t, filepath.Join(dir, "done"))
	n := o.await("the end of all that ran beside", func(n news) bool { return len(n.Codes) == others })
	for _, code := range n.Codes {
		if code != 7 {
			t.Errorf("an exit of %d: it was taken", code)
		}
	}
	awaitNoZombies(t, o.cmd.Process.Pid)
	t.Logf("orphans: %d reaped, %d exits left to those who waited", 10+others, others)
}

func awaitNoZombies(t *testing.T, parent int) {
	t.Helper()
	var left []string
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if left = zombies(t, parent); len(left) == 0 {
			return
		}
	}
	t.Errorf("zombies: %v", left)
}

func zombies(t *testing.T, parent int) []string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, file := range files {
		text, _ := os.ReadFile(file)
		if strings.Contains(string(text), fmt.Sprintf(") Z %d ", parent)) {
			found = append(found, string(text))
		}
	}
	return found
}

// SUP-5: a supervisor whose cgroup is another's does without.
func TestOrphansOfTwoSupervisorsInOneCgroup(t *testing.T) {
	t.Parallel()
	group := subgroup(t, delegated(t), 100)
	dir := t.TempDir()
	script := `echo $(grep ^0:: /proc/self/cgroup) >$D/$0; sleep 1000 & wait`
	first, second := marked("first", dir, script), marked("second", dir, script)
	o := startIn(t, group, orderlySetup{Subreaper: true})
	o.order(orders{Specs: []ordered{first}})
	if got := awaitText(t, filepath.Join(dir, "first")); !strings.HasSuffix(got, filepath.Base(group)+"/w-first") {
		t.Errorf("the first one's child is in %s", got)
	}
	p := startIn(t, group, orderlySetup{Subreaper: true})
	p.order(orders{Specs: []ordered{second}})
	if got := awaitText(t, filepath.Join(dir, "second")); !strings.HasSuffix(got, filepath.Base(group)) {
		t.Errorf("the second one's child is in %s", got)
	}
}

// SUP-5: a group that holds processes of somebody else is left alone.
func TestOrphansOfSomebodyElseInACgroupOfTheSameNameAreSpared(t *testing.T) {
	t.Parallel()
	group, dir := delegated(t), t.TempDir()
	taken := filepath.Join(group, "w-a")
	if err := os.Mkdir(taken, 0o755); err != nil {
		t.Fatal(err)
	}
	stranger := exec.Command("sleep", "1000")
	in, err := os.Open(taken)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	stranger.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(in.Fd())}
	if err := stranger.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stranger.Process.Kill(); _ = stranger.Wait() })
	spec := marked("a", dir, `setsid sleep 1000 & exit 78`)
	t.Cleanup(func() { endCarriers(t, spec.Marker) })
	o := startIn(t, group, orderlySetup{Subreaper: true})
	o.order(orders{Specs: []ordered{spec}})
	o.await("rejected", childIs("a", supervise.Rejected))
	if !alive(stranger.Process.Pid) || len(carriers(t, spec.Marker)) > 0 {
		t.Errorf("the stranger lives: %v, of the child there is %v", alive(stranger.Process.Pid), carriers(t, spec.Marker))
	}
}
