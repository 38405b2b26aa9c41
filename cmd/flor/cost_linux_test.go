package main

import (
	"bytes"
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

	"github.com/florete/flor/envelope"
	"github.com/florete/flor/envelope/envelopetest"
	"github.com/florete/flor/supervise/control"
)

// costly is an agent as it is shipped, with three workloads that serve their
// control channel, watched by nobody.
func costly(b *testing.B) *station {
	b.Helper()
	lib := b.TempDir()
	if out, err := exec.Command("go", "build", "-o", lib, ".").CombinedOutput(); err != nil {
		b.Fatalf("build: %v\n%s", err, out)
	}
	vertex, err := exec.LookPath("flor-vertex")
	if err != nil {
		b.Fatal(err)
	}
	if err := os.Symlink(vertex, filepath.Join(lib, "flor-vertex")); err != nil {
		b.Fatal(err)
	}
	i, r, from := newStationOf(b, lib), newRete("demo"), newCoordinator(b)
	set := threeWorkloads(r, from.addr)
	i.enrol(r.bundleOf(set))
	from.publish(1, document(set))
	i.start()
	i.until("all up", func(doc control.StatusDoc) bool {
		return len(doc.Workloads) == 3 && !doc.LastContact.IsZero() && !slices.ContainsFunc(doc.Workloads, func(w control.Workload) bool { return w.State != "up" })
	})
	return i
}

func threeWorkloads(r rete, addr string) [][]byte {
	names := []string{"one", "two", "three"}
	agent := r.authority.AgentPayload("alpha", envelopetest.Block(r.signer), names...)
	texts := [][]byte{nil}
	for n := range agent.Workloads {
		agent.Workloads[n].Run = []string{"flor-vertex"}
		texts = append(texts, r.signer.Sign("alpha", names[n], 1, r.vertex("1.0")))
	}
	agent.Inbounds[0].Via.Addr = addr
	texts[0] = r.signer.Sign("alpha", envelope.AgentName, 1, agent)
	return texts
}

// BenchmarkIdleAgent is what an agent with three workloads costs that has nothing
// to do: processor time in each minute, and resident memory. The first minute is
// that after its start.
func BenchmarkIdleAgent(b *testing.B) {
	i := costly(b)
	var minutes []float64
	for b.Loop() {
		before, began := processorTime(b, i.agent.Process.Pid), time.Now()
		time.Sleep(time.Minute)
		used := processorTime(b, i.agent.Process.Pid) - before
		minutes = append(minutes, float64(used.Microseconds())/1000/time.Since(began).Minutes())
	}
	b.Logf("milliseconds in each minute: %.1f", minutes)
	slices.Sort(minutes)
	b.ReportMetric(minutes[len(minutes)/2], "cpu-ms/min-median")
	b.ReportMetric(minutes[len(minutes)-1], "cpu-ms/min-max")
	b.ReportMetric(float64(residentKiB(b, i.agent.Process.Pid))/1024, "MiB-resident")
}

// processorTime is what all threads of a process have used; one that has ended
// meanwhile is missing.
func processorTime(b *testing.B, pid int) time.Duration {
	b.Helper()
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil || len(threads) == 0 {
		b.Fatalf("threads: %v %v", threads, err)
	}
	var sum time.Duration
	for _, path := range threads {
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		used, _, _ := strings.Cut(string(text), " ")
		nanoseconds, err := strconv.ParseInt(used, 10, 64)
		if err != nil {
			b.Fatal(err)
		}
		sum += time.Duration(nanoseconds)
	}
	return sum
}

func residentKiB(b *testing.B, pid int) int {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		b.Fatal(err)
	}
	_, rest, _ := bytes.Cut(text, []byte("VmRSS:"))
	kib, err := strconv.Atoi(strings.Fields(string(rest))[0])
	if err != nil {
		b.Fatal(err)
	}
	return kib
}

// BenchmarkKillToRunning kills a workload and waits until its successor runs, at
// the first try. A requested restart between two kills forgives the first.
func BenchmarkKillToRunning(b *testing.B) {
	i := costly(b)
	var took []time.Duration
	for b.Loop() {
		pid := i.processOf("one")
		began := time.Now()
		syscall.Kill(pid, syscall.SIGKILL)
		i.until("its successor", func(doc control.StatusDoc) bool { return pidIn(doc, "one") != 0 && pidIn(doc, "one") != pid })
		took = append(took, time.Since(began))
		b.StopTimer()
		pid = i.processOf("one")
		if err := i.client().Restart(b.Context(), "one"); err != nil {
			b.Fatal(err)
		}
		i.until("the requested restart", func(doc control.StatusDoc) bool { return pidIn(doc, "one") != 0 && pidIn(doc, "one") != pid })
		b.StartTimer()
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "ms-median")
}

func (i *station) processOf(name string) int {
	i.t.Helper()
	return pidIn(i.until("a process of "+name, func(doc control.StatusDoc) bool { return pidIn(doc, name) != 0 }), name)
}

func pidIn(doc control.StatusDoc, name string) int {
	for _, w := range doc.Workloads {
		if w.Name == name {
			return w.PID
		}
	}
	return 0
}
