package main

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// reporter prints the demonstration: one line a step, with the seconds since
// the start. It may be used from several goroutines.
type reporter struct {
	mu      sync.Mutex
	out     io.Writer
	started time.Time
}

func newReporter(out io.Writer) *reporter {
	return &reporter{out: out, started: time.Now()}
}

// step prints one line of progress.
func (r *reporter) step(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintf(r.out, "%6.2fs  %s\n", time.Since(r.started).Seconds(), fmt.Sprintf(format, args...))
}

// text prints lines of somebody else's output, indented below the last step.
func (r *reporter) text(lines []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, line := range lines {
		fmt.Fprintf(r.out, "         | %s\n", line)
	}
}

// ok prints the last line.
func (r *reporter) ok() {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintf(r.out, "quickstart: ok %.1fs\n", time.Since(r.started).Seconds())
}
