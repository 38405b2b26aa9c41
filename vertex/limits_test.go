package vertex

import (
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/quic-go/quic-go"
)

// VTX-14: the connections that a vertex accepts are counted, whoever makes them.
func TestConnectionLimitOfAVertexIsToldAsAFailure(t *testing.T) {
	t.Parallel()
	d, bob := crowd(t, func(d *duo) { d.farOpts.Limits.Connections = 1 })
	c := d.dial(t)
	if got := replyTo(t, d.nearPlan.ports[bob], host(t, d.web)); got != 1 {
		t.Errorf("reply %d to the second initiator, want 1", got)
	}
	if got := d.near.counter("connect_failures_total", PeerOverLimit.String(), d.web.String()); got != 1 {
		t.Errorf("counted %v as %s, want 1", got, PeerOverLimit)
	}
	send(t, c, "undisturbed")
	expect(t, c, "undisturbed")
}

// VTX-14: one handshake over the limit is refused at once, and the limit is for
// handshakes in flight, not for those that succeeded.
func TestHandshakeOverTheLimitIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	d := newDuo(t, backend(t, echo), func(d *duo) { d.farOpts.Limits.Handshakes = 1 })
	for range 3 {
		if err := d.shake(t, func(*tls.Config) {}); err != nil {
			t.Fatal(err)
		}
	}
	if got := d.far.Handshakes(); got != 3 {
		t.Errorf("counted %d handshakes, want 3", got)
	}
	leave, ok := d.flight().enter(d.far.endpoint.get().udp.LocalAddr())
	if !ok {
		t.Fatal("three handshakes that succeeded are in flight still")
	}
	err := d.shake(t, func(*tls.Config) {})
	if refused, ok := errors.AsType[*quic.TransportError](err); !ok || refused.ErrorCode != quic.ConnectionRefused {
		t.Errorf("a handshake over the limit: %v, want CONNECTION_REFUSED", err)
	}
	leave()
	if err := d.shake(t, func(*tls.Config) {}); err != nil {
		t.Errorf("a handshake after that: %v", err)
	}
}

func (d *duo) flight() *handshakes { return d.far.endpoint.get().flight }

func (h *handshakes) now() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.total
}

// VTX-14: a handshake that is begun and left makes room again by itself.
func TestHandshakeThatIsLeftMakesRoom(t *testing.T) {
	t.Parallel()
	d := newDuo(t, backend(t, echo), func(d *duo) { d.farOpts.Limits.Handshakes = 1 })
	mute := &tap{PacketConn: anyUDP(t)}
	mute.deaf.Store(true)
	var dialling sync.WaitGroup
	defer dialling.Wait()
	defer mute.Close()
	dialling.Go(func() { _, _ = d.connectFrom(t, mute, func(*tls.Config) {}) })
	d.far.await("the handshake to begin", func() bool { return d.flight().now() == 1 })
	d.far.await("the handshake to be given up", func() bool { return d.flight().now() == 0 })
	if err := d.shake(t, func(*tls.Config) {}); err != nil {
		t.Errorf("a handshake after that: %v", err)
	}
}

// VTX-14: while many handshakes are in flight, one more proves its address
// first (Retry) and then succeeds; while few are, it need not.
func TestHandshakeUnderLoadSucceedsThroughRetry(t *testing.T) {
	t.Parallel()
	d := newDuo(t, backend(t, echo), func(d *duo) { d.farOpts.Limits.RetryFrom = 1 })
	for _, busy := range []bool{false, true} {
		if busy {
			leave, _ := d.flight().enter(d.far.endpoint.get().udp.LocalAddr())
			defer leave()
		}
		ear := &tap{PacketConn: anyUDP(t)}
		if _, err := d.connectFrom(t, ear, func(*tls.Config) {}); err != nil {
			t.Fatal(err)
		}
		if got := ear.retried.Load(); got != busy {
			t.Errorf("with many handshakes in flight: %v; asked to prove the address: %v", busy, got)
		}
	}
}

// tap is a socket that looks at what arrives, or is deaf. It has no methods for
// quic-go to read by but ReadFrom.
type tap struct {
	net.PacketConn
	deaf, retried atomic.Bool
}

func (p *tap) ReadFrom(b []byte) (int, net.Addr, error) {
	for {
		n, from, err := p.PacketConn.ReadFrom(b)
		if err == nil && p.deaf.Load() {
			continue
		}
		if n > 0 && b[0]&0xf0 == 0xf0 { // a long header of type Retry (RFC 9000 §17.2.5)
			p.retried.Store(true)
		}
		return n, from, err
	}
}
