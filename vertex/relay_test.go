package vertex

import (
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// path is what a relay does to packets, each way.
type path struct {
	delay    time.Duration
	dropEach int    // one packet in so many is lost; 0: none
	hold     *relay // where the relay is put for the test; nil: nowhere
	gauge    *gauge // of packet sizes; nil: none
}

// gauge is the size of packets that pass a relay.
type gauge struct {
	limit   atomic.Int64 // larger packets are lost; 0: none is too large
	largest atomic.Int64 // that has come
}

func (g *gauge) passes(size int) bool {
	if g == nil {
		return true
	}
	g.largest.Store(max(g.largest.Load(), int64(size)))
	limit := g.limit.Load()
	return limit == 0 || int64(size) <= limit
}

// relay is a path between two vertices that is long and loses packets.
type relay struct {
	path
	front *net.UDPConn
	to    netip.AddrPort
	work  sync.WaitGroup
	cut   atomic.Bool // nothing passes
	mu    sync.Mutex
	backs map[netip.AddrPort]*net.UDPConn // by whom they stand for
}

// newRelay gives the address of a relay to another address.
func newRelay(t testing.TB, to string, p path) string {
	t.Helper()
	r := p.hold
	if r == nil {
		r = new(relay)
	}
	r.front, r.to, r.path = anyUDP(t), netip.MustParseAddrPort(to), p
	r.backs = map[netip.AddrPort]*net.UDPConn{}
	r.work.Go(func() { r.forth(t) })
	t.Cleanup(r.close)
	return r.front.LocalAddr().String()
}

func anyUDP(t testing.TB) *net.UDPConn {
	t.Helper()
	c, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (r *relay) close() {
	r.front.Close()
	r.mu.Lock()
	for _, back := range r.backs {
		back.Close()
	}
	r.mu.Unlock()
	r.work.Wait()
}

// rebind gives every client another source port, as a NAT does that has
// forgotten them.
func (r *relay) rebind() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for client, back := range r.backs {
		back.Close()
		delete(r.backs, client)
	}
}

func (r *relay) forth(t testing.TB) {
	r.pass(r.front, func(from netip.AddrPort) (*net.UDPConn, netip.AddrPort) {
		return r.back(t, from), r.to
	})
}

// back is the socket that stands for a client.
func (r *relay) back(t testing.TB, client netip.AddrPort) *net.UDPConn {
	r.mu.Lock()
	defer r.mu.Unlock()
	if have, ok := r.backs[client]; ok {
		return have
	}
	back := anyUDP(t)
	r.backs[client] = back
	r.work.Go(func() {
		r.pass(back, func(netip.AddrPort) (*net.UDPConn, netip.AddrPort) { return r.front, client })
	})
	return back
}

// pass sends on what arrives on a socket, later, until the socket is closed.
func (r *relay) pass(in *net.UDPConn, route func(netip.AddrPort) (*net.UDPConn, netip.AddrPort)) {
	buf := make([]byte, 64<<10)
	for count := 1; ; count++ {
		n, from, err := in.ReadFromUDPAddrPort(buf)
		if err != nil {
			return
		}
		if r.dropEach > 0 && count%r.dropEach == 0 || !r.gauge.passes(n) || r.cut.Load() {
			continue
		}
		packet := append([]byte(nil), buf[:n]...)
		out, to := route(from)
		r.work.Add(1)
		time.AfterFunc(r.delay, func() {
			defer r.work.Done()
			_, _ = out.WriteToUDPAddrPort(packet, to)
		})
	}
}
