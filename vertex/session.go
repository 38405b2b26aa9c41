package vertex

import (
	"context"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quic-go/quic-go"
)

// session is one QUIC connection. It belongs to one pair for its whole life;
// each TCP connection of the pair is one stream on it (VTX-5).
type session struct {
	conn    *quic.Conn
	limits  bound
	raw     bool      // flor/1: no preamble, no answer, no control streams
	born    time.Time // when the handshake was complete
	retired atomic.Bool
	drains  atomic.Bool // the peer said that it is draining
	narrow  atomic.Bool // a stream has heard that the path is too narrow
	writes  atomic.Uint64
	mtu     mtuWatch // of sweeps alone, which take turns

	mu      sync.Mutex
	control *quic.SendStream
	open    int       // streams in use or reserved
	spent   bool      // flor/1: its one stream has been opened
	full    bool      // the peer's stream limit was met with room by our count
	before  uint64    // bytes carried until the guard last looked
	lastUse time.Time // when the last stream ended
	packets uint64    // received, at the last look
	heard   time.Time // wall clock of the look that saw more packets
	looked  time.Time // wall clock of the last look
	lively  time.Time // wall clock at which packets had certainly just arrived
}

// newSession is for a connection whose handshake was complete at a moment, of
// which wallNow is the time by the vertex's wall clock.
func newSession(conn *quic.Conn, limits bound, now, wallNow time.Time) *session {
	return &session{
		conn: conn, limits: limits, born: now, lastUse: now,
		raw:   conn.ConnectionState().TLS.NegotiatedProtocol == rawProtocol,
		heard: wall(wallNow), looked: wall(wallNow),
	}
}

func (s *session) bounds() bound { return s.limits }

// end closes the connection with the application code of the reason.
func (s *session) end(r Reason) { _ = s.conn.CloseWithError(closeCode(r), r.String()) }

// tail is how long after its last stream a connection may still have
// something undelivered: quic-go drops that when a connection is closed
// (VTX-7), and does not tell what has been acknowledged.
func (s *session) tail() time.Duration {
	return min(max(10*s.conn.ConnectionStats().SmoothedRTT, tailLeast), settled)
}

// outlast closes a connection that takes no more streams as soon as it carries
// none and nothing can be undelivered any more, for the reason given.
func (s *session) outlast(r Reason) {
	tick := time.NewTicker(tailLeast / 4)
	defer tick.Stop()
	for {
		if s.idle(time.Now(), s.tail()) {
			s.end(r)
			return
		}
		select {
		case <-s.conn.Context().Done():
			return
		case <-tick.C:
		}
	}
}

// blame says what an error of a stream stands for, and keeps what it tells of the
// path: streams hear of the end of their connection a moment before closed does.
func (s *session) blame(err error) Reason {
	reason := quicReason(err)
	if ofNarrowPath(reason) {
		s.narrow.Store(true)
	}
	return reason
}

// endedNarrow tells whether the connection has ended, or is just about to,
// because its path is too narrow.
func (s *session) endedNarrow() bool {
	return s.narrow.Load() || s.closed() && ofNarrowPath(quicReason(context.Cause(s.conn.Context())))
}

// closed tells whether the connection has ended.
func (s *session) closed() bool { return s.conn.Context().Err() != nil }

// usable tells whether new streams may go to the connection.
func (s *session) usable() bool { return !s.closed() && !s.retired.Load() }

// reserve takes a place for one more stream, if there is one. A connection of
// flor/1 has one place in its life, since its peer may look at one stream only.
func (s *session) reserve(limit int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.full || s.open >= limit || s.spent {
		return false
	}
	s.open++
	s.spent = s.raw
	return true
}

// over tells whether a dialled connection of flor/1 has done what it is for.
func (s *session) over(now time.Time) bool {
	s.mu.Lock()
	spent := s.spent
	s.mu.Unlock()
	return spent && s.idle(now, s.tail())
}

// count is reserve on the accepting side, where QUIC itself keeps the limit.
func (s *session) count() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open++
}

// release gives a stream's place back.
func (s *session) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open--
	s.full = false
	s.lastUse = time.Now()
}

// saturate gives a reserved place back where the peer takes no more streams:
// one that ended here has not ended there yet. The connection is passed over
// until another stream ends, or for a second.
func (s *session) saturate() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open--
	s.full = true
}

