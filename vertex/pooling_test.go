package vertex

import (
	"crypto/sha256"
	"crypto/tls"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/florete/flor/conformance/lab/udplink"
)

// accepted counts the QUIC connections that the far vertex has now.
func (d *duo) accepted() int { return len(d.far.live.sessions()) }

// VTX-5
func TestStreamsOfAPairShareOneConnection(t *testing.T) {
	t.Parallel()
	d := newDuo(t, backend(t, echo))
	denyALongPath(t, d, d.dial(t))
	for range 9 {
		c := d.dial(t)
		send(t, c, "x")
		expect(t, c, "x")
	}
	if got := d.accepted(); got != 1 {
		t.Errorf("10 streams use %d QUIC connections, want 1", got)
	}
}

// denyALongPath asks on a stream until an answer has come at once: a busy machine
// may delay so many that its loopback is taken for a long path, over which streams
// are spread.
func denyALongPath(t *testing.T, d *duo, c *net.TCPConn) {
	t.Helper()
	s := d.near.live.sessions()[0]
	await(t, "an answer that comes at once", func() bool {
		send(t, c, "x")
		expect(t, c, "x")
		return s.conn.ConnectionStats().MinRTT < farFrom
	})
}

// VTX-5: a connection without a stream is closed after a minute, by the one that
// dialled it first, and one that has a stream is not.
func TestIdleConnectionIsClosed(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name      string
		open      bool
		idle      time.Duration
		near, far bool // whether the connection is still there when that side looked
	}{
		{"not before its time", false, idleClose - 10*time.Second, true, true},
		{"after a minute, by its dialler", false, idleClose, false, true},
		{"somewhat later by its acceptor", false, idleCloseLater, false, false},
		{"never while a stream is open", true, 2 * idleClose, true, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, side := range []string{"near", "far"} {
				d := newDuo(t, backend(t, echo))
				c := d.dial(t)
				n, want := d.near, tt.near
				if side == "far" {
					n, want = d.far, tt.far
				}
				if !tt.open {
					_ = c.CloseWrite()
					expectEOF(t, c)
					expectReason(t, n, d, Completed)
				}
				s := n.live.sessions()[0]
				s.age(tt.idle)
				n.sweep()
				if got := s.closed(); got == want {
					t.Errorf("the %s vertex closed the connection: %v, want %v", side, got, !want)
				}
			}
		})
	}
}

// age makes the last use of a connection so much older.
func (s *session) age(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastUse = time.Now().Add(-d)
}

// VTX-5a: beyond the stream limit of a connection another one is dialled.
func TestAnotherConnectionIsDialledBeyondTheStreamLimit(t *testing.T) {
	t.Parallel()
	limits := Limits{StreamsPerConnection: 4}
	d := newDuo(t, backend(t, echo), func(d *duo) { d.nearOpts.Limits, d.farOpts.Limits = limits, limits })
	open := []*net.TCPConn{d.dial(t)}
	denyALongPath(t, d, open[0])
	for range 8 {
		open = append(open, d.dial(t))
	}
	if got := d.accepted(); got != 3 {
		t.Errorf("9 streams at 4 to a connection use %d QUIC connections, want 3", got)
	}
	for _, c := range open {
		send(t, c, "x")
		expect(t, c, "x")
	}
}

// VTX-5a: as many streams as a connection carries but one that nobody reads,
// beside a live one.
func TestStalledReadersDoNotStopASibling(t *testing.T) {
	t.Parallel()
	upstream, conns := parked(t)
	limits := Limits{ConnectionsPerPair: 1, StreamsPerConnection: 4}
	d := newDuo(t, upstream, func(d *duo) { d.nearOpts.Limits, d.farOpts.Limits = limits, limits })
	for range limits.StreamsPerConnection - 1 {
		stalled := d.dial(t)
		<-conns
		fillUntilStuck(t, stalled)
	}
	c := d.dial(t)
	s := <-conns
	big := make([]byte, 256<<10)
	go func() { _, _ = c.Write(big) }()
	if _, err := io.ReadFull(s, make([]byte, len(big))); err != nil {
		t.Fatal(err)
	}
	if got := d.accepted(); got != 1 {
		t.Fatalf("%d QUIC connections, want the one that is shared", got)
	}
}

