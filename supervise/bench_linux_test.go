package supervise

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// keeper is a supervisor in a process of its own, with services that say their
// pid whenever they start.
type keeper struct {
	name string
	root *exec.Cmd
	// pids has the pid of each start of the first service.
	pids *bufio.Scanner
}

// keepers are how the supervisors are started for a directory of services.
var keepers = map[string]func(b *testing.B, dir string, services []string) *exec.Cmd{
	"flor":  startKeep,
	"runit": func(_ *testing.B, dir string, _ []string) *exec.Cmd { return exec.Command("runsvdir", dir) },
	"s6":    func(_ *testing.B, dir string, _ []string) *exec.Cmd { return exec.Command("s6-svscan", dir) },
}

func startKeep(b *testing.B, dir string, services []string) *exec.Cmd {
	b.Helper()
	program := filepath.Join(b.TempDir(), "keep")
	build := exec.Command("go", "build", "-o", program, "./testdata/keep")
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	return exec.Command(program, services...)
}

// startKeeper starts a supervisor of n services and waits until all run.
func startKeeper(b *testing.B, name string, n int) *keeper {
	b.Helper()
	dir := b.TempDir()
	said := filepath.Join(b.TempDir(), "pids")
	if err := syscall.Mkfifo(said, 0o600); err != nil {
		b.Fatal(err)
	}
	pipe, err := os.OpenFile(said, os.O_RDWR, 0)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { pipe.Close() })
	var services []string
	for i := range n {
		services = append(services, writeService(b, filepath.Join(dir, strconv.Itoa(i)), said))
	}
	k := &keeper{name: name, root: keepers[name](b, dir, services), pids: bufio.NewScanner(pipe)}
	if err := k.root.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(k.end)
	for range n {
		k.started(b)
	}
	return k
}

func writeService(b *testing.B, dir, said string) string {
	b.Helper()
	if err := os.Mkdir(dir, 0o755); err != nil {
		b.Fatal(err)
	}
	path := filepath.Join(dir, "run")
	if err := os.WriteFile(path, []byte("#!/bin/sh\necho $$ >"+said+"\nexec sleep 1000\n"), 0o755); err != nil {
		b.Fatal(err)
	}
	return path
}

// started returns the pid of the next service that starts.
func (k *keeper) started(b *testing.B) int {
	b.Helper()
	if !k.pids.Scan() {
		b.Fatal("no service started: ", k.pids.Err())
	}
	pid, err := strconv.Atoi(k.pids.Text())
	if err != nil {
		b.Fatal(err)
	}
	return pid
}

// restart kills a service that has run for a while, and returns how long it was
// away.
func (k *keeper) restart(b *testing.B, pid int) (next int, away time.Duration) {
	b.Helper()
	begun := time.Now()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		b.Fatal(err)
	}
	next = k.started(b)
	return next, time.Since(begun)
}

// end ends the supervisor and everything below it.
func (k *keeper) end() {
	below := descendants(processes(), k.root.Process.Pid)
	_ = k.root.Process.Kill()
	_ = k.root.Wait()
	for _, p := range below {
		killProcess(p)
	}
}

// memory is what the supervisor's own processes hold, in KiB, with what they
// share counted once.
func (k *keeper) memory(b *testing.B) float64 {
	b.Helper()
	total := pss(b, k.root.Process.Pid)
	for _, p := range descendants(processes(), k.root.Process.Pid) {
		if p.command != "sleep" {
			total += pss(b, p.pid)
		}
	}
	return float64(total)
}

func pss(b *testing.B, pid int) (kib int) {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if _, err := fmt.Sscanf(line, "Pss: %d kB", &kib); err == nil {
			return kib
		}
	}
	b.Fatalf("no Pss of %d", pid)
	return 0
}

// longEnough is a run after which every supervisor compared restarts at once, or
// by its first delay.
const longEnough = 1200 * time.Millisecond

func median(took []time.Duration) time.Duration {
	slices.Sort(took)
	return took[len(took)/2]
}

// Issue 4: from the kill of a workload to its first breath, at the first try.
func BenchmarkKillToRunning(b *testing.B) { killInTurn(b, "flor") }

// The same against other supervisors, in turn, so that all have the same load.
func BenchmarkKillToRunningBesideOthers(b *testing.B) {
	needOthers(b)
	killInTurn(b, "flor", "runit", "s6")
}

func needOthers(b *testing.B) {
	b.Helper()
	for _, program := range []string{"runsvdir", "s6-svscan"} {
		if _, err := exec.LookPath(program); err != nil {
			b.Skip("nothing to compare with: install the packages runit and s6: ", err)
		}
	}
}

func killInTurn(b *testing.B, names ...string) {
	var all []*keeper
	for _, name := range names {
		all = append(all, startKeeper(b, name, 1))
	}
	took := map[string][]time.Duration{}
	pids := map[string]int{}
	for _, k := range all {
		pids[k.name], _ = k.restart(b, onlyService(b, k))
	}
	b.ResetTimer()
	for range b.N {
		time.Sleep(longEnough)
		for _, k := range all {
			next, away := k.restart(b, pids[k.name])
			pids[k.name] = next
			took[k.name] = append(took[k.name], away)
		}
	}
	for name, each := range took {
		b.ReportMetric(float64(median(each).Microseconds())/1000, name+"-ms")
	}
}

// onlyService is the process of a supervisor's one service.
func onlyService(b *testing.B, k *keeper) int {
	b.Helper()
	for {
		for _, p := range descendants(processes(), k.root.Process.Pid) {
			if p.command == "sleep" {
				return p.pid
			}
		}
		time.Sleep(time.Millisecond)
	}
}

// Issue 4: what three workloads cost in memory.
func BenchmarkMemoryBesideOthers(b *testing.B) {
	needOthers(b)
	for b.Loop() {
		for name := range keepers {
			k := startKeeper(b, name, 3)
			time.Sleep(longEnough)
			b.ReportMetric(k.memory(b), name+"-KiB")
		}
	}
}
