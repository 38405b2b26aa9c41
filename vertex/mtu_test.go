package vertex

import (
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/quic-go/quic-go"

	"github.com/florete/flor/conformance/lab/udplink"
)

// VTX-9: a path that narrows under a live connection is noticed by whoever
// sends, and the next connection over it carries everything.
func TestPathThatNarrowsIsDialledAgainWithoutDiscovery(t *testing.T) {
	t.Parallel()
	for _, amount := range []struct {
		name string
		size int
	}{
		{"a request of one packet", 1400},
		{"as much as the congestion window has room for", 30_000},
		{"as much as fills it", 16 << 20},
	} {
		for _, download := range []bool{true, false} {
			t.Run(amount.name+map[bool]string{true: ", downloaded", false: ", uploaded"}[download], func(t *testing.T) {
				t.Parallel()
				narrows(t, amount.size, download)
			})
		}
	}
}

func narrows(t *testing.T, size int, download bool) {
	upstream, conns := parked(t)
	d := newDuo(t, upstream, func(d *duo) { d.path = udplink.Path{Delay: time.Millisecond} })
	open := func() (from, to io.ReadWriter) {
		c := d.dial(t)
		if download {
			return <-conns, c
		}
		return c, <-conns
	}
	carries := func(from, to io.ReadWriter, size int) error {
		sent := make(chan error, 1)
		go func() {
			_, err := from.Write(make([]byte, size))
			sent <- err
		}()
		_, err := io.ReadFull(to, make([]byte, size))
		return errors.Join(err, <-sent)
	}
	from, to := open()
	await(t, "discovery to find a larger packet", func() bool {
		if err := carries(from, to, 30_000); err != nil {
			t.Fatal(err)
		}
		return d.way.Counts().Widest > 1400
	})
	d.way.SetPath(udplink.Path{Delay: time.Millisecond, MTU: 1250})
	begun := time.Now()
	for _, c := range []io.ReadWriter{from, to} {
		_ = c.(*net.TCPConn).SetDeadline(begun.Add(2 * patience)) // on a slow machine what is sent again is sent late
	}
	if err := carries(from, to, size); !isReset(err) {
		t.Fatalf("over a path that narrowed: %v, want a reset", err)
	}
	t.Logf("noticed after %v", time.Since(begun))
	from, to = open()
	if err := carries(from, to, 30_000); err != nil {
		t.Errorf("over the next connection: %v", err)
	}
}

// VTX-9: whoever is reset with a connection dials again before its end was looked
// at, and must find the path known. Here that moment is held: the connection that
// has ended is still among those that live.
func TestADialLearnsOfAPathThatWasJustFoundNarrow(t *testing.T) {
	t.Parallel()
	d := newDuo(t, backend(t, echo))
	d.dial(t)
	s, known := d.near.live.sessions()[0], d.near.endpoint.get().narrow
	s.end(PathMTU)
	await(t, "the end to be looked at", func() bool { return len(d.near.live.sessions()) == 0 })
	known.mu.Lock()
	clear(known.until)
	known.mu.Unlock()
	d.near.live.add(s)
	defer d.near.live.remove(s)
	d.dial(t)
	if !known.has(s.conn.RemoteAddr(), time.Now()) {
		t.Error("the next connection was dialled as if the path were wide")
	}
}

// VTX-9: the same a moment earlier, when a stream has heard of the end and the
// connection itself has not.
func TestADialLearnsOfANarrowPathFromAStream(t *testing.T) {
	t.Parallel()
	for _, reason := range []Reason{PathMTU, TooMany} {
		d := newDuo(t, backend(t, echo))
		d.dial(t)
		s := d.near.live.sessions()[0]
		l := &streamLeg{session: s}
		l.blame(&quic.ApplicationError{Remote: true, ErrorCode: closeCode(reason)})
		if _, err := d.near.Vertex.dial(pair{d.alice, d.web}); err != nil {
			t.Fatal(err)
		}
		if got, want := d.near.endpoint.get().narrow.has(s.conn.RemoteAddr(), time.Now()), reason == PathMTU; got != want {
			t.Errorf("after a stream that ended with %v the path is known as narrow: %v, want %v", reason, got, want)
		}
	}
}

