package traffic

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Watch asks a question over and over, as a user would who cannot wait, and
// remembers what came of it.
type Watch struct {
	stop context.CancelFunc
	work sync.WaitGroup
	mu   sync.Mutex
	seen Seen
	last time.Time // of the last answer, or of the start
}

// Seen is what a user saw during a watch.
type Seen struct {
	Asked, Answered int
	// Silence is the longest time between two answers, or from the start to the
	// first, or from the last to the end.
	Silence time.Duration
	// Typical is the median time of a question that was answered.
	Typical time.Duration
	// Fault is the last failure; nil when every question was answered.
	Fault error

	took []time.Duration
}

// Bounds of a watch: the pause between questions, and the time of one.
const (
	askEvery  = 20 * time.Millisecond
	askWithin = 10 * time.Second
)

// StartWatch begins to ask. Stop ends it.
func StartWatch(ctx context.Context, ask func(context.Context) error) *Watch {
	ctx, stop := context.WithCancel(ctx)
	w := &Watch{stop: stop, last: time.Now()}
	w.work.Go(func() { w.run(ctx, ask) })
	return w
}

func (w *Watch) run(ctx context.Context, ask func(context.Context) error) {
	pause := time.NewTicker(askEvery)
	defer pause.Stop()
	for {
		began := time.Now()
		try, done := context.WithTimeout(ctx, askWithin)
		err := ask(try)
		done()
		if ctx.Err() != nil {
			return
		}
		w.note(began, time.Now(), err)
		select {
		case <-pause.C:
		case <-ctx.Done():
			return
		}
	}
}

func (w *Watch) note(began, ended time.Time, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen.Asked++
	if err != nil {
		w.seen.Fault = err
		return
	}
	w.seen.Answered++
	w.seen.took = append(w.seen.took, ended.Sub(began))
	w.seen.Silence = max(w.seen.Silence, ended.Sub(w.last))
	w.last = ended
}

// Seen tells what was seen so far.
func (w *Watch) Seen() Seen { return w.until(time.Now()) }

func (w *Watch) until(now time.Time) Seen {
	w.mu.Lock()
	defer w.mu.Unlock()
	seen := w.seen
	seen.Silence = max(seen.Silence, now.Sub(w.last))
	if took := slices.Clone(seen.took); len(took) > 0 {
		slices.Sort(took)
		seen.Typical = took[len(took)/2]
	}
	return seen
}

// Stop ends the watch and tells what was seen.
func (w *Watch) Stop() Seen {
	w.stop()
	w.work.Wait()
	return w.until(time.Now())
}
