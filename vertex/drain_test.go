package vertex

import (
	"bytes"
	"context"
	"io"
	"net"
	"testing"
	"time"
)

// VTX-7: nothing written before a FIN is lost, even when the vertex that
// wrote it is told to stop at the same moment.
func TestTailBeforeFINSurvivesAShutdown(t *testing.T) {
	t.Parallel()
	tail := bytes.Repeat([]byte("0123456789"), 5000)
	for _, tt := range []struct {
		name string
		stop func(*duo)
	}{
		{"of the target's vertex", func(d *duo) { d.far.cancel() }},
		{"of the initiator's vertex", func(d *duo) { d.near.cancel() }},
		{"of both", func(d *duo) { d.far.cancel(); d.near.cancel() }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			upstream, conns := parked(t)
			grace := Options{Grace: 5 * time.Second}
			d := newDuo(t, upstream, func(d *duo) { d.nearOpts, d.farOpts = grace, grace })
			c := d.dial(t)
			s := <-conns
			writeAndEnd(t, s, tail)
			writeAndEnd(t, c, tail)
			tt.stop(d)
			for _, conn := range []*net.TCPConn{c, s} {
				if got, err := io.ReadAll(conn); err != nil || !bytes.Equal(got, tail) {
					t.Errorf("got %d bytes (%v), want %d", len(got), err, len(tail))
				}
			}
		})
	}
}

func writeAndEnd(t *testing.T, c *net.TCPConn, data []byte) {
	t.Helper()
	if _, err := c.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := c.CloseWrite(); err != nil {
		t.Fatal(err)
	}
}

// VTX-15
func TestDrainLetsOpenConnectionsEnd(t *testing.T) {
	t.Parallel()
	d := newDuo(t, backend(t, echo), func(d *duo) { d.farOpts.Grace = 10 * time.Second })
	c := d.dial(t)
	d.far.cancel()
	d.far.await("the drain to begin", d.far.draining.Load)
	send(t, c, "still carried")
	expect(t, c, "still carried")
	if got := replyTo(t, d.nearPlan.ports[d.alice], host(t, d.web)); got != 4 {
		t.Errorf("reply %d to a new request, want 4", got)
	}
	_ = c.CloseWrite()
	expectEOF(t, c)
	begun := time.Now()
	<-d.far.ended
	if took := time.Since(begun); took > 3*time.Second {
		t.Errorf("the drain took %v after the last connection", took)
	}
}

// VTX-15
func TestGraceEndsWithAReason(t *testing.T) {
	t.Parallel()
	d := newDuo(t, backend(t, echo))
	c := d.dial(t)
	d.far.stop()
	expectReset(t, c)
	d.near.await("the reason", func() bool {
		return d.near.counter("connections_closed_total", "peer-shutdown", d.alice.String(), d.web.String()) == 1
	})
	if got := d.far.counter("connections_closed_total", "shutdown", d.alice.String(), d.web.String()); got != 1 {
		t.Errorf("the vertex that stopped counted %v, want 1 with reason shutdown", got)
	}
}

// VTX-15: an idle connection does not hold a drain up.
func TestDrainWithoutConnectionsIsShort(t *testing.T) {
	t.Parallel()
	d := newDuo(t, backend(t, echo), func(d *duo) { d.farOpts.Grace = time.Minute })
	c := d.dial(t)
	_ = c.CloseWrite()
	expectEOF(t, c)
	begun := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	d.far.Drain(ctx)
	if took := time.Since(begun); took > 2500*time.Millisecond {
		t.Errorf("took %v", took)
	}
	if got := d.far.Ready(); got.Ready || len(got.Waiting) > 0 {
		t.Errorf("readiness after a drain: %+v", got)
	}
}

// VTX-6: the target's vertex restarts while a client asks; the one more dial
// finds the new one.
func TestRequestDuringARestartIsAnswered(t *testing.T) {
	t.Parallel()
	d := newDuo(t, backend(t, echo))
	d.dial(t)
	d.far.stop()
	d.far = raise(t, d.farPlan.payload(t), d.farIDs, Options{})
	c := d.dial(t)
	send(t, c, "x")
	expect(t, c, "x")
}
