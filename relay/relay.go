package relay

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// Options are what a Relay may be given. The zero value is fine.
type Options struct {
	// Log gets publishes, refusals and damage; nil discards.
	Log *slog.Logger
	// Registerer gets flor_coordinator_requests_total (OBS-6) and
	// flor_coordinator_held_answers; nil keeps them unregistered.
	Registerer prometheus.Registerer
}

// Relay is a coordinator without its listeners. It is safe for concurrent use.
type Relay struct {
	storage   Storage
	log       *slog.Logger
	syncs     tally
	publishes tally

	now       atomic.Pointer[snapshot] // what readers see
	reads     atomic.Uint64            // questions that were asked
	turn      sync.Mutex               // held by whoever changes what is stored
	watches   watches
	uploads   uploads
	scratches scratches

	drain    sync.Once
	draining chan struct{}

	fault   sync.Mutex
	failErr error
	failed  chan struct{}
}

// snapshot is what is published at one time. It does not change.
type snapshot struct {
	tree     *Tree
	floors   Floors
	revision Revision
	damage   []Damage // what was unreadable when this was loaded
}

// New reads what is stored and makes a relay that serves it. Damage that the
// storage reports is logged and does not keep it from starting (CRD-7).
func New(ctx context.Context, storage Storage, opts Options) (*Relay, error) {
	if storage == nil {
		return nil, errors.New("a relay needs a storage and was given none: use OpenFileStore, or new(Memory)")
	}
	requests := newRequests()
	r := &Relay{
		storage:   storage,
		log:       opts.Log,
		syncs:     tally{operation: "sync", all: requests},
		publishes: tally{operation: "publish", all: requests},
		draining:  make(chan struct{}),
		failed:    make(chan struct{}),
	}
	if r.log == nil {
		r.log = slog.New(slog.DiscardHandler)
	}
	if err := r.register(opts.Registerer, requests); err != nil {
		return nil, fmt.Errorf("counters of the relay: %w", err)
	}
	r.now.Store(&snapshot{})
	if err := r.reload(ctx); err != nil {
		return nil, err
	}
	return r, nil
}

func (r *Relay) register(with prometheus.Registerer, requests *prometheus.CounterVec) error {
	if with == nil {
		return nil
	}
	held := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "flor_coordinator_held_answers",
		Help: "Requests that are being held until there is something new.",
	}, func() float64 { return float64(r.watches.count()) })
	if err := with.Register(held); err != nil {
		return err
	}
	return with.Register(requests)
}

// reload reads the storage and shows what it has. Whoever calls it has the turn,
// or is alone.
func (r *Relay) reload(ctx context.Context) error {
	state, revision, err := r.storage.Load(ctx)
	if err != nil {
		return fmt.Errorf("load the published tree: %w", err)
	}
	for _, d := range state.Damage {
		r.log.Error("stored state is damaged, a publish repairs it",
			"code", d.Reason.Code(), "reason", string(d.Reason), "file", d.Name, "set_aside_as", d.SetAs, "error", d.Problem)
	}
	before := r.now.Load()
	changed := difference(before.tree, state.Tree)
	r.show(&snapshot{
		tree: state.Tree, floors: state.Floors.Raise(state.Tree), revision: revision, damage: state.Damage,
	}, changed)
	return nil
}

// difference names the nodes whose sets differ between two trees.
func difference(before, after *Tree) []string {
	changed := departed(before, after)
	for _, node := range after.Nodes() {
		if held := before.set(node); held == nil || !held.identical(after.set(node)) {
			changed = append(changed, node)
		}
	}
	return changed
}

// show makes a snapshot visible and wakes who waits for what changed. The order
// matters: who is woken looks at the new one.
func (r *Relay) show(s *snapshot, changed []string) {
	r.now.Store(s)
	r.watches.wake(changed)
}

// Follow takes over what other relays put into the same storage, until ctx ends
// or the storage fails. A relay that is alone with its storage need not run it.
func (r *Relay) Follow(ctx context.Context) error {
	for {
		seen := r.now.Load().revision
		if err := r.storage.Watch(ctx, seen); err != nil {
			return err
		}
		if err := r.catchUp(ctx, seen); err != nil {
			return err
		}
	}
}

// catchUp loads what is stored, unless this relay has itself stored or loaded
// something since seen.
func (r *Relay) catchUp(ctx context.Context, seen Revision) error {
	r.turn.Lock()
	defer r.turn.Unlock()
	if r.now.Load().revision != seen {
		return nil
	}
	return r.reload(ctx)
}

// Published gives the tree that is served, nil when nothing is published.
func (r *Relay) Published() *Tree { return r.now.Load().tree }

// Damage tells what was unreadable when the stored state was loaded, and is empty
// again once a publish has been accepted, which is the cure (CRD-7).
func (r *Relay) Damage() []Damage { return r.now.Load().damage }

// Drain ends the held answers at once and refuses new ones (CRD-6). Requests
// that need no holding are served on; stopping the listeners is for the caller.
func (r *Relay) Drain() { r.drain.Do(func() { close(r.draining) }) }

func (r *Relay) isDraining() bool {
	select {
	case <-r.draining:
		return true
	default:
		return false
	}
}

// Failed is closed when the relay no longer knows what is stored (SET-2). The
// program must end as a crash, with Err in its log, and read the truth again at
// its next start. Until then reads go on and no publish is taken.
func (r *Relay) Failed() <-chan struct{} { return r.failed }

// Err tells why Failed is closed.
func (r *Relay) Err() error { return r.failure() }

func (r *Relay) fail(err error) {
	r.fault.Lock()
	defer r.fault.Unlock()
	if r.failErr == nil {
		r.failErr = err
		r.log.Error("what is stored is unknown, restart needed", "code", outcomeUnknown.Code(), "error", err)
		close(r.failed)
	}
}

func (r *Relay) failure() error {
	r.fault.Lock()
	defer r.fault.Unlock()
	return r.failErr
}

// reply counts and writes an answer.
func (r *Relay) reply(w http.ResponseWriter, req *http.Request, t *tally, a *answer) {
	t.count(a.result)
	a.write(w, req, &r.scratches)
}
