package vertex

import (
	"bytes"
	"io"
	"testing"
	"time"

	"github.com/florete/flor/conformance/lab/udplink"
)

// VTX-9: a path that narrows under a live connection is noticed by whoever
// sends, and the next connection over it carries everything.
func TestPathThatNarrowsIsDialledAgainWithoutDiscovery(t *testing.T) {
	t.Parallel()
	for _, download := range []bool{true, false} {
		t.Run(map[bool]string{true: "while downloading", false: "while uploading"}[download], func(t *testing.T) {
			t.Parallel()
			upstream, conns := parked(t)
			d := newDuo(t, upstream, func(d *duo) { d.path = udplink.Path{Delay: time.Millisecond} })
			open := func() (from, to io.ReadWriter) {
				c := d.dial(t)
				if download {
					return <-conns, c
				}
				return c, <-conns
			}
			block := bytes.Repeat([]byte("0123456789"), 3000)
			carries := func(from, to io.ReadWriter) error {
				if _, err := from.Write(block); err != nil {
					return err
				}
				_, err := io.ReadFull(to, make([]byte, len(block)))
				return err
			}
			from, to := open()
			await(t, "discovery to find a larger packet", func() bool {
				if err := carries(from, to); err != nil {
					t.Fatal(err)
				}
				return d.way.Counts().Widest > 1400
			})
			d.way.SetPath(udplink.Path{Delay: time.Millisecond, MTU: 1250})
			begun := time.Now()
			if err := carries(from, to); !isReset(err) {
				t.Fatalf("over a path that narrowed: %v, want a reset", err)
			}
			t.Logf("noticed after %v", time.Since(begun))
			if err := carries(open()); err != nil {
				t.Errorf("over the next connection: %v", err)
			}
		})
	}
}

// VTX-9: only a connection whose large packets are in vain is given up.
func TestPathIsTakenForNarrowOnlyIfLargePacketsAreInVain(t *testing.T) {
	t.Parallel()
	start := time.Unix(1000, 0)
	const rtt = 10 * time.Millisecond
	for _, tt := range []struct {
		name   string
		second func(traffic) traffic // what one more second adds
		rtt    time.Duration
		want   int // the second in which it is noticed; 0: never in a minute
	}{
		{"large packets, small ones arrive, writers wait", func(c traffic) traffic {
			c.bytes, c.sent, c.heard = c.bytes+2800, c.sent+3, c.heard+1
			return c
		}, rtt, 5},
		{"writers are served slowly", func(c traffic) traffic {
			c.bytes, c.sent, c.heard, c.writes = c.bytes+2800, c.sent+2, c.heard+1, c.writes+1
			return c
		}, rtt, 0},
		{"nobody reads at the other end: nothing large is sent", func(c traffic) traffic {
			c.bytes, c.sent, c.heard = c.bytes+40, c.sent+1, c.heard+1
			return c
		}, rtt, 0},
		{"nothing arrives at all: an outage", func(c traffic) traffic {
			c.bytes, c.sent = c.bytes+2800, c.sent+2
			return c
		}, rtt, 0},
		{"a download is acknowledged", func(c traffic) traffic {
			c.bytes, c.sent, c.heard = c.bytes+500_000, c.sent+5000, c.heard+10_000
			return c
		}, rtt, 0},
		{"a write takes eight seconds on a slow path", func(c traffic) traffic {
			c.bytes, c.sent, c.heard = c.bytes+8000, c.sent+6, c.heard+3
			if int(c.at.Sub(start).Seconds())%8 == 0 {
				c.writes++
			}
			return c
		}, 2 * time.Second, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := mtuWatch{born: start.Add(-time.Hour)}
			now, noticed := traffic{at: start, rtt: tt.rtt}, 0
			w.narrowed(now)
			for second := 1; second <= 60 && noticed == 0; second++ {
				now.at = now.at.Add(time.Second)
				if now = tt.second(now); w.narrowed(now) {
					noticed = second
				}
			}
			if noticed != tt.want {
				t.Errorf("noticed in second %d, want %d", noticed, tt.want)
			}
		})
	}
}
