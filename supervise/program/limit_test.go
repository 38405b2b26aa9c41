package program

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// OBS-4.
func TestARepeatedWarningIsLoggedOnceInTenSeconds(t *testing.T) {
	t.Parallel()
	now := noon
	got := logged(t, LogOptions{Component: "gate"}, func(l *slog.Logger) {
		l = slog.New(Limit(l.Handler(), LimitOptions{Keys: []string{"reason"}, Now: func() time.Time { return now }}))
		warn := func(after time.Duration, reason string) {
			now = noon.Add(after)
			at(l.With("peer", after.String()), slog.LevelWarn, "refused", "reason", reason)
		}
		warn(0, "expired")
		warn(time.Second, "expired")
		warn(2*time.Second, "unknown")
		warn(9999*time.Millisecond, "expired")
		warn(10*time.Second, "expired")
		warn(11*time.Second, "expired")
		warn(30*time.Second, "expired")
		warn(50*time.Second, "expired")
	})
	const head = "2026-04-20T12:00:00.123Z WARN gate: refused "
	want := []string{
		"peer=0s reason=expired",
		"peer=2s reason=unknown",
		"peer=10s reason=expired suppressed=2",
		"peer=30s reason=expired suppressed=1",
		"peer=50s reason=expired",
	}
	var lines []string
	for line := range strings.Lines(got) {
		lines = append(lines, strings.TrimSuffix(strings.TrimPrefix(line, head), "\n"))
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWhatTellsRecordsApart(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		log  func(l *slog.Logger)
		want int
	}{
		{"the same place and key is one", func(l *slog.Logger) {
			for range 5 {
				l.Warn("m", "k", 1)
			}
		}, 1},
		{"another place is another", func(l *slog.Logger) {
			l.Warn("m", "k", 1)
			l.Warn("m", "k", 1)
		}, 2},
		{"a key of With counts as one of the record", func(l *slog.Logger) {
			for i := range 5 {
				l.With("k", i%2).Warn("m")
			}
		}, 2},
		{"another attribute does not count", func(l *slog.Logger) {
			for i := range 5 {
				l.With("x", i).Warn("m", "y", i)
			}
		}, 1},
		{"nor a key inside a group", func(l *slog.Logger) {
			for i := range 5 {
				l.WithGroup("g").Warn("m", "k", i)
			}
		}, 1},
		{"info passes", func(l *slog.Logger) {
			for range 5 {
				l.Info("m")
			}
		}, 5},
		{"errors are limited as well", func(l *slog.Logger) {
			for range 5 {
				l.Error("m")
			}
		}, 1},
		{"what a peer chose is cut", func(l *slog.Logger) {
			for i := range 5 {
				l.Warn("m", "k", strings.Repeat("x", maxLimitKey)+fmt.Sprint(i))
			}
		}, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := logged(t, LogOptions{}, func(l *slog.Logger) {
				tt.log(slog.New(Limit(l.Handler(), LimitOptions{Keys: []string{"k"}, Now: func() time.Time { return noon }})))
			})
			if n := strings.Count(got, "\n"); n != tt.want {
				t.Errorf("%d lines, want %d:\n%s", n, tt.want, got)
			}
		})
	}
}

// The law of OBS-4: whatever comes, nothing is lost without being counted, no
// place is heard of twice within the time, and memory is bounded.
func TestTheLimiterCountsAllAndForgetsOnlyTheQuiet(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l := limiter{every: 10 * time.Second, seen: map[place]sighting{}}
		now, last := noon, map[place]time.Time{}
		var asked, passed, counted uint64
		for range rapid.IntRange(1, 300).Draw(t, "records") {
			now = now.Add(time.Duration(rapid.IntRange(0, 4000).Draw(t, "ms")) * time.Millisecond)
			p := place{key: fmt.Sprint(rapid.IntRange(0, 5).Draw(t, "key"))}
			asked++
			ok, suppressed := l.admit(p, now)
			counted += suppressed
			if !ok {
				continue
			}
			passed++
			if before, again := last[p]; again && now.Sub(before) < l.every {
				t.Fatalf("%v again after %v", p, now.Sub(before))
			}
			last[p] = now
		}
		for _, s := range l.seen {
			counted += s.suppressed
		}
		if passed+counted != asked {
			t.Fatalf("%d asked, %d passed, %d counted", asked, passed, counted)
		}
	})
}

func TestTooManyPlacesShareOne(t *testing.T) {
	t.Parallel()
	l := limiter{every: 10 * time.Second, seen: map[place]sighting{}}
	passed := 0
	admit := func(key int, now time.Time) {
		if ok, _ := l.admit(place{key: fmt.Sprint(key)}, now); ok {
			passed++
		}
	}
	for key := range 2 * LimitPlaces {
		admit(key, noon)
	}
	if passed != LimitPlaces+1 || len(l.seen) != LimitPlaces+1 {
		t.Errorf("%d passed, %d in memory, want the limit and one", passed, len(l.seen))
	}
	admit(3*LimitPlaces, noon.Add(10*time.Second))
	if passed != LimitPlaces+2 || len(l.seen) != 1 {
		t.Errorf("%d passed, %d in memory after all were quiet", passed, len(l.seen))
	}
}

// A handler that derives others must not let them write into each other.
func TestDerivedLoggersKeepTheirKeys(t *testing.T) {
	t.Parallel()
	var h slog.Handler = Limit(slog.DiscardHandler, LimitOptions{Keys: []string{"a", "b"}})
	h = h.WithAttrs([]slog.Attr{slog.Int("a", 1), slog.Int("a", 2), slog.Int("a", 3)}) // room for a fourth
	one, two := h.WithAttrs([]slog.Attr{slog.Int("b", 1)}), h.WithAttrs([]slog.Attr{slog.Int("b", 2)})
	keys := func(h slog.Handler) string { return h.(*limited).place(slog.Record{}).key }
	if got := []string{keys(one), keys(two)}; !slices.Equal(got, []string{"a=1\x00a=2\x00a=3\x00b=1\x00", "a=1\x00a=2\x00a=3\x00b=2\x00"}) {
		t.Errorf("keys %q", got)
	}
	if h.Enabled(context.Background(), slog.LevelError) {
		t.Error("it is enabled although the handler behind is not")
	}
}

// TestALimitOfNothingDiscards, and one that waits a negative time waits the usual one.
func TestALimitOfNothingDiscards(t *testing.T) {
	t.Parallel()
	slog.New(Limit(nil, LimitOptions{})).Warn("to nobody")
	records := 0
	count := slog.New(Limit(counting{&records}, LimitOptions{Every: -1, Now: func() time.Time { return noon }}))
	for range 3 {
		count.Warn("again")
	}
	if records != 1 {
		t.Errorf("%d of three records passed, want one", records)
	}
}

// counting is a handler that only counts.
type counting struct{ records *int }

func (c counting) Enabled(context.Context, slog.Level) bool  { return true }
func (c counting) Handle(context.Context, slog.Record) error { *c.records++; return nil }
func (c counting) WithAttrs([]slog.Attr) slog.Handler        { return c }
func (c counting) WithGroup(string) slog.Handler             { return c }
