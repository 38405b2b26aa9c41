package vertex

import (
	"time"

	"github.com/florete/flor/envelope/schema"
)

// Apply makes a new payload take effect without a restart: access lists,
// links, revocations and local ports. When it returns, ports have been opened
// and closed, and connections that are no longer allowed have been ended
// (VTX-8, VTX-16). It fails with a *PayloadError for a payload that cannot be
// served and with [ErrRestart] for one that needs a new vertex; then nothing
// has changed. The payload is copied, so that it may be the one of before with
// some of it changed.
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
	if !v.draining.Load() {
		v.inbounds.set(v.wanted(keys))
	}
}

// wanted lists the local ports that should be open: those of the tables whose
// principal has a certificate (VTX-12).
func (v *Vertex) wanted(keys *keys) []inbound {
	var want []inbound
	for _, in := range v.tables.Load().inbounds {
		if keys.byID[in.principal] != nil {
			want = append(want, in)
		}
	}
	return want
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
