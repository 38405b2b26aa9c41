package vertex

import (
	"time"
)

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
			v.flows.look()
		}
	}
}

// sweep looks at every connection, for the guard and at once where tables or
// identities have changed.
func (v *Vertex) sweep() {
	v.sweeping.Lock()
	defer v.sweeping.Unlock()
	t, wallNow, now := v.tables.Load(), v.now(), time.Now()
	for _, e := range v.live.all() {
		if reason := t.verdict(e.bounds(), wallNow); reason != 0 {
			e.end(reason)
			continue
		}
		if s, ok := e.(*session); ok {
			s.refresh(wallNow)
			v.lookAfter(s, t, now)
		}
	}
}

// lookAfter retires what something newer has replaced, and closes what has
// carried nothing for long (VTX-5).
func (v *Vertex) lookAfter(s *session, t *tables, now time.Time) {
	switch {
	case s.narrowed(now):
		v.log.Warn("path takes no large packets any more", "initiator", s.limits.initiator, "target", s.limits.target,
			"peer", s.conn.RemoteAddr(), "reason", PathMTU, "code", PathMTU.Code())
		s.end(PathMTU)
	case t.moved(s.limits) || v.renewed(s):
		v.retire(s, Superseded)
	case s.over(now):
		s.end(Idle)
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
