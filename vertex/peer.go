package vertex

import (
	"context"
)

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
	if s.raw {
		return nil
	}
	return v.startControl(s)
}

// startControl opens this side's control stream and follows the peer's (VTX-15).
func (v *Vertex) startControl(s *session) error {
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
	v.endpoint.get().learn(s)
	v.live.remove(s)
	reason := quicReason(context.Cause(s.conn.Context()))
	if s.limits.side == dialling {
		v.pool(s.limits.pair).remove(s)
	}
	v.log.Debug("peer connection ended", "initiator", s.limits.initiator, "target", s.limits.target,
		"reason", reason)
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
	v.flows.add(f)
	defer v.flows.remove(f)
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
