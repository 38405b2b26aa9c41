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

// Ready tells what is open and what is waited for (VTX-12, VTX-13). What should
// be open and is not is waited for, also while it is being opened.
func (v *Vertex) Ready() Readiness {
	keys, endpoint := v.keys.current.Load(), v.endpoint.get()
	listening := v.inbounds.open()
	waiting := v.unopened(keys, listening)
	for id := range keys.faults {
		waiting = append(waiting, "identity "+id.String())
	}
	if endpoint != nil {
		listening = append(listening, "udp "+endpoint.udp.LocalAddr().String())
	} else {
		waiting = append(waiting, "udp "+cmp.Or(v.tables.Load().listen(), "any port"))
	}
	slices.Sort(listening)
	slices.Sort(waiting)
	return Readiness{endpoint != nil && !v.draining.Load(), listening, waiting}
}

// unopened lists the wanted local ports that do not listen; a vertex that
// drains wants none.
func (v *Vertex) unopened(keys *keys, listening []string) []string {
	if v.draining.Load() {
		return nil
	}
	var waiting []string
	for _, in := range v.wanted(keys) {
		if !slices.Contains(listening, in.listen) {
			waiting = append(waiting, in.listen)
		}
	}
	return waiting
}
