package vertex

import (
	"bytes"
	"context"
	"io"
	"net"
	"testing"
	"time"

	"github.com/florete/flor/conformance/lab/udplink"
)

// VTX-7: nothing written before a FIN is lost, even when a vertex on its way
// is told to stop at the same moment. The path is long and loses packets, so
// that the tail is still under way when everything has been written; the other
// direction has ended before, so that nothing else keeps the connection open.
func TestTailBeforeFINSurvivesAShutdown(t *testing.T) {
	t.Parallel()
	stops := map[string]func(*duo){
		"the target's vertex stops":    func(d *duo) { d.far.cancel() },
		"the initiator's vertex stops": func(d *duo) { d.near.cancel() },
		"both vertices stop":           func(d *duo) { d.far.cancel(); d.near.cancel() },
	}
	for _, download := range []bool{true, false} {
		for name, stop := range stops {
			t.Run(map[bool]string{true: "download, ", false: "upload, "}[download]+name, func(t *testing.T) {
				t.Parallel()
				checkTail(t, download, stop)
			})
		}
	}
}

func checkTail(t *testing.T, download bool, stop func(*duo)) {
	upstream, conns := parked(t)
	d := newDuo(t, upstream, func(d *duo) {
		d.nearOpts.Grace, d.farOpts.Grace = 10*time.Second, 10*time.Second
		d.path = udplink.Path{Delay: 30 * time.Millisecond, Loss: 1. / 9}
	})
	reader := d.dial(t)
	writer := <-conns
	if !download {
		reader, writer = writer, reader
	}
	_ = reader.CloseWrite()
	expectEOF(t, writer)
	tail := bytes.Repeat([]byte("0123456789"), 5000)
	writeAndEnd(t, writer, tail)
	stop(d)
	if got, err := io.ReadAll(reader); err != nil || !bytes.Equal(got, tail) {
		t.Errorf("got %d bytes (%v), want %d", len(got), err, len(tail))
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
	d := newDuo(t, backend(t, echo), func(d *duo) { d.farOpts.Grace = 20 * time.Second })
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
	if took := time.Since(begun); took > settled+8*time.Second { // far less than its grace
		t.Errorf("the drain took %v after the last connection", took)
	}
}

// VTX-7, VTX-15: what grace cuts has a reason on both sides, and never looks
// like a clean end, also to a client that ended its own direction before.
func TestGraceEndsWithAReason(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name      string
		stop      func(*duo)
		near, far string
	}{
		{"of the target's vertex", func(d *duo) { d.far.stop() }, "peer-shutdown", "shutdown"},
		{"of the initiator's vertex", func(d *duo) { d.near.stop() }, "shutdown", "peer-shutdown"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			upstream, conns := parked(t)
			d := newDuo(t, upstream)
			open := d.dial(t)
			<-conns
			half := d.dial(t)
			_ = half.CloseWrite()
			expectEOF(t, <-conns)
			tt.stop(d)
			expectReset(t, open)
			expectReset(t, half)
			d.near.await("the reasons", func() bool {
				return d.near.counter("connections_closed_total", tt.near, d.alice.String(), d.web.String()) == 2 &&
					d.far.counter("connections_closed_total", tt.far, d.alice.String(), d.web.String()) == 2
			})
		})
	}
}

// VTX-15: a drain with a time limit, as before a restart, ends what is left.
func TestDrainEndsWhatIsLeftWhenItsTimeIsOver(t *testing.T) {
	t.Parallel()
	d := newDuo(t, backend(t, echo))
	c := d.dial(t)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	d.far.Drain(ctx)
	expectReset(t, c)
}

// VTX-15: an idle connection does not hold a drain up.
func TestDrainWithoutConnectionsIsShort(t *testing.T) {
	t.Parallel()
	d := newDuo(t, backend(t, echo), func(d *duo) { d.farOpts.Grace = time.Minute })
	c := d.dial(t)
	_ = c.CloseWrite()
	expectEOF(t, c)
	ctx, cancel := context.WithTimeout(t.Context(), settled+8*time.Second) // far less than idleTimeout
	defer cancel()
	d.far.Drain(ctx)
	if ctx.Err() != nil {
		t.Error("it was held up until its time was over")
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