// VTX-5: beside bulk a new stream gets a connection of its own, and bulk is
// spread over four at most. What is bulk is a matter of bytes a second, so the
// test runs while no other does.
func TestBulkIsSpreadOverFourConnections(t *testing.T) {
	upstream, conns := parked(t)
	d := newDuo(t, upstream)
	request := func() {
		c := d.dial(t)
		c.Close()
		(<-conns).Close()
	}
	for range 6 {
		keepBusy(d.dial(t), <-conns)
		busy := d.near.live.sessions()
		d.near.await("the next request to find a connection beside the busy ones", func() bool {
			request()
			return d.accepted() > len(busy) || d.accepted() == spreadOver
		})
	}
	for begun := time.Now(); time.Since(begun) < 2*guardEvery; { // in which all of them are busy
		request()
	}
	if got := d.accepted(); got != spreadOver {
		t.Errorf("bulk is spread over %d connections, want %d", got, spreadOver)
	}
}

// VTX-5: over a long path each new stream gets a connection of its own, to the
// bound, and the ones after that share them.
func TestStreamsAreSpreadOverALongPath(t *testing.T) {
	t.Parallel()
	d := newDuo(t, backend(t, echo), func(d *duo) { d.path = udplink.Path{Delay: farFrom} })
	c := d.dial(t)
	for range farAfter {
		send(t, c, "x")
		expect(t, c, "x")
	}
	p := d.near.pool(pair{d.alice, d.web})
	for range 2 * spreadOver {
		c := d.dial(t)
		send(t, c, "x")
		expect(t, c, "x")
		await(t, "the connection that is dialled for the next stream", p.dialled)
	}
	if got := d.accepted(); got != spreadOver {
		t.Fatalf("%d streams use %d QUIC connections, want %d", 1+2*spreadOver, got, spreadOver)
	}
	for _, s := range d.near.live.sessions() {
		if got := s.load(); got < 2 || got > 3 {
			t.Errorf("a connection has %d streams, want 2 or 3", got)
		}
	}
}

// dialled tells whether no dial is under way.
func (p *pool) dialled() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dialling == nil
}

// VTX-5: a machine that is busy may delay answers as a long path does, so one
// quick answer on any connection of a pair is enough to deny it.
func TestOneQuickAnswerDeniesALongPath(t *testing.T) {
	t.Parallel()
	d := newDuo(t, backend(t, echo), func(d *duo) { d.path = udplink.Path{Delay: farFrom} })
	c := d.dial(t)
	for range farAfter {
		send(t, c, "x")
		expect(t, c, "x")
	}
	long := pool{sessions: d.near.live.sessions()}
	if !long.far() {
		t.Error("a path of 40 ms is not taken for a long one")
	}
	d = newDuo(t, backend(t, echo))
	c = d.dial(t)
	mixed := pool{sessions: append(long.sessions, d.near.live.sessions()...)}
	await(t, "an answer that came at once to deny the long path", func() bool {
		send(t, c, "x")
		expect(t, c, "x")
		return !mixed.far()
	})
}

// VTX-5: where every connection is busy and there are as many as there may be,
// the next stream goes to the one that has fewest.
func TestBusyConnectionsShareTheirStreams(t *testing.T) {
	t.Parallel()
	d := newDuo(t, backend(t, echo))
	conn, err := d.connect(t, func(*tls.Config) {})
	if err != nil {
		t.Fatal(err)
	}
	p := &pool{perConn: 64, maxConns: 3}
	for _, streams := range []int{2, 1, 3} {
		s := newSession(conn, bound{}, time.Now(), time.Now())
		s.before -= busyFrom // so much, and what the handshake was, within this second
		for range streams {
			s.reserve(p.perConn)
		}
		p.sessions = append(p.sessions, s)
	}
	if first := p.pick(time.Time{}); first != p.sessions[1] {
		t.Error("the next stream went to another one than that with fewest")
	}
	p.pick(time.Time{})
	p.pick(time.Time{})
	for i, s := range p.sessions {
		if got := s.load(); got != 3 {
			t.Errorf("connection %d has %d streams, want 3 on each", i, got)
		}
	}
}

// keepBusy sends from one end of a connection to the other until either is
// closed: what a connection carried counts for a second only.
func keepBusy(from, to net.Conn) {
	go func() { _, _ = io.Copy(io.Discard, to) }()
	pour(from)
}

// fillUntilStuck writes until buffers and windows on the whole way are full.
func fillUntilStuck(t *testing.T, c *net.TCPConn) {
	t.Helper()
	block := make([]byte, 64<<10)
	for {
		_ = c.SetWriteDeadline(time.Now().Add(300 * time.Millisecond))
		if _, err := c.Write(block); err != nil {
			return
		}
	}
}

