package traffic

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The scenarios' ruler: how long a user was without an answer.
func TestWatchMeasuresTheLongestSilence(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	down := errors.New("down")
	for _, tt := range []struct {
		name     string
		from, to time.Duration // the outage
		slow     time.Duration // of an answer
		silence  time.Duration
		fault    error
	}{
		{"none", 0, 0, 0, 20 * ms, nil},
		{"slow answers", 0, 0, 50 * ms, 50 * ms, nil},
		{"an outage in the middle", 101 * ms, 399 * ms, 0, 300 * ms, down},
		{"an outage from the start", 0, 99 * ms, 0, 100 * ms, down},
		{"an outage that lasts", 901 * ms, time.Hour, 0, 110 * ms, down},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				w := StartWatch(t.Context(), func(context.Context) error {
					time.Sleep(tt.slow)
					if at := time.Since(began); tt.to > 0 && at >= tt.from && at <= tt.to {
						return down
					}
					return nil
				})
				time.Sleep(1010 * ms)
				seen := w.Stop()
				if seen.Silence != tt.silence || seen.Fault != tt.fault || (seen.Answered == seen.Asked) != (tt.fault == nil) {
					t.Errorf("saw %+v, want a silence of %v and the fault %v", seen, tt.silence, tt.fault)
				}
			})
		})
	}
}
