package vertex

import (
	"cmp"
	"context"
	"slices"
)

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
