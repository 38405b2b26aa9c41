package vertex

import (
	"context"
	"time"

	"github.com/florete/flor/envelope/schema"
)

// Apply makes a new payload take effect without a restart: access lists,
// links, revocations and local ports. When it returns, ports have been opened
// and closed, and connections that are no longer allowed have been ended
// (VTX-8, VTX-16). It fails with a *PayloadError for a payload that cannot be
// served and with [ErrRestart] for one that needs a new vertex; then nothing
// has changed.
func (v *Vertex) Apply(payload *schema.Vertex) error {
	v.applying.Lock()
	defer v.applying.Unlock()
	t, err := v.swap(payload)
	if err != nil {
		return err
	}
	if err := v.keys.load(t.locals); err != nil {
		return err
	}
	v.tables.Store(t)
	v.settleLocked()
	v.sweep()
	v.log.Info("payload applied", "links", len(t.peers), "ingress", len(t.ingress), "egress", len(t.egress), "revoked", len(t.revoked))
	return nil
}

// CanApply tells what [Vertex.Apply] would answer, and changes nothing.
func (v *Vertex) CanApply(payload *schema.Vertex) error {
	_, err := v.swap(payload)
	return err
}

// swap makes the tables of a payload that this vertex can take over.
func (v *Vertex) swap(payload *schema.Vertex) (*tables, error) {
	t, err := readPayload(payload, v.keys.current.Load().bundle.TrustDomain())
	if err != nil {
		return nil, err
	}
	if !schema.Swappable(v.tables.Load().payload, payload) {
		return nil, ErrRestart
	}
	return t, nil
}

// Reload reads identities again at once, as happens every 30 s anyway (VTX-12).
func (v *Vertex) Reload() error {
	v.applying.Lock()
	defer v.applying.Unlock()
	if err := v.keys.load(v.tables.Load().locals); err != nil {
		return err
	}
	v.settleLocked()
	v.sweep()
	return nil
}

func (v *Vertex) settle() {
	v.applying.Lock()
	defer v.applying.Unlock()
	v.settleLocked()
}

// settleLocked opens and closes local ports by the tables and by which
// principals have a certificate, and reports each that has none once.
func (v *Vertex) settleLocked() {
	keys := v.keys.current.Load()
	for id, err := range keys.faults {
		if !v.faults[id] {
			v.log.Warn("identity missing", "principal", id, "error", err)
			v.faults[id] = true
		}
	}
	for id := range v.faults {
		if keys.faults[id] == nil {
			v.log.Info("identity found", "principal", id)
			delete(v.faults, id)
		}
	}
	if v.draining.Load() {
		return
	}
	var want []inbound
	for _, in := range v.tables.Load().inbounds {
		if keys.byID[in.principal] != nil {
			want = append(want, in)
		}
	}
	v.inbounds.set(want)
}

func (v *Vertex) watchIdentities() {
	tick := time.NewTicker(identitiesEvery)
	defer tick.Stop()
	for {
		select {
		case <-v.life.Done():
			return
		case <-tick.C:
			if err := v.Reload(); err != nil {
				v.log.Warn("identities unreadable", "error", err)
			}
		}
	}
}

// guard holds every connection to its bounds once a second (VTX-8).
func (v *Vertex) guard() {
	tick := time.NewTicker(guardEvery)
	defer tick.Stop()
	for {
		select {
		case <-v.life.Done():
			return
		case <-tick.C:
			v.sweep()
		}
	}
}

func (v *Vertex) sweep() {
	t, wallNow, now := v.tables.Load(), v.now(), time.Now()
	for _, e := range v.live.all() {
		if reason := t.verdict(e.bounds(), wallNow); reason != 0 {
			e.end(reason)
			continue
		}
		if s, ok := e.(*session); ok {
			v.lookAfter(s, t, now)
		}
	}
}

// lookAfter retires what something newer has replaced, and closes what has
// carried nothing for long (VTX-5).
func (v *Vertex) lookAfter(s *session, t *tables, now time.Time) {
	s.refresh(now)
	switch {
	case t.moved(s.limits) || v.renewed(s):
		v.retire(s, Superseded)
	case s.limits.side == dialling && v.pool(s.limits.pair).dropIdle(s, now, idleClose):
		s.end(Idle)
	case s.idle(now, idleCloseLater):
		s.end(Idle)
	}
}

// renewed tells whether this side of a dialled connection has a newer
// certificate, which new connections would use and live longer with.
func (v *Vertex) renewed(s *session) bool {
	m := v.keys.material(s.limits.initiator)
	return s.limits.side == dialling && m != nil && m.print != s.limits.prints[0]
}

// Drain refuses what is new and lets what is open end, until everything has
// or ctx is over, and then ends the rest (VTX-15). A vertex that has been
// drained serves nobody; it is there to be stopped. It may be called again.
func (v *Vertex) Drain(ctx context.Context) {
	if v.draining.CompareAndSwap(false, true) {
		v.log.Info("vertex draining")
		for _, s := range v.live.sessions() {
			s.sayDraining()
		}
	}
	v.inbounds.close()
	tick := time.NewTicker(tailLeast / 4)
	defer tick.Stop()
	for !v.drained(time.Now()) {
		select {
		case <-ctx.Done():
			v.endAll(Shutdown)
			return
		case <-v.live.removed:
		case <-tick.C:
		}
	}
}

// drained closes the connections that the peers need not close themselves,
// since nothing of theirs can be under way, and tells whether all are gone.
func (v *Vertex) drained(now time.Time) bool {
	for _, s := range v.live.sessions() {
		if s.idle(now, settled) {
			s.end(Draining)
		}
	}
	return len(v.live.all()) == 0
}