// VTX-9: a stream on which nothing happens is no sign of a narrow path, though
// discovery sends large packets with the keep-alives, and may lose them.
func TestSilentStreamGoesOn(t *testing.T) {
	t.Parallel()
	const silence = 40 * time.Second // keep-alives enough for all of discovery
	var cases []func()
	for _, tt := range []struct {
		name  string
		path  udplink.Path
		stall bool // the service reads nothing of what fills the windows
	}{
		{"all packets pass", udplink.Path{Delay: time.Millisecond}, false},
		{"those of discovery do not", udplink.Path{Delay: time.Millisecond, MTU: 1300}, false},
		{"one of ten is lost", udplink.Path{Delay: 20 * time.Millisecond, Loss: 0.1}, false},
		{"the service reads nothing", udplink.Path{Delay: time.Millisecond}, true},
	} {
		upstream, conns := parked(t)
		d := newDuo(t, upstream, func(d *duo) { d.path = tt.path })
		client, service := d.dial(t), <-conns
		written := 0
		if tt.stall {
			_ = client.SetWriteDeadline(time.Now().Add(2 * time.Second))
			written, _ = client.Write(make([]byte, 64<<20))
		}
		cases = append(cases, func() {
			for _, c := range []*net.TCPConn{client, service} {
				_ = c.SetDeadline(time.Now().Add(patience))
			}
			if _, err := io.CopyN(io.Discard, service, int64(written)); err != nil {
				t.Errorf("%s: what was under way: %v", tt.name, err)
			}
			checkSpeaks(t, tt.name, client, service)
			checkSpeaks(t, tt.name, service, client)
		})
	}
	time.Sleep(silence)
	for _, check := range cases {
		check()
	}
}

func checkSpeaks(t *testing.T, name string, from, to *net.TCPConn) {
	t.Helper()
	if _, err := io.WriteString(from, "still here"); err != nil {
		t.Errorf("%s: %v", name, err)
	}
	got := make([]byte, len("still here"))
	if _, err := io.ReadFull(to, got); err != nil || string(got) != "still here" {
		t.Errorf("%s: %q, %v", name, got, err)
	}
}

// VTX-5, VTX-9: in an outage large packets are sent in vain as well, and when it
// is over some packets may arrive before any is acknowledged.
func TestOutageWithDataUnderWayIsNoNarrowPath(t *testing.T) {
	t.Parallel()
	for _, download := range []bool{true, false} {
		t.Run(map[bool]string{true: "while downloading", false: "while uploading"}[download], func(t *testing.T) {
			t.Parallel()
			upstream, conns := parked(t)
			d := newDuo(t, upstream, func(d *duo) { d.path = udplink.Path{Delay: time.Millisecond} })
			from, to := d.dial(t), <-conns
			if download {
				from, to = to, from
			}
			for _, c := range []*net.TCPConn{from, to} {
				_ = c.SetDeadline(time.Now().Add(2 * patience))
			}
			pour(from)
			expectMuch(t, to)
			d.way.SetCut(true)
			time.Sleep(8 * time.Second)
			d.way.SetCut(false)
			if _, err := io.CopyN(io.Discard, to, 32<<20); err != nil { // more than all windows and buffers hold
				t.Error(err)
			}
		})
	}
}

// second is what one more second adds to a connection's traffic.
type second func(t traffic, nth int) traffic