// VTX-14: an initiator's streams are counted, and one too many is told.
func TestStreamLimitOfAnInitiatorIsToldAsAFailure(t *testing.T) {
	t.Parallel()
	d := newDuo(t, backend(t, echo), func(d *duo) { d.farOpts.Limits.StreamsPerInitiator = 2 })
	d.dial(t)
	d.dial(t)
	if got := replyTo(t, d.nearPlan.ports[d.alice], host(t, d.web)); got != 1 {
		t.Errorf("reply %d, want 1", got)
	}
}

// VTX-14
func TestConnectionLimitOfAPairIsToldAsAFailure(t *testing.T) {
	t.Parallel()
	d := newDuo(t, backend(t, echo), func(d *duo) {
		d.nearOpts.Limits = Limits{StreamsPerConnection: 1}
		d.farOpts.Limits = Limits{ConnectionsPerPair: 2}
	})
	d.dial(t)
	d.dial(t)
	if got := replyTo(t, d.nearPlan.ports[d.alice], host(t, d.web)); got != 1 {
		t.Errorf("reply %d, want 1", got)
	}
}

// Two vertices, 64 connections at once, each with its own bytes both ways.
func TestParallelStreamsKeepTheirBytes(t *testing.T) {
	t.Parallel()
	d := newDuo(t, backend(t, echo))
	var work sync.WaitGroup
	for i := range 64 {
		work.Go(func() {
			c, err := d.try(t)
			if err != nil {
				t.Error(err)
				return
			}
			checkEcho(t, c, uint64(i))
		})
	}
	work.Wait()
}

func checkEcho(t *testing.T, c *net.TCPConn, seed uint64) {
	source := io.LimitReader(rand.NewChaCha8(sha256.Sum256([]byte{byte(seed)})), 200_000+int64(seed))
	sent, got := sha256.New(), sha256.New()
	var writing sync.WaitGroup
	writing.Go(func() {
		_, _ = io.Copy(c, io.TeeReader(source, sent))
		_ = c.CloseWrite()
	})
	if _, err := io.Copy(got, c); err != nil {
		t.Error(err)
	}
	writing.Wait()
	if string(sent.Sum(nil)) != string(got.Sum(nil)) {
		t.Errorf("stream %d came back different", seed)
	}
}

// VTX-1, VTX-5: a vertex that died and came back is found again at once,
// through the stateless reset that answers the first packet.
func TestRestartedPeerIsFoundAgainAtOnce(t *testing.T) {
	t.Parallel()
	d := newDuo(t, backend(t, echo))
	c := d.dial(t)
	for range 50 { // path MTU discovery goes along with traffic
		send(t, c, "x")
		expect(t, c, "x")
	}
	awaitQuiet(t, d.near)
	d.far.kill()
	d.far = raise(t, d.farPlan.payload(t), d.farIDs, d.farOpts)
	begun := time.Now()
	again := d.dial(t)
	send(t, again, "x")
	expect(t, again, "x")
	if took := time.Since(begun); took > 2*time.Second {
		t.Errorf("took %v after a restart", took)
	}
	expectReset(t, c)
}

// awaitQuiet waits until path MTU discovery and the like are over, so that
// the next packet is one that carries a request.
func awaitQuiet(t *testing.T, n *node) {
	t.Helper()
	s := n.live.sessions()[0]
	packets, since := uint64(0), time.Now()
	await(t, "the connection to be quiet", func() bool {
		if now := s.conn.ConnectionStats().PacketsSent; now != packets {
			packets, since = now, time.Now()
		}
		return time.Since(since) > 2*quiet
	})
}

// VTX-10, OBS-4
func TestDeadPeerIsAnsweredWithinTenSeconds(t *testing.T) {
	t.Parallel()
	log := newLogBook()
	d := newDuo(t, backend(t, echo), func(d *duo) { d.nearOpts.Log = log.logger() })
	d.far.kill()
	begun := time.Now()
	if got := replyTo(t, d.nearPlan.ports[d.alice], host(t, d.web)); got != 4 {
		t.Errorf("reply %d, want 4", got)
	}
	if took := time.Since(begun); took > 11*time.Second {
		t.Errorf("took %v, want at most 10 s", took)
	}
	d.far = raise(t, d.farPlan.payload(t), d.farIDs, Options{})
	d.dial(t)
	if down, up := log.count("peer unreachable"), log.count("peer reachable again"); down != 1 || up != 1 {
		t.Errorf("logged %d times unreachable and %d times reachable, want 1 and 1", down, up)
	}
}
