package agent

import (
	"sync"
	"time"

	"github.com/florete/flor/store"
	"github.com/florete/flor/supervise/control"
)

// facts is what the agent knows of itself beyond what the supervisor tells. It
// is a value; what its fields point to does not change.
type facts struct {
	gen   *generation
	state store.State
	// activated is the version that the supervisor was last given.
	activated            uint64
	activatedAt          time.Time
	recovered, trustLost bool
	// stopping is since when the agent is ending, zero while it is not.
	stopping time.Time

	// last is the last sync, fetched the last one that asked a coordinator.
	last, fetched *control.SyncResult
	// trouble is the message of a fetched sync that did not end well.
	trouble      string
	troubleSince time.Time
	// attempts counts syncs and watches since the trouble began.
	attempts    int
	next        time.Time
	lastContact time.Time
	lastChange  time.Time
	olderOffers uint64

	// said is what workloads say of themselves.
	said voices
	// obstacles names what keeps the active set from being confirmed, late the
	// same once it has taken too long.
	obstacles, late []string
	// unwritten is why the mark of the active set could not be written, empty
	// when that was not tried or went well.
	unwritten string
	// untidy is what of the scope could not be put in order on disk, empty when
	// all could.
	untidy string
}

// confirmed tells whether the mark has reached version and nothing is pending.
func (f facts) confirmed(version uint64) bool {
	return f.state.Mark >= version && f.state.Pending == 0
}

// board holds the facts and tells who watches that they changed. It is safe
// for concurrent use.
type board struct {
	mu      sync.Mutex
	facts   facts
	changed chan struct{}
}

func newBoard(f facts) *board { return &board{facts: f, changed: make(chan struct{})} }

// read gives the facts of this moment.
func (b *board) read() facts {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.facts
}

// watch gives a channel that is closed at the next change. Take it before
// reading, so that no change is missed.
func (b *board) watch() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.changed
}

// update changes the facts in one step.
func (b *board) update(change func(*facts)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	change(&b.facts)
	b.notify()
}

// stir wakes who watches although no fact changed: the supervisor's did.
func (b *board) stir() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.notify()
}

func (b *board) notify() {
	close(b.changed)
	b.changed = make(chan struct{})
}
