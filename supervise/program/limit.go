package program

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// LimitEvery is how often a repeated warning is logged (OBS-4).
	LimitEvery = 10 * time.Second
	// LimitPlaces is how many different warnings are told apart; those over it
	// share one place until older ones have been quiet.
	LimitPlaces = 1024
	// maxLimitKey cuts what a peer may have chosen, in bytes.
	maxLimitKey = 128
)

// SuppressedKey is the attribute with the number of records that were left out
// since the one before of the same place and key.
const SuppressedKey = "suppressed"

// LimitOptions say what [Limit] takes for the same. The zero value goes by
// place alone.
type LimitOptions struct {
	// Keys are the names of attributes, of With or of the record, whose values
	// tell records of one place apart. Their values should be of a bounded set:
	// a workload, a reason. Those inside a group do not count.
	Keys []string
	// Level is the lowest that is limited; nil is warn. Edges are logged at
	// info and pass.
	Level slog.Leveler
	// Every is the time that a repetition has to wait; zero or less is
	// [LimitEvery].
	Every time.Duration
	// Now is the clock; nil is time.Now.
	Now func() time.Time
}

// Limit returns a handler that passes a repeated record, of the same place in
// the source with the same message and the same keys, on to next at most once
// in 10 s, with the number that was suppressed (OBS-4). Loggers derived from it
// share its memory, which is bounded by [LimitPlaces]. A nil next discards.
func Limit(next slog.Handler, o LimitOptions) slog.Handler {
	if next == nil {
		next = slog.DiscardHandler
	}
	if o.Every <= 0 {
		o.Every = LimitEvery
	}
	if o.Level == nil {
		o.Level = slog.LevelWarn
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &limited{next: next, opts: o, memory: &limitMemory{limiter: limiter{every: o.Every, seen: map[place]sighting{}}}}
}

// limited is the handler; memory is shared by those derived from it.
type limited struct {
	next   slog.Handler
	opts   LimitOptions
	memory *limitMemory
	// given are the attributes of With that are keys.
	given   []slog.Attr
	grouped bool
}

type limitMemory struct {
	mu sync.Mutex
	limiter
}

func (m *limitMemory) admit(p place, now time.Time) (bool, uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.limiter.admit(p, now)
}

// Enabled asks the handler behind.
func (h *limited) Enabled(ctx context.Context, level slog.Level) bool {
	return h.next.Enabled(ctx, level)
}

// Handle passes a record on, or counts it.
func (h *limited) Handle(ctx context.Context, r slog.Record) error {
	if r.Level < h.opts.Level.Level() {
		return h.next.Handle(ctx, r)
	}
	ok, suppressed := h.memory.admit(h.place(r), h.opts.Now())
	if !ok {
		return nil
	}
	if suppressed > 0 {
		r = r.Clone()
		r.AddAttrs(slog.Uint64(SuppressedKey, suppressed))
	}
	return h.next.Handle(ctx, r)
}

// place is where and about what a record was logged.
func (h *limited) place(r slog.Record) place {
	found := slices.Clone(h.given)
	r.Attrs(func(a slog.Attr) bool {
		if !h.grouped && h.isKey(a) {
			found = append(found, a)
		}
		return true
	})
	var key strings.Builder
	for _, a := range found {
		value := text(a.Value.Resolve())
		key.WriteString(a.Key + "=" + value[:min(len(value), maxLimitKey)] + "\x00")
	}
	return place{pc: r.PC, message: r.Message, key: key.String()}
}

func (h *limited) isKey(a slog.Attr) bool { return slices.Contains(h.opts.Keys, a.Key) }

// WithAttrs returns a handler that adds attributes to each record.
func (h *limited) WithAttrs(attrs []slog.Attr) slog.Handler {
	next := *h
	next.next = h.next.WithAttrs(attrs)
	next.given = slices.Clip(h.given)
	for _, a := range attrs {
		if !h.grouped && h.isKey(a) {
			next.given = append(next.given, a)
		}
	}
	return &next
}

// WithGroup returns a handler that puts a name before each key.
func (h *limited) WithGroup(name string) slog.Handler {
	next := *h
	next.next = h.next.WithGroup(name)
	next.grouped = h.grouped || name != ""
	return &next
}

// limiter decides which records pass. It is pure: the time comes with each
// question.
type limiter struct {
	every time.Duration
	seen  map[place]sighting
}

type place struct {
	pc           uintptr
	message, key string
}

// sighting is when a record of a place passed last, and how many did not since.
type sighting struct {
	passed     time.Time
	suppressed uint64
}

// admit reports whether a record passes, and how many did not since the last
// that did.
func (l *limiter) admit(p place, now time.Time) (ok bool, suppressed uint64) {
	p = l.known(p, now)
	s, again := l.seen[p]
	if again && now.Sub(s.passed) < l.every {
		s.suppressed++
		l.seen[p] = s
		return false, 0
	}
	l.seen[p] = sighting{passed: now}
	return true, s.suppressed
}

// known returns p, or the place that all share when there are too many. Then
// those that were quiet are forgotten, with their counts.
func (l *limiter) known(p place, now time.Time) place {
	if _, known := l.seen[p]; known || len(l.seen) < LimitPlaces {
		return p
	}
	for other, s := range l.seen {
		if now.Sub(s.passed) >= l.every {
			delete(l.seen, other)
		}
	}
	if len(l.seen) < LimitPlaces {
		return p
	}
	return place{}
}
