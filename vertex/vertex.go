package vertex

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
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
	Now        func() time.Time      // the wall clock; nil: time.Now (VTX-8)
	Grace      time.Duration         // for open connections when Run ends; 0: 8 s (VTX-15)
	Limits     Limits                // zero fields: DefaultLimits (VTX-14)

	// ResetKey is the secret from which stateless-reset tokens are made; it
	// should be the same after a restart. Nil: it is derived from the key of a
	// local principal (VTX-1).
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
	keys     *keyring
	faults   map[spiffeid.ID]bool // principals whose missing identity was reported; under applying

	endpoint  *endpointSlot
	inbounds  *inbounds
	live      *registry
	edges     *edges
	streams   *quota
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

// ErrRestart says that a payload differs in more than tables, so that only a
// new vertex can serve it (VTX-16).
var ErrRestart = errors.New(codeRestart + " restart-needed: the payload differs in more than its access lists, links, revocations and local ports; restart the vertex with it")

// PayloadError is a payload that this build cannot serve; trying again does
// not help (exit code 78).
type PayloadError struct {
	code, reason string
	Err          error
}

func (e *PayloadError) Error() string {
	return fmt.Sprintf("%s %s: %v", e.code, e.reason, e.Err)
}

// Code is the stable code of the refusal.
func (e *PayloadError) Code() string { return e.code }

func (e *PayloadError) Unwrap() error { return e.Err }

// Check tells whether a payload can be served by this build under a trust
// domain, without serving it. The error is a *PayloadError (VTX-13, VTX-18).
func Check(payload *schema.Vertex, domain spiffeid.TrustDomain) error {
	_, err := readPayload(payload, domain)
	return err
}

func readPayload(payload *schema.Vertex, domain spiffeid.TrustDomain) (*tables, error) {
	if err := payload.Validate(); err != nil {
		return nil, &PayloadError{codePayload, "unservable-payload", err}
	}
	if payload.Kind != "link" {
		return nil, &PayloadError{codeMesh, "mesh-engine-absent", errors.New("mesh engine not in this build")}
	}
	t, err := newTables(payload)
	if err != nil {
		return nil, &PayloadError{codePayload, "unservable-payload", err}
	}
	if len(t.locals) > 0 && t.domain != domain {
		err := fmt.Errorf("the payload is for trust domain %s and this node's identities are of %s; enrol the node in the right one", t.domain, domain)
		return nil, &PayloadError{codeTrustDomain, "foreign-trust-domain", err}
	}
	return t, nil
}

