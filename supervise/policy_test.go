package supervise

import (
	"math"
	"testing"
	"time"
)

// TestAPolicyThatMakesNoSenseIsTheDefault: a negative time would be no delay
// between two tries, and no grace.
func TestAPolicyThatMakesNoSenseIsTheDefault(t *testing.T) {
	t.Parallel()
	want := Policy{}.withDefaults()
	odd := Policy{
		MinDelay: -1, MaxDelay: -1, Jitter: math.NaN(), ResetAfter: -1, Liveness: -1,
		LoopAfter: -1, LoopDelay: -1, StopGrace: -1, RestartGrace: -1,
	}
	if got := odd.withDefaults(); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := want.withDefaults(); got != want {
		t.Errorf("defaults of defaults: %+v", got)
	}
}

// TestAJitterIsAPartOfADelay at most, so that no delay is below zero.
func TestAJitterIsAPartOfADelay(t *testing.T) {
	t.Parallel()
	for given, want := range map[float64]float64{0: 0.2, -3: -3, 0.5: 0.5, 7: 1, math.Inf(1): 1} {
		if got := (Policy{Jitter: given}).withDefaults().Jitter; got != want {
			t.Errorf("%v became %v, want %v", given, got, want)
		}
	}
	m := newMachine(Policy{Jitter: 7}, func() float64 { return -1 }, time.Time{})
	if got := m.nextDelay(); got < 0 {
		t.Errorf("a delay of %v", got)
	}
}
