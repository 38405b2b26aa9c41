package agent

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/florete/flor/supervise/control"
)

const even = 0.5 // the jitter that varies nothing

// AGT-4.1: the pace of fetches, as a script of answers and delays.
func TestFetchPace(t *testing.T) {
	t.Parallel()
	const interval = 5 * time.Second
	ms := time.Millisecond
	type turn struct {
		answer answer
		delay  time.Duration
		wait   time.Duration
	}
	fault := answer{bad: true}
	tests := []struct {
		name  string
		turns []turn
	}{
		{"without watching the poll interval is kept", []turn{
			{answer{empty: true}, interval, 0},
			{answer{}, interval, 0},
		}},
		{"with watching the next watch follows at once", []turn{
			{answer{empty: true, watches: true}, 0, watchFor},
			{answer{empty: true, watches: true, watched: true, took: 55 * time.Second}, 0, watchFor},
			{answer{watches: true, watched: true, took: 10 * ms}, 0, watchFor},
		}},
		{"a watch answered empty at once is not repeated at once", []turn{
			{answer{empty: true, watches: true, watched: true}, 250 * ms, watchFor},
			{answer{empty: true, watches: true, watched: true}, 500 * ms, watchFor},
			{answer{empty: true, watches: true, watched: true, took: time.Second}, 0, watchFor},
		}},
		{"faults double from 250 ms to the interval", []turn{
			{fault, 250 * ms, 0}, {fault, 500 * ms, 0}, {fault, 1000 * ms, 0}, {fault, 2000 * ms, 0},
			{fault, 4000 * ms, 0}, {fault, interval, 0}, {fault, interval, 0},
			{answer{}, interval, 0}, {fault, 250 * ms, 0},
		}},
		{"after a fault the first answer is not waited for", []turn{
			{answer{empty: true, watches: true}, 0, watchFor},
			{fault, 250 * ms, 0},
			{answer{empty: true, watches: true}, 0, watchFor},
		}},
		{"while the coordinator has nothing for us watches begin short and grow", []turn{
			{answer{empty: true, wanting: true, watches: true}, 0, time.Second},
			{answer{empty: true, wanting: true, watches: true, watched: true, took: time.Second}, 0, 2 * time.Second},
			{answer{empty: true, wanting: true, watches: true, watched: true, took: 2 * time.Second}, 0, 4 * time.Second},
			{answer{empty: true, watches: true, watched: true, took: 4 * time.Second}, 0, watchFor},
			{answer{empty: true, wanting: true, watches: true, watched: true, took: time.Second}, 0, time.Second},
		}},
		{"a set refused twice waits the whole interval", []turn{
			{answer{bad: true, digest: "x"}, 250 * ms, 0},
			{answer{bad: true, digest: "x"}, interval, 0},
			{answer{bad: true, digest: "y"}, 500 * ms, 0},
			{fault, 1000 * ms, 0},
			{answer{bad: true, digest: "y"}, interval, 0},
			{answer{bad: true, digest: "z", watches: true}, 2000 * ms, 0},
		}},
		{"another coordinator that cannot watch is polled", []turn{
			{answer{watches: true}, 0, watchFor},
			{answer{empty: true}, interval, 0},
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var p pacer
			for i, turn := range tt.turns {
				got := [2]time.Duration{p.after(turn.answer, interval, even), p.wait()}
				if diff := cmp.Diff([2]time.Duration{turn.delay, turn.wait}, got); diff != "" {
					t.Fatalf("turn %d: %s", i, diff)
				}
			}
		})
	}
}

// AGT-4: jitter is 10 % up or down, no more.
func TestJitterStaysWithinTenPercent(t *testing.T) {
	t.Parallel()
	got := []time.Duration{vary(time.Second, 0), vary(time.Second, even), vary(time.Second, 1)}
	want := []time.Duration{900 * time.Millisecond, time.Second, 1100 * time.Millisecond}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// AGT-4.1: what is this machine's own trouble is tried again soon, also with the
// same set: space on a disk comes back without anybody telling the agent.
func TestOnlyARefusedSetWaitsTheWholeInterval(t *testing.T) {
	t.Parallel()
	const interval = 5 * time.Minute
	for _, tt := range []struct {
		name   string
		result control.Result
		reason Reason
		second time.Duration // the delay after the same outcome twice
	}{
		{"refused", control.Refused, Unservable, interval},
		{"no room on disk", control.Failed, NotStaged, 500 * time.Millisecond},
		{"the check broke", control.Failed, CheckFailed, 500 * time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := outcome{SyncResult: control.SyncResult{Result: tt.result, Reason: string(tt.reason)}, digest: "x"}
			var p pacer
			p.after(answer{}.of(o), interval, even)
			if got := p.after(answer{}.of(o), interval, even); got != tt.second {
				t.Errorf("the next fetch is due in %v, want %v", got, tt.second)
			}
		})
	}
}
