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
// for ever, while small ones pass and keep the connection alive. That large
// packets are sent says nothing by itself: discovery sends some of its own, as
// late as with the keep-alives of a connection on which nothing else happens,
// and may lose them. So they count only where they carried data.
const (
	stuckFor      = 5 * time.Second // without a byte taken from a writer
	stuckRTTs     = 8               // the same on slow paths, where a write takes some round trips
	aftermathFor  = time.Second     // after the last write, what is sent again may be ordinary loss
	aftermathRTTs = 4
	losingFor     = stuckFor - aftermathFor   // from the first data that is lost to the latest
	losingGap     = suspectAfter + guardEvery // without any, between two keep-alives that tell of it
	largePacket   = 1200                      // bytes; every QUIC path carries as many
	lostLeast     = 4                         // of them, found lost by and by
	vainLeast     = 2                         // of them, sent where nothing is acknowledged
	meanLeast     = largePacket / 3           // bytes a packet: what acknowledges a download stays below
	narrowFor     = 10 * time.Minute
	narrowMost    = 4096 // addresses
)

// load is an amount of packets.
type load struct{ packets, bytes uint64 }

func (l load) since(before load) load {
	return load{l.packets - min(l.packets, before.packets), l.bytes - min(l.bytes, before.bytes)}
}

// large tells whether there are so many large packets, and not many small ones.
func (l load) large(least uint64) bool {
	return l.bytes >= least*largePacket && l.bytes >= l.packets*meanLeast
}

// traffic is what a connection has carried until a moment.
type traffic struct {
	at          time.Time
	sent        load          // packets of discovery among them
	lost        load          // found so by acknowledgements of later ones; none of discovery
	heard       uint64        // packets
	writes      uint64        // that quic-go has taken from streams
	rtt, latest time.Duration // each acknowledgement changes one of them
}

func (t traffic) acknowledged(before traffic) bool {
	return t.rtt != before.rtt || t.latest != before.latest
}

// mtuWatch looks at the traffic of one connection, once a second and when
// identities have been read again. Its looks take turns (see Vertex.sweep).
type mtuWatch struct {
	last     traffic // at the look before
	written  time.Time
	answered time.Time // when something was written or acknowledged
	alive    traffic   // when packets arrived although nothing was acknowledged
	vain     traffic   // when large ones had been sent after that
	losing   traffic   // before data began to be lost
	lostAt   time.Time // when data was lost
}

// look tells whether the path no longer carries the connection's packets:
// nothing has been taken from writers for long, data in large packets is sent
// in vain all the same, and small ones arrive. It also tells whether a small
// packet is worth while now: if what was sent before is lost, its
// acknowledgement says so.
func (w *mtuWatch) look(now traffic) (narrow, ask bool) {
	before := w.last
	w.last = now
	if before.at.IsZero() || now.writes != before.writes {
		*w = mtuWatch{last: now, written: now.at, answered: now.at}
		return false, false
	}
	unanswered, losing := w.unanswered(before, now), w.keepsLosing(before, now)
	still := now.at.Sub(w.written)
	narrow = still >= stuck(now.rtt) && (unanswered || losing)
	return narrow, still >= aftermath(now.rtt) && now.sent.since(before.sent).large(1)
}

func stuck(rtt time.Duration) time.Duration { return max(stuckFor, stuckRTTs*rtt) }

func aftermath(rtt time.Duration) time.Duration { return max(aftermathFor, aftermathRTTs*rtt) }

// unanswered is for a congestion window that is full of lost packets: quic-go
// sends two of them now and then, and nothing small that would be acknowledged.
// On any other path what it sends is acknowledged, and be it the ping that
// follows a lost packet of discovery. Packets must arrive before the large ones
// are sent and afterwards: in an outage none do, and when it is over some may
// arrive before anything is sent.
func (w *mtuWatch) unanswered(before, now traffic) bool {
	silent := now.at.Sub(w.answered)
	switch {
	case now.acknowledged(before):
		w.answered, w.alive, w.vain = now.at, traffic{}, traffic{}
	case silent < aftermath(now.rtt):
	case w.alive.at.IsZero():
		if now.heard > before.heard {
			w.alive = now
		}
	case w.vain.at.IsZero():
		if now.sent.since(w.alive.sent).large(vainLeast) {
			w.vain = now
		}
	default:
		return silent >= stuck(now.rtt) && now.heard > w.vain.heard && now.at.Sub(w.vain.at) >= 2*now.rtt
	}
	return false
}

// keepsLosing is for a congestion window with room: small packets pass and are
// acknowledged, which tells that the large ones before them are lost, again
// and again.
func (w *mtuWatch) keepsLosing(before, now traffic) bool {
	switch {
	case now.lost.since(before.lost).large(1):
		if w.losing.at.IsZero() {
			w.losing = before
		}
		w.lostAt = now.at
	case now.at.Sub(w.lostAt) > max(losingGap, aftermath(now.rtt)):
		w.losing = traffic{}
	}
	return !w.losing.at.IsZero() && w.lostAt.Sub(w.losing.at) >= losingFor &&
		now.lost.since(w.losing.lost).large(lostLeast)
}

func (s *session) traffic(now time.Time) traffic {
	stats := s.conn.ConnectionStats()
	return traffic{
		at: now, sent: load{stats.PacketsSent, stats.BytesSent}, lost: load{stats.PacketsLost, stats.BytesLost},
		heard: stats.PacketsReceived, writes: s.writes.Load(), rtt: stats.SmoothedRTT, latest: stats.LatestRTT,
	}
}

// narrowed looks at the connection's traffic, as each sweep does, and asks the
// path where that may tell more. A connection of flor/1 has nothing to ask with.
func (s *session) narrowed(now time.Time) bool {
	narrow, ask := s.mtu.look(s.traffic(now))
	if ask && !narrow {
		s.ask()
	}
	return narrow
}

// ask sends a small packet that must be acknowledged.
func (s *session) ask() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.control != nil {
		_ = s.control.TryWriteAll(make([]byte, nudgeSize))
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

// learn remembers the path of a connection that has ended because it is too
// narrow.
func (e *endpoint) learn(s *session) {
	if s.endedNarrow() {
		e.narrow.mark(s.conn.RemoteAddr(), time.Now())
	}
}

func ofNarrowPath(r Reason) bool { return r == PathMTU || r == PeerPathMTU }

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
