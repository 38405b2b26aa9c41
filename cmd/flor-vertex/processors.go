package main

import (
	"context"
	"os"
	"runtime"
	"syscall"
	"time"
)

const (
	lookEvery = 250 * time.Millisecond
	lookIdle  = time.Second // while next to nothing is used: a look wakes a machine that sleeps
	idleBelow = 0.05
	busyFrom  = 0.9 // processors in use, from which one is too few
	calmBelow = 0.6 // processors in use, below which one may do again
	calmLooks = 8   // in a row

	// shakesFrom is how many handshakes begin in a second at which one processor
	// is too few. They compute for long, and on a single processor a stream waits
	// until all that are ready have done so, even where it is not fully used.
	shakesFrom = 100
)

// processors decides whether the vertex runs on one processor or on all that
// it may have. A packet goes through half a dozen goroutines, and with a second
// processor that has nothing to do the runtime wakes a thread for each of them,
// which costs more than their work does; so one is used while one suffices. It
// is not fully used where other programs want it too, and then a second one
// would not be had either; many handshakes want all nevertheless.
type processors struct {
	many bool
	calm int // looks in a row that found little to do
}

// look takes how many processors were in use since the last look and how many
// handshakes began in a second, and tells whether all are to be used from now on.
func (p *processors) look(used, shakes float64) (many bool) {
	if used >= calmBelow || shakes >= shakesFrom {
		p.calm = 0
	} else {
		p.calm++
	}
	switch {
	case used >= busyFrom, shakes >= shakesFrom:
		p.many = true
	case p.calm >= calmLooks:
		p.many = false
	}
	return p.many
}

// adaptProcessors keeps to what processors decides until ctx ends, and then
// leaves the runtime with its default. Somebody who has set GOMAXPROCS, or one
// processor in all, leaves nothing to decide. It is told how many handshakes have
// begun since the start.
func adaptProcessors(ctx context.Context, handshakes func() uint64) {
	if os.Getenv("GOMAXPROCS") != "" || runtime.GOMAXPROCS(0) == 1 {
		return
	}
	defer runtime.SetDefaultGOMAXPROCS()
	runtime.GOMAXPROCS(1)
	var p processors
	timer := time.NewTimer(lookEvery)
	defer timer.Stop()
	for at, before, shakes := time.Now(), cpuTime(), handshakes(); ; {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		now, spent, begun := time.Now(), cpuTime(), handshakes()
		span := now.Sub(at).Seconds()
		used := (spent - before).Seconds() / span
		many := p.many // read on its own: as an argument it might be read after look has changed it
		use(many, p.look(used, float64(begun-shakes)/span))
		at, before, shakes = now, spent, begun
		timer.Reset(pause(used))
	}
}

// pause is the time until the next look.
func pause(used float64) time.Duration {
	if used < idleBelow {
		return lookIdle
	}
	return lookEvery
}

// use changes the number of processors where it has to: it stops everything
// for a moment.
func use(before, many bool) {
	switch {
	case many && !before:
		runtime.SetDefaultGOMAXPROCS()
	case before && !many:
		runtime.GOMAXPROCS(1)
	}
}

// cpuTime is what this process has spent so far.
func cpuTime() time.Duration {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
