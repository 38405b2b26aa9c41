package vertex

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

// meter counts what happens at wire rate (OBS-6). Labels are SPIFFE IDs of
// proven principals and words of closed lists, so their number is bounded by
// the payload.
type meter struct {
	handshakeFailures *prometheus.CounterVec // reason
	denials           *prometheus.CounterVec // initiator, acl
	opened            *prometheus.CounterVec // initiator, target
	closed            *prometheus.CounterVec // initiator, target, cause
	connectFailures   *prometheus.CounterVec // target, reason
	bytes             *prometheus.CounterVec // initiator, target, dir
}

func newMeter() *meter {
	vec := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "flor_vertex_" + name, Help: help}, labels)
	}
	return &meter{
		handshakeFailures: vec("handshake_failures_total", "QUIC handshakes that failed.", "reason"),
		denials:           vec("acl_denials_total", "Requests turned down by an access list.", "initiator", "acl"),
		opened:            vec("connections_opened_total", "TCP connections that began to be carried.", "initiator", "target"),
		closed:            vec("connections_closed_total", "TCP connections that ended.", "initiator", "target", "cause"),
		connectFailures:   vec("connect_failures_total", "Requests that led to no connection.", "target", "reason"),
		bytes:             vec("bytes_total", "Payload bytes read; dir is up from the initiator, down to it.", "initiator", "target", "dir"),
	}
}

func (m *meter) register(r prometheus.Registerer) error {
	if r == nil {
		return nil
	}
	var errs []error
	for _, c := range []prometheus.Collector{m.handshakeFailures, m.denials, m.opened, m.closed, m.connectFailures, m.bytes} {
		errs = append(errs, r.Register(c))
	}
	return errors.Join(errs...)
}

func (m *meter) handshakeFailed(r Reason) { m.handshakeFailures.WithLabelValues(r.String()).Inc() }

func (m *meter) denied(p pair, acl string) {
	m.denials.WithLabelValues(p.initiator.String(), acl).Inc()
}

// refused counts a request that led to nothing. A target that nobody knows
// has no label of its own: its name is the client's invention.
func (m *meter) refused(p pair, r Reason) {
	target := p.target.String()
	if r == UnknownTarget {
		target = ""
	}
	m.connectFailures.WithLabelValues(target, r.String()).Inc()
	if r == DeniedEgress {
		m.denied(p, "egress")
	}
}

func (m *meter) open(p pair) (up, down prometheus.Counter) {
	m.opened.WithLabelValues(p.initiator.String(), p.target.String()).Inc()
	return m.bytes.WithLabelValues(p.initiator.String(), p.target.String(), "up"),
		m.bytes.WithLabelValues(p.initiator.String(), p.target.String(), "down")
}

func (m *meter) close(p pair, r Reason) {
	m.closed.WithLabelValues(p.initiator.String(), p.target.String(), r.String()).Inc()
}
