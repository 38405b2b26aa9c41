package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/florete/flor/conformance/lab"
)

// sampler measures every process of a rete once a second.
type sampler struct {
	rete     *lab.Network
	into     *recording
	began    time.Time
	pids     map[*track]int
	restarts map[*track]int
	logs     map[string]*logCount // by node
}

func newSampler(rete *lab.Network, into *recording, began time.Time) *sampler {
	return &sampler{rete: rete, into: into, began: began, pids: map[*track]int{}, restarts: map[*track]int{}, logs: map[string]*logCount{}}
}

func (s *sampler) run(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		for _, name := range lab.Nodes() {
			s.sample(ctx, s.rete.Nodes[name])
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// sample measures the agent of a node and its workloads; one that does not
// answer, because it is being started again, is left out this time.
func (s *sampler) sample(ctx context.Context, n *lab.Node) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	status, err := n.Control().Status(ctx)
	if err != nil {
		return
	}
	page, err := n.Control().Metrics(ctx)
	if err != nil {
		return
	}
	count := s.count(n)
	s.process(s.into.track(n.Name, "agent"), status.Agent.PID, goroutinesOf(page, ""), count["agent"])
	for _, w := range status.Workloads {
		if w.PID != 0 {
			s.process(s.into.track(n.Name, w.Name), w.PID, goroutinesOf(page, w.Name), count[w.Name])
		}
	}
}

func (s *sampler) process(t *track, pid int, routines float64, warned int) {
	if have, seen := s.pids[t]; seen && have != pid {
		s.restarts[t]++
	}
	s.pids[t] = pid
	resident, files, err := readProcess(pid)
	if err != nil || routines == 0 {
		return // it has just ended
	}
	at := time.Since(s.began)
	for m, value := range []float64{memory: resident, descriptors: files, goroutines: routines, restarts: float64(s.restarts[t]), warnings: float64(warned)} {
		t.add(m, at, value)
	}
}

// readProcess gives resident memory in MiB and the number of descriptors.
func readProcess(pid int) (resident, files float64, err error) {
	dir := fmt.Sprintf("/proc/%d", pid)
	text, err := os.ReadFile(filepath.Join(dir, "statm"))
	if err != nil {
		return 0, 0, err
	}
	fields := strings.Fields(string(text))
	if len(fields) < 2 {
		return 0, 0, fmt.Errorf("%s/statm has %d fields", dir, len(fields))
	}
	pages, err := strconv.ParseFloat(fields[1], 64)
	if err != nil {
		return 0, 0, err
	}
	entries, err := os.ReadDir(filepath.Join(dir, "fd"))
	return pages * float64(os.Getpagesize()) / (1 << 20), float64(len(entries)), err
}

var goroutineRow = regexp.MustCompile(`(?m)^go_goroutines(?:\{workload="([^"]*)"\})? ([0-9.e+]+)$`)

// goroutinesOf finds the number of a workload, or of the agent itself for "", in
// the agent's metrics; 0 when it is not there.
func goroutinesOf(page []byte, workload string) float64 {
	for _, row := range goroutineRow.FindAllSubmatch(page, -1) {
		if string(row[1]) == workload {
			value, _ := strconv.ParseFloat(string(row[2]), 64)
			return value
		}
	}
	return 0
}

// logCount counts the warnings and errors in a log that grows, by program.
type logCount struct {
	read   int64
	counts map[string]int
}

func (s *sampler) count(n *lab.Node) map[string]int {
	have, ok := s.logs[n.Name]
	if !ok {
		have = &logCount{counts: map[string]int{}}
		s.logs[n.Name] = have
	}
	have.follow(filepath.Join(n.Dir, "agent.log"))
	return have.counts
}

// follow reads on to the last whole line.
func (c *logCount) follow(file string) {
	f, err := os.Open(file)
	if err != nil {
		return
	}
	defer f.Close()
	buf := make([]byte, 1<<20)
	n, _ := f.ReadAt(buf, c.read)
	end := bytes.LastIndexByte(buf[:n], '\n') + 1
	c.read += int64(end)
	for line := range strings.Lines(string(buf[:end])) {
		if fields := strings.Fields(line); len(fields) > 2 && (fields[1] == "WARN" || fields[1] == "ERROR") {
			c.counts[fields[2]]++
		}
	}
}