// refresh looks after the connection once a second. One that is silent
// although the dialler keeps it alive is asked in a way that a peer which has
// restarted answers.
func (s *session) refresh(wallNow time.Time) {
	if s.suspectIn(wallNow) <= 0 {
		s.nudge(wallNow)
	}
	carried := carriedBy(s.conn.ConnectionStats())
	s.mu.Lock()
	defer s.mu.Unlock()
	s.full = false
	s.before = carried
}

const (
	// busyFrom is how many bytes a connection carries within a second, at most,
	// before new streams go to another one.
	busyFrom = 256 << 10
	// farFrom is the shortest round trip of a long path, on which losses decide how
	// fast a connection is, and farAfter how many packets must have arrived before
	// the shortest round trip is believed.
	farFrom  = 20 * time.Millisecond
	farAfter = 16
)

// busy tells whether a new stream would better be elsewhere: beside bulk, where
// it would wait, and over a long path beside any other (VTX-5).
func (s *session) busy(far bool) bool {
	if far && s.load() > 0 {
		return true
	}
	carried := carriedBy(s.conn.ConnectionStats())
	s.mu.Lock()
	defer s.mu.Unlock()
	return carried-s.before >= busyFrom
}

func (s *session) load() int {
	open, _ := s.streams()
	return open
}

func carriedBy(stats quic.ConnectionStats) uint64 { return stats.BytesSent + stats.BytesReceived }

// streams returns how many streams are open, and since when there are none.
func (s *session) streams() (open int, idleSince time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open, s.lastUse
}

// idle tells whether nothing has been carried for at least d.
func (s *session) idle(now time.Time, d time.Duration) bool {
	open, since := s.streams()
	return open == 0 && now.Sub(since) >= d
}

// wall strips the monotonic reading: monotonic clocks stop in suspend.
func wall(t time.Time) time.Time { return t.Round(0) }

// look notes whether packets have arrived since the last look, by the wall
// clock. QUIC tells how many there were but not when: after a sleep they may
// well be as old as the last look. What was heard at a time that a clock which
// is set back has yet to come to, was heard now.
func (s *session) look(now time.Time) {
	packets := s.conn.ConnectionStats().PacketsReceived
	s.mu.Lock()
	defer s.mu.Unlock()
	now = wall(now)
	since := now.Sub(s.looked)
	switch {
	case packets != s.packets && since >= suspectAfter:
		s.heard = s.looked
	case packets != s.packets && since < quiet:
		s.heard, s.lively = now, now
	case packets != s.packets || now.Before(s.heard):
		s.heard = now
	}
	s.packets, s.looked = packets, now
}

// suspectIn tells how long the connection is still above suspicion if nothing
// arrives; zero or less means that it is suspect (VTX-5). A dialled connection
// that has been silent for longer than a keep-alive always owes an answer, be
// it to a stream or to the keep-alive itself.
func (s *session) suspectIn(now time.Time) time.Duration {
	s.look(now)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.heard.Add(suspectAfter).Sub(wall(now))
}

// openControl opens this side's control stream (VTX-15).
func (s *session) openControl() error {
	control, err := s.conn.OpenUniStream()
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.control = control
	err = control.TryWriteAll([]byte{controlOpen})
	return err
}

// sayDraining tells the peer to open no more streams here. Like everything on
// a control stream it never waits: a peer might not read.
func (s *session) sayDraining() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.control != nil {
		_ = s.control.TryWriteAll([]byte{controlDraining})
	}
}

// nudge makes sure that what follows is noticed by a peer that has restarted
// meanwhile. A stateless reset answers only packets of more than 42 bytes (RFC
// 9000 §10.3), and a preamble or a keep-alive makes a smaller one; so on a
// connection that may have been quiet, bytes without meaning go ahead of it.
func (s *session) nudge(now time.Time) {
	s.look(now)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.control != nil && wall(now).Sub(s.lively) > quiet {
		_ = s.control.TryWriteAll(make([]byte, nudgeSize))
	}
}

// readControl follows the peer's control stream until it or the connection
// ends, and calls draining when the peer says so.
func (s *session) readControl(ctx context.Context, draining func()) {
	stream, err := s.conn.AcceptUniStream(ctx)
	if err != nil {
		return
	}
	var b [1]byte
	for {
		if _, err := io.ReadFull(stream, b[:]); err != nil {
			return
		}
		if b[0] == controlDraining && s.drains.CompareAndSwap(false, true) {
			draining()
		}
	}
}
