package vertex

import (
	"fmt"
	"net"
	"net/netip"
	"sync"

	"github.com/spiffe/go-spiffe/v2/spiffeid"
)

// Limits bound what others can make a vertex hold (VTX-14, VTX-5a). A field
// that is zero has the value that [DefaultLimits] gives it; [New] refuses one that
// is negative.
type Limits struct {
	StreamsPerConnection int // the peer may have open on one QUIC connection
	ConnectionsPerPair   int // QUIC connections of one initiator to one target
	StreamsPerInitiator  int // streams of one initiator, all its connections together
	Connections          int // QUIC connections accepted by the vertex
	Handshakes           int // in flight
	HandshakesPerPrefix  int // in flight from one /24 or /48
	RetryFrom            int // handshakes in flight from which addresses must be proven
}

// DefaultLimits are the limits of a vertex that is told no others.
var DefaultLimits = Limits{
	StreamsPerConnection: 64,
	ConnectionsPerPair:   16,
	StreamsPerInitiator:  1024,
	Connections:          4096,
	Handshakes:           256,
	HandshakesPerPrefix:  64,
	RetryFrom:            64,
}

// check refuses what is no limit: a negative number may be meant as "none" or
// as "nothing", and is neither.
func (l Limits) check() error {
	for _, f := range l.fields() {
		if *f.value < 0 {
			return fmt.Errorf("the limit %s is %d: give a number above zero, or zero for the default of %d", f.name, *f.value, f.def)
		}
	}
	return nil
}

func (l Limits) withDefaults() Limits {
	for _, f := range l.fields() {
		if *f.value == 0 {
			*f.value = f.def
		}
	}
	return l
}

type limit struct {
	name  string
	value *int
	def   int
}

func (l *Limits) fields() []limit {
	return []limit{
		{"StreamsPerConnection", &l.StreamsPerConnection, DefaultLimits.StreamsPerConnection},
		{"ConnectionsPerPair", &l.ConnectionsPerPair, DefaultLimits.ConnectionsPerPair},
		{"StreamsPerInitiator", &l.StreamsPerInitiator, DefaultLimits.StreamsPerInitiator},
		{"Connections", &l.Connections, DefaultLimits.Connections},
		{"Handshakes", &l.Handshakes, DefaultLimits.Handshakes},
		{"HandshakesPerPrefix", &l.HandshakesPerPrefix, DefaultLimits.HandshakesPerPrefix},
		{"RetryFrom", &l.RetryFrom, DefaultLimits.RetryFrom},
	}
}

// handshakes counts what is in flight, by source prefix. Loopback has no
// prefix of its own: everything on this machine comes from there.
type handshakes struct {
	limits   Limits
	mu       sync.Mutex
	total    int
	begun    uint64 // since the start
	byPrefix map[netip.Prefix]int
}

func newHandshakes(l Limits) *handshakes {
	return &handshakes{limits: l, byPrefix: map[netip.Prefix]int{}}
}

// enter admits a handshake, and gives the function that ends it; ok is false
// when a limit is reached.
func (h *handshakes) enter(from net.Addr) (leave func(), ok bool) {
	prefix := prefixOf(from)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.total >= h.limits.Handshakes || prefix.IsValid() && h.byPrefix[prefix] >= h.limits.HandshakesPerPrefix {
		return nil, false
	}
	h.total++
	h.begun++
	h.byPrefix[prefix]++
	return sync.OnceFunc(func() { h.leave(prefix) }), true
}

func (h *handshakes) leave(prefix netip.Prefix) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.total--
	if h.byPrefix[prefix]--; h.byPrefix[prefix] == 0 {
		delete(h.byPrefix, prefix)
	}
}

func (h *handshakes) sinceStart() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.begun
}

// crowded tells whether a source must prove its address before more is done
// for it (Retry).
func (h *handshakes) crowded(net.Addr) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.total >= h.limits.RetryFrom
}

func prefixOf(addr net.Addr) netip.Prefix {
	udp, ok := addr.(*net.UDPAddr)
	if !ok {
		return netip.Prefix{}
	}
	ip := udp.AddrPort().Addr().Unmap()
	if ip.IsLoopback() {
		return netip.Prefix{}
	}
	bits := 48
	if ip.Is4() {
		bits = 24
	}
	prefix, err := ip.Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return prefix
}

// quota counts the streams of each initiator.
type quota struct {
	limit int
	mu    sync.Mutex
	used  map[spiffeid.ID]int
}

func newQuota(limit int) *quota { return &quota{limit: limit, used: map[spiffeid.ID]int{}} }

func (q *quota) take(id spiffeid.ID) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.used[id] >= q.limit {
		return false
	}
	q.used[id]++
	return true
}

func (q *quota) give(id spiffeid.ID) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.used[id]--; q.used[id] == 0 {
		delete(q.used, id)
	}
}
