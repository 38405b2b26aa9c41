package trial

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// Patience is how long one run of a case may take: several times what anything
// in the contract takes, so that only what hangs takes so long.
const Patience = 45 * time.Second

// lookEvery is the time between two looks of [T.Await].
const lookEvery = 5 * time.Millisecond

// T is one run of a case.
type T struct {
	ctx   context.Context
	undo  []func()
	notes []func() string

	arrivals *Arrivals
	launched time.Time // when a program was started last
	served   bool      // it has, in this case
}

// failure is what ends a case early; [Run] alone catches it.
type failure struct{ err error }

// Run runs a check and returns what it failed with, or nil. Everything that the
// check has started is ended when it returns. The arrivals are those of the suite.
func Run(ctx context.Context, arrivals *Arrivals, check func(*T)) (err error) {
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	t := &T{ctx: ctx, arrivals: arrivals}
	defer t.cleanUp()
	defer func() {
		switch ended := recover().(type) {
		case nil:
		case failure:
			err = t.explain(ended.err)
		default:
			panic(ended)
		}
	}()
	check(t)
	return nil
}

// explain adds to a failure what the program had to say.
func (t *T) explain(err error) error {
	for _, note := range t.notes {
		if words := note(); words != "" {
			err = fmt.Errorf("%w; %s", err, words)
		}
	}
	return err
}

func (t *T) cleanUp() {
	for _, undo := range slices.Backward(t.undo) {
		undo()
	}
}

// Context is done when the case has to end.
func (t *T) Context() context.Context { return t.ctx }

// Cleanup has undo called when the case has ended, the last one first.
func (t *T) Cleanup(undo func()) { t.undo = append(t.undo, undo) }

// Note has words added to a failure, unless they are empty.
func (t *T) Note(words func() string) { t.notes = append(t.notes, words) }

// Fatalf ends the case: the words say what the program must do otherwise.
func (t *T) Fatalf(format string, args ...any) {
	panic(failure{fmt.Errorf(format, args...)})
}

// Check ends the case if err is not nil; what says what was being done.
func (t *T) Check(err error, what string) {
	if err != nil {
		t.Fatalf("%s: %w", what, err)
	}
}

// Await waits until something is so. The words say what must come to be.
func (t *T) Await(words string, so func() bool) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for !so() {
		select {
		case <-tick.C:
			t.lookForArrival(words)
		case <-t.ctx.Done():
			t.Fatalf("waited in vain: %s", words)
		}
	}
}

// Dir makes a directory for this run. Its path is short, because sockets lie in
// it.
func (t *T) Dir() string {
	dir, err := os.MkdirTemp("", "fc")
	t.Check(err, "make a directory")
	t.Cleanup(func() { removeAll(dir) })
	return dir
}

// removeAll tries more than once: a process that is just ending may still write
// below dir.
func removeAll(dir string) {
	for range 10 {
		if os.RemoveAll(dir) == nil {
			return
		}
	}
}

// Quote shortens words of a program for a failure.
func Quote(words string) string {
	const most = 600
	words = strings.Join(strings.Fields(words), " ")
	if len(words) > most {
		words = "…" + strings.ToValidUTF8(words[len(words)-most:], "")
	}
	return fmt.Sprintf("%q", words)
}
