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
	spareFrom = 0.5 // processors of the machine without work, from which another one is to be had

	// shakesFrom is how many handshakes begin in a second at which one processor
	// is too few. They compute for long, and on a single processor a stream waits
	// until all that are ready have done so, even where it is not fully used.
	shakesFrom = 100
)

// processors decides whether the vertex runs on one processor or on all that
// it may have. A packet goes through half a dozen goroutines, and with a second
// processor that has nothing to do the runtime wakes a thread for each of them,
// which costs more than their work does; so one is used while one suffices, and
// while the machine has no other to give. Many handshakes want all nevertheless.
type processors struct {
	many bool
	calm int // looks in a row that found little to do
}

// A load is what one look found, of the time since the look before.
type load struct {
	used   float64 // processors in use by the vertex
	shakes float64 // handshakes begun in a second
	spare  bool    // the machine has processors without work
}

// look tells whether all processors are to be used from now on.
func (p *processors) look(l load) (many bool) {
	if l.used >= calmBelow || l.shakes >= shakesFrom {
		p.calm = 0
	} else {
		p.calm++
	}
	switch {
	case l.used >= busyFrom && l.spare, l.shakes >= shakesFrom:
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
	var m machine
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
		use(many, p.look(load{used, float64(begun-shakes) / span, m.spare(now, used)}))
		at, before, shakes = now, spent, begun
		timer.Reset(pause(used))
	}
}

// machine is how long all processors of this machine together had nothing to do,
// when that was last asked.
type machine struct {
	at   time.Time // zero: not asked at the last look
	idle time.Duration
}

// spare tells whether the machine had processors without work since the last look.
// It is not asked by a vertex that uses next to none, and the first look of one
// that begins to has nothing to compare with. Where nothing can be asked, a
// processor is taken to be there.
func (m *machine) spare(now time.Time, used float64) bool {
	if used < idleBelow {
		*m = machine{}
		return false
	}
	idle, known := idleTime()
	before := *m
	*m = machine{now, idle}
	if !known {
		return true
	}
	return !before.at.IsZero() && (idle-before.idle).Seconds() >= spareFrom*now.Sub(before.at).Seconds()
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