// VTX-9: only a connection whose data is sent in large packets in vain is given up.
func TestPathIsTakenForNarrowOnlyIfDataIsSentInVain(t *testing.T) {
	t.Parallel()
	const rtt = 10 * time.Millisecond
	add := func(l *load, packets, bytes uint64) { l.packets, l.bytes = l.packets+packets, l.bytes+bytes }
	acknowledged := func(c *traffic) { c.heard, c.latest = c.heard+1, c.latest+1 }
	for _, tt := range []struct {
		name string
		adds second
		rtt  time.Duration
		want int // the second in which it is noticed; 0: never in a minute
	}{
		{"a full window: large packets, nothing acknowledged, small ones arrive", func(c traffic, _ int) traffic {
			add(&c.sent, 3, 2800)
			c.heard++
			return c
		}, rtt, 5},
		{"the same, and what is sent again is sent ever later", func(c traffic, nth int) traffic {
			if nth&(nth-1) == 0 {
				add(&c.sent, 2, 2800)
			}
			if nth%3 == 0 {
				c.heard++
			}
			return c
		}, rtt, 6},
		{"a full window, and every third second a keep-alive arrives", func(c traffic, nth int) traffic {
			add(&c.sent, 3, 2800)
			if nth%3 == 0 {
				c.heard++
			}
			return c
		}, rtt, 6},
		{"room in the window: small packets are acknowledged, large ones lost", func(c traffic, _ int) traffic {
			add(&c.sent, 12, 14_000)
			add(&c.lost, 1, 1400)
			acknowledged(&c)
			return c
		}, rtt, 5},
		{"the same, and only keep-alives of the dialler tell", func(c traffic, nth int) traffic {
			add(&c.sent, 2, 2800)
			if nth%3 == 0 {
				add(&c.lost, 4, 5600)
				acknowledged(&c)
			}
			return c
		}, rtt, 6},
		{"writers are served slowly", func(c traffic, _ int) traffic {
			add(&c.sent, 2, 2800)
			add(&c.lost, 1, 1400)
			c.heard, c.writes = c.heard+1, c.writes+1
			return c
		}, rtt, 0},
		{"nobody reads at the other end: nothing large is sent", func(c traffic, _ int) traffic {
			add(&c.sent, 1, 40)
			c.heard++
			return c
		}, rtt, 0},
		{"nobody reads, and discovery goes on", func(c traffic, nth int) traffic {
			add(&c.sent, 2, 1500)
			acknowledged(&c)
			return c
		}, rtt, 0},
		{"silence: discovery with each keep-alive", func(c traffic, nth int) traffic {
			if nth%3 == 0 {
				add(&c.sent, 2, 1450)
				acknowledged(&c)
			}
			return c
		}, rtt, 0},
		{"silence on a path that loses packets: keep-alives are lost", func(c traffic, nth int) traffic {
			if nth%3 == 0 {
				add(&c.sent, 4, 1550)
				add(&c.lost, 2, 80)
				acknowledged(&c)
			}
			return c
		}, rtt, 0},
		{"an answer is awaited, after a request of which much was lost for two seconds", func(c traffic, nth int) traffic {
			if nth <= 2 {
				add(&c.sent, 100, 140_000)
				add(&c.lost, 10, 14_000)
			}
			add(&c.sent, 1, 40)
			acknowledged(&c)
			return c
		}, rtt, 0},
		{"nothing arrives at all: an outage", func(c traffic, _ int) traffic {
			add(&c.sent, 2, 2800)
			return c
		}, rtt, 0},
		{"an outage of eight seconds, after which the peer is heard first", func(c traffic, nth int) traffic {
			switch {
			case nth < 8:
				add(&c.sent, 2, 2800)
			case nth < 12:
				c.heard++
			case nth == 12:
				add(&c.sent, 2, 2800)
				acknowledged(&c)
			default:
				c.writes++
			}
			return c
		}, rtt, 0},
		{"an outage of eight seconds: all that was under way is lost", func(c traffic, nth int) traffic {
			switch {
			case nth < 8:
				add(&c.sent, 2, 2800)
			case nth == 8:
				add(&c.lost, 30, 42_000)
				acknowledged(&c)
			}
			return c
		}, rtt, 0},
		{"a download is acknowledged", func(c traffic, _ int) traffic {
			add(&c.sent, 5000, 500_000)
			c.heard += 10_000
			return c
		}, rtt, 0},
		{"a write takes eight seconds on a slow path", func(c traffic, nth int) traffic {
			add(&c.sent, 6, 8000)
			c.heard += 3
			if nth%8 == 0 {
				c.writes++
			}
			return c
		}, 2 * time.Second, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := noticedIn(tt.adds, tt.rtt); got != tt.want {
				t.Errorf("noticed in second %d, want %d", got, tt.want)
			}
		})
	}
}

// noticedIn tells in which second of a minute the path is taken for narrow.
func noticedIn(adds second, rtt time.Duration) int {
	var w mtuWatch
	now := traffic{at: time.Unix(1000, 0), rtt: rtt}
	w.look(now)
	for nth := 1; nth <= 60; nth++ {
		now = adds(now, nth)
		now.at = now.at.Add(time.Second)
		if narrow, _ := w.look(now); narrow {
			return nth
		}
	}
	return 0
}
