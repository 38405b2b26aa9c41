package trial

import (
	"sync"
	"time"
)

// How long a case waits for a program that has never served, since its start.
const (
	arriveIn  = 20 * time.Second // as long as it may
	vainIn    = time.Second      // where vainAfter cases have waited so long in vain
	vainAfter = 3
)

// Arrivals remember, for all cases of one suite, whether the program under test has
// ever served: one that never does is told so soon, and not after all the patience
// of every case (CNF-3). The zero value has seen nothing. It may be used from several
// goroutines.
type Arrivals struct {
	mu     sync.Mutex
	served bool
	missed int // cases that have waited in vain
}

func (a *Arrivals) note() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.served = true
}

func (a *Arrivals) miss() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.missed++
}

// limit is how long to wait for the program since its start; 0 says that it has
// served in some case, and may take what a case has.
func (a *Arrivals) limit() time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.served:
		return 0
	case a.missed >= vainAfter:
		return vainIn
	}
	return arriveIn
}

// Served says that the program under test does something which only a program does
// that serves: it has answered, or has run for long enough.
func (t *T) Served() {
	if !t.served {
		t.served = true
		t.arrivals.note()
	}
}

// lookForArrival ends the case of a program that was started and has not served in
// this case nor in any other, once it has had its time. The words say what is awaited.
func (t *T) lookForArrival(words string) {
	if t.launched.IsZero() {
		return
	}
	limit := t.arrivals.limit()
	if limit == 0 || time.Since(t.launched) < limit {
		return
	}
	t.arrivals.miss()
	if limit < arriveIn {
		t.Fatalf("it shows no sign of serving %v after its start, and showed none after %v in other cases; first of all: %s", limit, arriveIn, words)
	}
	t.Fatalf("it shows no sign of serving %v after its start; first of all: %s", limit, words)
}