// New prepares a vertex for a payload, without opening anything. It fails with
// a *PayloadError for a payload that it cannot serve, and with another error
// when the CA cannot be read or a counter cannot be registered.
func New(payload *schema.Vertex, ids Identities, opts Options) (*Vertex, error) {
	bundle, err := ids.Bundle()
	if err != nil {
		return nil, fmt.Errorf("reading the CA of the trust domain: %w", err)
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
	return v, v.meter.register(opts.Registerer)
}

func assemble(opts Options, t *tables, keys *keyring) *Vertex {
	opts = opts.withDefaults()
	v := &Vertex{
		opts: opts, log: opts.Log, now: opts.Now, limits: opts.Limits,
		meter: newMeter(), keys: keys, faults: map[spiffeid.ID]bool{},
		endpoint: newEndpointSlot(), live: newRegistry(), edges: newEdges(opts.Log), pools: map[pair]*pool{},
		streams: newQuota(opts.Limits.StreamsPerInitiator),
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
	v.endLife()
	v.endAll(Shutdown)
	v.work.Wait()
	if e := v.endpoint.get(); e != nil {
		_ = e.close()
	}
}

func (v *Vertex) endAll(r Reason) {
	for _, e := range v.live.all() {
		e.end(r)
	}
}

// start registers a new QUIC connection, looks at it as the gate does, and
// opens the control stream.
func (v *Vertex) start(s *session) error {
	v.live.add(s)
	v.work.Add(1)
	context.AfterFunc(s.conn.Context(), func() {
		defer v.work.Done()
		v.ended(s)
	})
	if reason := v.admit(s); reason != 0 {
		s.end(reason)
		return &Error{Reason: reason}
	}
	if v.life.Err() != nil {
		s.end(Shutdown)
		return &Error{Reason: VertexStopping}
	}
	if err := s.openControl(); err != nil {
		return err
	}
	if v.draining.Load() {
		s.sayDraining()
	}
	v.work.Go(func() { s.readControl(v.life, func() { v.retire(s, Draining) }) })
	return nil
}

func (v *Vertex) ended(s *session) {
	v.live.remove(s)
	if s.limits.side == dialling {
		v.pool(s.limits.pair).remove(s)
	}
	v.log.Debug("peer connection ended", "initiator", s.limits.initiator, "target", s.limits.target,
		"reason", quicReason(context.Cause(s.conn.Context())))
}

// retire lets a connection carry what it carries, and nothing new.
func (v *Vertex) retire(s *session, r Reason) {
	if !s.retired.CompareAndSwap(false, true) {
		return
	}
	if s.limits.side == dialling {
		v.pool(s.limits.pair).remove(s)
	}
	v.work.Go(func() { s.outlast(r) })
}

// carry copies a flow until it ends, and counts it.
func (v *Vertex) carry(p pair, near, far leg, local *bound) {
	f := &flow{pair: p, near: near, far: far}
	f.up, f.down = v.meter.open(p)
	if local != nil {
		e := &localFlow{*local, f}
		v.live.add(e)
		defer v.live.remove(e)
		if reason := v.tables.Load().verdict(*local, v.now()); reason != 0 {
			f.end(reason)
		}
	}
	reason := f.run()
	v.meter.close(p, reason)
	v.log.Debug("connection ended", "initiator", p.initiator, "target", p.target, "reason", reason, "code", reason.Code())
}

// bind opens the UDP socket, trying again while its port is busy, and accepts.
func (v *Vertex) bind() {
	e := v.openEndpoint()
	if e == nil {
		return
	}
	v.endpoint.set(e)
	v.reportTransport(e)
	v.acceptLoop(e)
}

// reportTransport is the vertex's part of the start line (OBS-5, VTX-9).
func (v *Vertex) reportTransport(e *endpoint) {
	receive, send := buffers(e.udp)
	v.log.Info("vertex serving", "transport", e.udp.LocalAddr(), "receive_buffer", receive, "send_buffer", send)
	if min(receive, send) < wantedBuffer {
		v.log.Warn("the kernel grants small UDP buffers: raise net.core.rmem_max and net.core.wmem_max",
			"wanted", wantedBuffer, "receive_buffer", receive, "send_buffer", send)
	}
}

func (v *Vertex) openEndpoint() *endpoint {
	h := hooks{refuse: v.draining.Load, tls: v.acceptTLS()}
	reported := false
	for wait := portRetryFirst; ; wait = min(2*wait, portRetryMax) {
		key, err := v.resetKey()
		if err == nil {
			var e *endpoint
			if e, err = openEndpoint(v.tables.Load().listen(), key, v.limits, h); err == nil {
				return e
			}
		}
		if !reported {
			v.log.Warn("transport port busy", "listen", v.tables.Load().listen(), "error", err)
			reported = true
		}
		if pause(v.life, wait) != nil {
			return nil
		}
	}
}

func (v *Vertex) resetKey() (*quic.StatelessResetKey, error) {
	if v.opts.ResetKey != nil {
		return v.opts.ResetKey, nil
	}
	return v.keys.resetKey()
}

// Readiness is what a vertex can do now (SUP-11).
type Readiness struct {
	Ready     bool     // the transport is up
	Listening []string // addresses: "udp ADDRESS" of the transport, ADDRESS of each local port
	Waiting   []string // the same of ports that are busy, and "identity ID" of principals without certificate
}

// WaitReady waits until the transport is up, so that the vertex can dial and
// be dialled, or until ctx is done, whose error it returns.
func (v *Vertex) WaitReady(ctx context.Context) error {
	select {
	case <-v.endpoint.ready:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Ready tells what is open and what is waited for (VTX-12, VTX-13).
func (v *Vertex) Ready() Readiness {
	listening, waiting := v.inbounds.state()
	if e := v.endpoint.get(); e != nil {
		listening = append(listening, "udp "+e.udp.LocalAddr().String())
	} else {
		waiting = append(waiting, "udp "+cmp.Or(v.tables.Load().listen(), "any port"))
	}
	for id := range v.keys.current.Load().faults {
		waiting = append(waiting, "identity "+id.String())
	}
	slices.Sort(listening)
	slices.Sort(waiting)
	return Readiness{v.endpoint.get() != nil && !v.draining.Load(), listening, waiting}
}
