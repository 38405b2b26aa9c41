package vertex

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// attempt answers after a while, or fails after a while, unless it is called off.
func attempt(after time.Duration, leg *streamLeg, err error) func(context.Context) (*streamLeg, error) {
	return func(ctx context.Context) (*streamLeg, error) {
		if pause(ctx, after) != nil {
			return nil, ctx.Err()
		}
		return leg, err
	}
}

// VTX-5: the suspect rule, in time that is not real.
func TestHedgeTakesWhicheverAnswersFirst(t *testing.T) {
	t.Parallel()
	pooled, fresh := &streamLeg{}, &streamLeg{}
	broken := errors.New("broken")
	const never = time.Hour
	for _, tt := range []struct {
		name          string
		suspectIn     time.Duration
		pooled, fresh func(context.Context) (*streamLeg, error)
		want          *streamLeg
		err           error
		took          time.Duration
	}{
		{"a pooled connection that answers is used alone", 3 * time.Second,
			attempt(time.Second, pooled, nil), attempt(0, fresh, nil), pooled, nil, time.Second},
		{"a suspect one has a fresh one beside it at once", 0,
			attempt(never, pooled, nil), attempt(time.Second, fresh, nil), fresh, nil, time.Second},
		{"one that goes silent has a fresh one beside it after 3 s", 3 * time.Second,
			attempt(never, pooled, nil), attempt(time.Second, fresh, nil), fresh, nil, 4 * time.Second},
		{"one that fails is told at once", 3 * time.Second,
			attempt(time.Second, nil, broken), attempt(0, fresh, nil), nil, broken, time.Second},
		{"one that fails while a fresh one is dialled waits for that", 0,
			attempt(time.Second, nil, broken), attempt(2*time.Second, fresh, nil), fresh, nil, 2 * time.Second},
		{"when both fail the pooled one's error counts", 0,
			attempt(time.Second, nil, broken), attempt(2*time.Second, nil, errors.New("other")), nil, broken, 2 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begun := time.Now()
				suspectIn := func() time.Duration { return time.Until(begun.Add(tt.suspectIn)) }
				got, err := newHedge(suspectIn, tt.pooled, tt.fresh).race(t.Context(), func(f func()) { go f() })
				if got != tt.want || !errors.Is(err, tt.err) {
					t.Errorf("got %p, %v, want %p, %v", got, err, tt.want, tt.err)
				}
				if took := time.Since(begun); took != tt.took {
					t.Errorf("took %v, want %v", took, tt.took)
				}
			})
		})
	}
}

// VTX-5: packets that arrive push suspicion away.
func TestHedgeLooksAgainBeforeItDials(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		suspectIn := func() time.Duration {
			heard := begun.Add(min(time.Since(begun), 2*time.Second).Truncate(2 * time.Second))
			return time.Until(heard.Add(3 * time.Second))
		}
		dialled := time.Time{}
		fresh := func(context.Context) (*streamLeg, error) {
			dialled = time.Now()
			return &streamLeg{}, nil
		}
		if _, err := newHedge(suspectIn, attempt(time.Hour, nil, nil), fresh).race(t.Context(), func(f func()) { go f() }); err != nil {
			t.Fatal(err)
		}
		if got := dialled.Sub(begun); got != 5*time.Second {
			t.Errorf("dialled after %v, want 5 s", got)
		}
	})
}
