package relay

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// CRD-5: a publish makes way after each spell of work while somebody reads, and
// for nobody else.
func TestAPublishMakesWayForReaders(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var reads atomic.Uint64
		b := newBreather(&reads)
		for _, step := range []struct {
			what  string
			reads uint64
			works time.Duration
			rests time.Duration
		}{
			{"long work that nobody reads beside", 0, time.Second, 0},
			{"a read within a spell", 1, workTime - 1, 0},
			{"the end of the spell", 0, 1, restTime},
			{"a moment of the next", 0, 1, 0},
			{"its end, with the reader about", 0, workTime, restTime},
			{"another reader", 3, workTime, restTime},
			{"a reader who has been away", 0, readerTime, 0},
		} {
			reads.Add(step.reads)
			time.Sleep(step.works)
			begun := time.Now()
			b.pause()
			if rested := time.Since(begun); rested != step.rests {
				t.Errorf("%s: it rests for %s, want %s", step.what, rested, step.rests)
			}
		}
		begun := time.Now()
		(*breather)(nil).pause()
		if time.Now() != begun {
			t.Error("a start rests, though nobody reads yet")
		}
	})
}
