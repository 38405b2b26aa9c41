package vertex

import (
	"github.com/quic-go/quic-go"
)

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
	v.log.Info("vertex serving", "transport", e.udp.LocalAddr(), "receive_buffer", receive, "send_buffer", send,
		"gso", splits(e.udp), "gro", e.joined)
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

// Handshakes returns how many handshakes peers have begun here since the start,
// without those that were refused unseen. They cost far more than anything else
// that a vertex does at once, about a millisecond of a processor each.
func (v *Vertex) Handshakes() uint64 {
	e := v.endpoint.get()
	if e == nil {
		return 0
	}
	return e.flight.sinceStart()
}

// Readiness is what a vertex can do now (SUP-11).
type Readiness struct {
	Ready     bool     // the transport is up
	Listening []string // addresses: "udp ADDRESS" of the transport, ADDRESS of each local port
	Waiting   []string // the same of ports that are busy, and "identity ID" of principals without certificate
}
