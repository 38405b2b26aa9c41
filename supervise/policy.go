package supervise

import (
	"math"
	"time"
)

// Policy is when a child that ended is started again, and how long it may
// take to stop (SUP-4, SUP-6). A zero field has the default in brackets, and so
// has one that makes no sense: a negative time or number, where nothing else is
// said of it.
type Policy struct {
	// MinDelay is the first delay before a retry [100 ms]; it doubles with
	// each retry up to MaxDelay [30 s], which is the delay where it is the
	// smaller of the two.
	MinDelay, MaxDelay time.Duration
	// Jitter is the part of a delay by which it varies either way, between
	// 0 and 1 [0.2]; negative means none, more than 1 is 1.
	Jitter float64
	// ResetAfter is the length of a run that forgives all before [10 min].
	ResetAfter time.Duration
	// Liveness is how long a process has to live to be Up [3 s].
	Liveness time.Duration
	// LoopAfter is the number of crashes with no run of ResetAfter between
	// them that make a CrashLooping [10], tried each LoopDelay [5 min].
	LoopAfter int
	LoopDelay time.Duration
	// StopGrace is the time between SIGTERM and SIGKILL at a stop [10 s].
	StopGrace time.Duration
	// RestartGrace is the same at a restart, Drain included [1 s].
	RestartGrace time.Duration
}

// withDefaults returns p with its zero fields set.
func (p Policy) withDefaults() Policy {
	setDefault(&p.MinDelay, 100*time.Millisecond)
	setDefault(&p.MaxDelay, 30*time.Second)
	if p.Jitter == 0 || math.IsNaN(p.Jitter) {
		p.Jitter = 0.2
	}
	p.Jitter = min(p.Jitter, 1) // more would be delays below zero
	setDefault(&p.ResetAfter, 10*time.Minute)
	setDefault(&p.Liveness, 3*time.Second)
	setDefault(&p.LoopAfter, 10)
	setDefault(&p.LoopDelay, 5*time.Minute)
	setDefault(&p.StopGrace, 10*time.Second)
	setDefault(&p.RestartGrace, time.Second)
	return p
}

func setDefault[T int | time.Duration](field *T, value T) {
	if *field <= 0 {
		*field = value
	}
}
