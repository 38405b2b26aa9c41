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
)

// processors decides whether the vertex runs on one processor or on all that
// it may have. A packet goes through half a dozen goroutines, and with a second
// processor that has nothing to do the runtime wakes a thread for each of them,
// which costs more than their work does; so one is used while one suffices. It
// is not fully used where other programs want it too, and then a second one
// would not be had either.
type processors struct {
	many bool
	calm int // looks in a row that found little to do
}

// look takes how many processors were in use since the last look, and tells
// whether all are to be used from now on.
func (p *processors) look(used float64) (many bool) {
	if used >= calmBelow {
		p.calm = 0
	} else {
		p.calm++
	}
	switch {
	case used >= busyFrom:
		p.many = true
	case p.calm >= calmLooks:
		p.many = false
	}
	return p.many
}

// adaptProcessors keeps to what processors decides until ctx ends, and then
// leaves the runtime with its default. Somebody who has set GOMAXPROCS, or one
// processor in all, leaves nothing to decide.
func adaptProcessors(ctx context.Context) {
	if os.Getenv("GOMAXPROCS") != "" || runtime.GOMAXPROCS(0) == 1 {
		return
	}
	defer runtime.SetDefaultGOMAXPROCS()
	runtime.GOMAXPROCS(1)
	var p processors
	timer := time.NewTimer(lookEvery)
	defer timer.Stop()
	for at, before := time.Now(), cpuTime(); ; {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		now, spent := time.Now(), cpuTime()
		used := (spent - before).Seconds() / now.Sub(at).Seconds()
		use(p.many, p.look(used))
		at, before = now, spent
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
