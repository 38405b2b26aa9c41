package vertex

import (
	"context"
	"time"
)

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
