package compiler

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkGrowth is how the cost of a full compile follows the rete (CMP-17):
// around one of 1,000 nodes, the number of services and the number of services
// that each user reaches grow, each by itself. It logs a row for each, with what
// the compile costs for one mebibyte that it writes.
func BenchmarkGrowth(b *testing.B) {
	for _, growth := range []struct {
		name  string
		sizes []benchSize
	}{
		{"services", []benchSize{{1000, 250, 20}, {1000, 1000, 20}, {1000, 4000, 20}, {1000, 16000, 20}}},
		{"reach", []benchSize{{1000, 1000, 5}, {1000, 1000, 20}, {1000, 1000, 80}, {1000, 1000, 320}}},
	} {
		b.Run(growth.name, func(b *testing.B) {
			worlds := make([]*world, len(growth.sizes))
			costs := make([][]cost, len(growth.sizes))
			for i, size := range growth.sizes {
				worlds[i] = newWorld(b)
				worlds[i].generate(size)
			}
			for b.Loop() { // side by side, as in BenchmarkCompile
				for i, w := range worlds {
					w.remove(florDir)
					costs[i] = append(costs[i], measure(func() { w.compile() }))
				}
			}
			logGrowth(b, growth.sizes, worlds, costs)
		})
	}
}

func logGrowth(b *testing.B, sizes []benchSize, worlds []*world, costs [][]cost) {
	b.Helper()
	var table strings.Builder
	fmt.Fprintf(&table, "%-36s %8s %8s %8s %8s %11s %9s %9s\n", "", "pairs", "MiB", "wall", "cpu", "allocs", "peak MiB", "cpu/MiB")
	for i, size := range sizes {
		c, output := namedCosts{runs: costs[i]}.median(), float64(worlds[i].treeSize())/(1<<20)
		fmt.Fprintf(&table, "%-36s %8d %8.1f %7.2fs %7.2fs %11d %9.1f %8.2fs\n", size, worlds[i].pairs(), output,
			c.wall.Seconds(), c.cpu.Seconds(), c.allocs, float64(c.peak)/(1<<20), c.cpu.Seconds()/output)
	}
	b.Log("\n" + table.String())
}

// pairs counts who may reach what, each once.
func (w *world) pairs() int {
	w.t.Helper()
	loaded, err := Load(w.source())
	if err != nil {
		w.t.Fatal(err)
	}
	return len(loaded.View.Access(AccessQuery{}))
}
