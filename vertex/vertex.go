package vertex

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/quic-go/quic-go"
	"github.com/spiffe/go-spiffe/v2/spiffeid"

	"github.com/florete/flor/envelope/schema"
)

// Options of a vertex. The zero value works.
type Options struct {
	Log        *slog.Logger          // nil: nothing is logged
	Registerer prometheus.Registerer // nil: nothing is registered (OBS-6)
	Now        func() time.Time      // the wall clock; nil: time.Now (VTX-5, VTX-8)
	Grace      time.Duration         // for open connections when Run ends; 0: 8 s (VTX-15)
	Limits     Limits                // zero fields: DefaultLimits (VTX-14)

	// ResetKey is the secret from which stateless-reset tokens are made; it
	// should be the same after a restart. Nil: it is derived from the key of a
	// local principal (VTX-1); where that cannot be exported, it is a new one at
	// each start, and peers take some seconds to notice a restart.
	ResetKey *quic.StatelessResetKey
}

// Vertex carries TCP connections between principals. Make one with [New].
// All methods may be called from several goroutines at once.
type Vertex struct {
	opts     Options
	log      *slog.Logger
	now      func() time.Time
	limits   Limits
	meter    *meter
	tables   atomic.Pointer[tables]
	applying sync.Mutex // serializes Apply and Reload
	sweeping sync.Mutex // serializes looks at connections; may be taken under applying
	keys     *keyring
	faults   map[spiffeid.ID]bool // principals whose missing identity was reported; under applying

	endpoint  *endpointSlot
	inbounds  *inbounds
	live      *registry
	flows     *flows
	edges     *edges
	streams   *quota
	turns     *turns
	listeners sync.Map // spiffeid.ID to *Listener

	poolsMu sync.Mutex
	pools   map[pair]*pool

	life     context.Context // of everything that Run started
	endLife  context.CancelFunc
	draining atomic.Bool
	stateMu  sync.Mutex // guards running and stopped
	running  bool
	stopped  bool
	work     sync.WaitGroup
}

// New prepares a vertex for a payload, without opening anything, so that one
// that is never run need not be closed. The payload is copied and stays the
// caller's. It fails with a *PayloadError for a payload that it cannot serve, and
// with another error when a limit is negative, the CA cannot be read or a counter
// cannot be registered: two vertices in one process want a Registerer each, such as that of
// prometheus.WrapRegistererWith.
func New(payload *schema.Vertex, ids Identities, opts Options) (*Vertex, error) {
	if err := opts.Limits.check(); err != nil {
		return nil, err
	}
	bundle, err := readBundle(ids)
	if err != nil {
		return nil, err
	}
	t, err := readPayload(payload, bundle.TrustDomain())
	if err != nil {
		return nil, err
	}
	keys, err := newKeyring(ids, t.locals)
	if err != nil {
		return nil, err
	}
	v := assemble(opts, t, keys)
	if err := v.meter.register(opts.Registerer); err != nil {
		return nil, fmt.Errorf("registering the vertex's counters: %w", err)
	}
	return v, nil
}

func assemble(opts Options, t *tables, keys *keyring) *Vertex {
	opts = opts.withDefaults()
	v := &Vertex{
		opts: opts, log: opts.Log, now: opts.Now, limits: opts.Limits,
		meter: newMeter(), keys: keys, faults: map[spiffeid.ID]bool{},
		endpoint: newEndpointSlot(), live: newRegistry(), flows: newFlows(), edges: newEdges(opts.Log), pools: map[pair]*pool{},
		streams: newQuota(opts.Limits.StreamsPerInitiator), turns: newTurns(turnPlaces()),
	}
	v.life, v.endLife = context.WithCancel(context.Background())
	v.inbounds = &inbounds{serve: v.serveClient, run: v.work.Go, log: v.log, ports: map[inbound]*port{}}
	v.tables.Store(t)
	return v
}

func (o Options) withDefaults() Options {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Grace <= 0 {
		o.Grace = defaultGrace
	}
	o.Limits = o.Limits.withDefaults()
	return o
}

// Run serves until ctx is cancelled, then drains (VTX-15) and returns when
// every goroutine and descriptor of the vertex is gone. It is called once.
// Ports that are busy are tried again while everything else serves, so it
// fails only when it is called twice.
func (v *Vertex) Run(ctx context.Context) error {
	if !v.begin() {
		return errors.New("the vertex runs already, or has been stopped")
	}
	v.settle() // before the transport, so that a vertex which is ready has tried its ports
	v.work.Go(v.bind)
	v.work.Go(v.guard)
	v.work.Go(v.watchIdentities)
	<-ctx.Done()
	grace, cancel := context.WithTimeout(context.Background(), v.opts.Grace)
	defer cancel()
	v.Drain(grace)
	v.stop()
	return nil
}

func (v *Vertex) begin() bool {
	v.stateMu.Lock()
	defer v.stateMu.Unlock()
	if v.running || v.stopped {
		return false
	}
	v.running = true
	return true
}

// enter lets a caller from outside take part in the vertex's work until it leaves.
func (v *Vertex) enter() (leave func(), ok bool) {
	v.stateMu.Lock()
	defer v.stateMu.Unlock()
	if !v.running || v.stopped {
		return nil, false
	}
	v.work.Add(1)
	return v.work.Done, true
}

// stop ends what is left, tells peers why, and waits.
func (v *Vertex) stop() {
	v.stateMu.Lock()
	v.stopped = true
	v.stateMu.Unlock()
	v.closeListeners()
	v.endLife()
	v.endAll(Shutdown)
	v.work.Wait()
	if e := v.endpoint.get(); e != nil {
		_ = e.close()
	}
}

// closeListeners lets go of programs that wait in Accept (VTX-17).
func (v *Vertex) closeListeners() {
	for _, l := range v.listeners.Range {
		_ = l.(*Listener).Close()
	}
}

func (v *Vertex) endAll(r Reason) {
	for _, e := range v.live.all() {
		e.end(r)
	}
}
