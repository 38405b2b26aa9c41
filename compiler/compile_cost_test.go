package compiler

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/metrics"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// cost is what one run of something took.
type cost struct {
	wall, cpu time.Duration
	allocs    uint64
	peak      uint64 // bytes of heap above what was there before
}

// and is what one run took and another behind it.
func (c cost) and(d cost) cost {
	return cost{wall: c.wall + d.wall, cpu: c.cpu + d.cpu, allocs: c.allocs + d.allocs, peak: max(c.peak, d.peak)}
}

// measure runs do, and watches the heap while it runs.
func measure(do func()) cost {
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	heap := watchHeap()
	cpu, start := cpuTime(), time.Now()
	do()
	c := cost{wall: time.Since(start), cpu: cpuTime() - cpu}
	c.peak = heap.stop() - min(before.HeapAlloc, heap.most)
	runtime.ReadMemStats(&after)
	c.allocs = after.Mallocs - before.Mallocs
	return c
}

// cpuTime is what all threads of the process have used, in user and kernel.
func cpuTime() time.Duration {
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// heapWatch samples the heap until it is stopped.
type heapWatch struct {
	done    chan struct{}
	watcher sync.WaitGroup
	most    uint64
}

func watchHeap() *heapWatch {
	h := &heapWatch{done: make(chan struct{})}
	h.watcher.Go(func() {
		tick := time.NewTicker(2 * time.Millisecond)
		defer tick.Stop()
		sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		for {
			metrics.Read(sample)
			h.most = max(h.most, sample[0].Value.Uint64())
			select {
			case <-h.done:
				return
			case <-tick.C:
			}
		}
	})
	return h
}

func (h *heapWatch) stop() uint64 {
	close(h.done)
	h.watcher.Wait()
	return h.most
}

// namedCosts are the runs of one kind.
type namedCosts struct {
	name string
	runs []cost
}

func (n namedCosts) median() cost {
	return cost{
		wall:   medianOf(n.runs, func(c cost) time.Duration { return c.wall }),
		cpu:    medianOf(n.runs, func(c cost) time.Duration { return c.cpu }),
		allocs: medianOf(n.runs, func(c cost) uint64 { return c.allocs }),
		peak:   medianOf(n.runs, func(c cost) uint64 { return c.peak }),
	}
}

func medianOf[T cmp.Ordered](runs []cost, of func(cost) T) T {
	values := make([]T, len(runs))
	for i, c := range runs {
		values[i] = of(c)
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// The kinds against which a compile is measured.
const (
	signing        = "sign and write"
	signingFlushed = "the same, flushed"
)

// logCosts prints a row for each kind, and the ratios of CMP-17.
func logCosts(b *testing.B, output int, kinds []namedCosts) {
	b.Helper()
	var table strings.Builder
	by := map[string]cost{}
	fmt.Fprintf(&table, "output %.1f MiB\n%-18s %9s %9s %11s %10s\n", float64(output)/(1<<20), "", "wall", "cpu", "allocs", "peak MiB")
	for _, k := range kinds {
		c := k.median()
		by[k.name] = c
		fmt.Fprintf(&table, "%-18s %8.2fs %8.2fs %11d %10.1f\n", k.name, c.wall.Seconds(), c.cpu.Seconds(), c.allocs, float64(c.peak)/(1<<20))
	}
	full, unchanged := by["full"], by["unchanged"]
	ratio := func(a, b time.Duration) float64 { return a.Seconds() / b.Seconds() }
	fmt.Fprintf(&table, "full : sign and write = %.2f wall, %.2f cpu; flushed %.2f wall; unchanged : full = %.2f wall, %.2f cpu; peak : output = %.2f",
		ratio(full.wall, by[signing].wall), ratio(full.cpu, by[signing].cpu), ratio(full.wall, by[signingFlushed].wall),
		ratio(unchanged.wall, full.wall), ratio(unchanged.cpu, full.cpu), float64(full.peak)/float64(output))
	b.Log("\n" + table.String())
	b.ReportMetric(ratio(full.wall, by[signing].wall), "full/sign")
	b.ReportMetric(ratio(unchanged.wall, full.wall), "unchanged/full")
	b.ReportMetric(float64(full.peak)/float64(output), "peak/output")
}
