package vertex

import (
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/quic-go/quic-go"
)

// What tells a path that has become too narrow (VTX-9). quic-go never lowers an
// MTU that it has validated, so on such a path it sends the same large packets
// for ever, while small ones pass and keep the connection alive.
const (
	stuckFor     = 5 * time.Second // without a byte taken from a writer
	stuckRTTs    = 8               // the same on slow paths, where a write takes some round trips
	echoFor      = time.Second     // after the last write, what is sent again may be ordinary loss
	echoRTTs     = 4
	discoverRTTs = 60              // in which discovery may send large packets of its own
	largePacket  = 1200            // bytes; every QUIC path carries as many
	largeLeast   = 4               // of them without success
	meanLeast    = largePacket / 3 // bytes a packet: what acknowledges a download stays below
	narrowFor    = 10 * time.Minute
	narrowMost   = 4096 // addresses
)

// traffic is what a connection has carried until a moment.
type traffic struct {
	at                 time.Time
	bytes, sent, heard uint64 // bytes and packets sent, packets received
	writes             uint64 // that quic-go has taken from streams
	rtt                time.Duration
}

// mtuWatch looks at the traffic of one connection once a second.
type mtuWatch struct {
	born     time.Time
	progress traffic // when writes last went on
	echo     traffic // when what is sent again began to be suspicious
}

// narrowed tells whether the path no longer carries the connection's packets:
// nothing has been taken from writers for long, large packets are sent all the
// same, and small ones arrive.
func (w *mtuWatch) narrowed(now traffic) bool {
	if now.writes != w.progress.writes || w.progress.at.IsZero() {
		w.progress, w.echo = now, traffic{}
		return false
	}
	still := now.at.Sub(w.progress.at)
	if w.echo.at.IsZero() {
		if still >= max(echoFor, echoRTTs*now.rtt) {
			w.echo = now
		}
		return false
	}
	return still >= max(stuckFor, stuckRTTs*now.rtt) && now.at.Sub(w.born) >= discoverRTTs*now.rtt &&
		now.heard > w.echo.heard && large(w.echo, now)
}

// large tells whether what was sent between two moments was mostly large packets.
func large(from, to traffic) bool {
	bytes, packets := to.bytes-from.bytes, to.sent-from.sent
	return bytes >= largeLeast*largePacket && bytes >= packets*meanLeast
}

func (s *session) traffic(now time.Time) traffic {
	stats := s.conn.ConnectionStats()
	return traffic{
		at: now, bytes: stats.BytesSent, sent: stats.PacketsSent, heard: stats.PacketsReceived,
		writes: s.writes.Load(), rtt: stats.SmoothedRTT,
	}
}

// narrowPaths remembers to whom no large packets pass, so that the next
// connection is made without discovery, from whichever side it comes.
type narrowPaths struct {
	mu    sync.Mutex
	until map[netip.Addr]time.Time
}

func newNarrowPaths() *narrowPaths { return &narrowPaths{until: map[netip.Addr]time.Time{}} }

func (n *narrowPaths) mark(peer net.Addr, now time.Time) {
	addr := addrOf(peer)
	n.mu.Lock()
	defer n.mu.Unlock()
	for a, until := range n.until {
		if now.After(until) {
			delete(n.until, a)
		}
	}
	if len(n.until) < narrowMost {
		n.until[addr] = now.Add(narrowFor)
	}
}

func (n *narrowPaths) has(peer net.Addr, now time.Time) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	until, ok := n.until[addrOf(peer)]
	return ok && now.Before(until)
}

func addrOf(peer net.Addr) netip.Addr {
	if udp, ok := peer.(*net.UDPAddr); ok {
		return udp.AddrPort().Addr().Unmap()
	}
	return netip.Addr{}
}

// configFor is the QUIC configuration of one side towards a peer.
func (e *endpoint) configFor(s side, peer net.Addr) *quic.Config {
	c := e.config(s)
	if e.narrow.has(peer, time.Now()) {
		c.DisablePathMTUDiscovery = true
		c.InitialPacketSize = largePacket
	}
	return c
}
