package trial

import (
	"context"
	"strings"
	"testing"
	"time"
)

// TestHowLongAProgramIsWaitedFor covers what a suite may have seen of it before.
func TestHowLongAProgramIsWaitedFor(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		missed int
		served bool
		want   time.Duration
	}{
		"nothing yet":                            {0, false, arriveIn},
		"a case or two waited in vain":           {vainAfter - 1, false, arriveIn},
		"several waited in vain":                 {vainAfter, false, vainIn},
		"it has served":                          {0, true, 0},
		"several waited in vain, then it served": {vainAfter, true, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var a Arrivals
			for range tt.missed {
				a.miss()
			}
			if tt.served {
				a.note()
			}
			if got := a.limit(); got != tt.want {
				t.Errorf("%v, want %v", got, tt.want)
			}
		})
	}
}

// TestAProgramThatNeverServesIsToldSoon: after several cases have waited for it in
// vain, the next one does not wait for as long.
func TestAProgramThatNeverServesIsToldSoon(t *testing.T) {
	t.Parallel()
	arrivals := &Arrivals{missed: vainAfter}
	err := Run(t.Context(), arrivals, func(c *T) {
		c.Start([]string{"sleep", "100"}, nil)
		c.Await("it must answer", func() bool { return false })
	})
	if err == nil || !strings.Contains(err.Error(), "it shows no sign of serving 1s after its start, and showed none after 20s in other cases; first of all: it must answer") {
		t.Error(err)
	}
}

// TestAProgramThatHasServedIsWaitedFor: what it is asked then may take what a case
// has.
func TestAProgramThatHasServedIsWaitedFor(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 2*vainIn)
	defer cancel()
	err := Run(ctx, &Arrivals{missed: vainAfter}, func(c *T) {
		c.Start([]string{"sleep", "100"}, nil)
		c.Served()
		c.Await("it must answer", func() bool { return false })
	})
	if err == nil || !strings.HasPrefix(err.Error(), "waited in vain: it must answer") {
		t.Error(err)
	}
}
