package vertex

import (
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/florete/flor/envelope/envelopetest"
)

// moment is how far a connection has come when it ends.
type moment string

const (
	beforeData moment = "before data"
	whileData  moment = "while data flows"
	afterData  moment = "after data"
)

// tunnelled is one connection through two vertices, with all who see its end.
type tunnelled struct {
	*duo
	client, service *net.TCPConn
	ahead           *clock
}

// way to end a connection, and what everybody must see of it.
type ending struct {
	name            string
	end             func(*testing.T, *tunnelled)
	client, service string // "eof", "reset", or "" for the one that ends it
	near, far       Reason // the one that each vertex counts; zero: a vertex that is gone
}

// VTX-7: who ends a connection, how, and when; what the two programs see, and
// the one reason that each of the two vertices counts.
func TestEndsOfConnections(t *testing.T) {
	t.Parallel()
	for _, e := range endings {
		for _, m := range []moment{beforeData, whileData, afterData} {
			t.Run(e.name+", "+string(m), func(t *testing.T) {
				t.Parallel()
				checkEnding(t, e, m)
			})
		}
	}
}

var endings = []ending{
	{"the client with FIN, then the service", func(t *testing.T, x *tunnelled) {
		_ = x.client.CloseWrite()
		drainTo(t, x.service, "eof")
		_ = x.service.CloseWrite()
	}, "eof", "", Completed, Completed},
	{"the service with FIN, then the client", func(t *testing.T, x *tunnelled) {
		_ = x.service.CloseWrite()
		drainTo(t, x.client, "eof")
		_ = x.client.CloseWrite()
	}, "", "eof", Completed, Completed},
	{"the client with RST", func(_ *testing.T, x *tunnelled) { rst(x.client) }, "", "reset", InitiatorReset, PeerReset},
	{"the service with RST", func(_ *testing.T, x *tunnelled) { rst(x.service) }, "reset", "", PeerReset, TargetReset},
	{"the client with FIN and then RST", func(t *testing.T, x *tunnelled) {
		_ = x.client.CloseWrite()
		drainTo(t, x.service, "eof")
		rst(x.client)
	}, "", "reset", InitiatorReset, PeerReset},
	{"the service with FIN and then RST", func(t *testing.T, x *tunnelled) {
		_ = x.service.CloseWrite()
		drainTo(t, x.client, "eof")
		rst(x.service)
	}, "reset", "", PeerReset, TargetReset},
	{"the client with RST while the service reads nothing", func(t *testing.T, x *tunnelled) {
		fillUntilStuck(t, x.client)
		rst(x.client)
	}, "", "reset", InitiatorReset, PeerReset},
	{"expiry, seen by the target's vertex", func(_ *testing.T, x *tunnelled) { x.ahead.forward(time.Hour) },
		"reset", "reset", PeerExpired, Expired},
	{"revocation, applied to the target's vertex", func(t *testing.T, x *tunnelled) {
		p := *x.farPlan
		p.revoked = []string{fingerprint(x.aliceID.Cert)}
		apply(t, x.far, &p)
	}, "reset", "reset", PeerRevoked, Revoked},
	{"revocation, applied to the initiator's vertex", func(t *testing.T, x *tunnelled) {
		p := *x.nearPlan
		p.revoked = []string{fingerprint(x.webID.Cert)}
		apply(t, x.near, &p)
	}, "reset", "reset", Revoked, PeerRevoked},
	{"an egress list that no longer has it", func(t *testing.T, x *tunnelled) {
		p := *x.nearPlan
		p.egress = nil
		apply(t, x.near, &p)
	}, "reset", "reset", Denied, PeerDenied},
	{"an ingress list that no longer has it", func(t *testing.T, x *tunnelled) {
		p := *x.farPlan
		p.ingress = nil
		apply(t, x.far, &p)
	}, "reset", "reset", PeerDenied, Denied},
	{"drain and grace of the target's vertex", func(_ *testing.T, x *tunnelled) { x.far.stop() },
		"reset", "reset", PeerShutdown, Shutdown},
	{"drain and grace of the initiator's vertex", func(_ *testing.T, x *tunnelled) { x.near.stop() },
		"reset", "reset", Shutdown, PeerShutdown},
	{"the target's vertex is killed and comes back", func(t *testing.T, x *tunnelled) {
		x.far.kill()
		x.far = raise(t, x.farPlan.payload(t), x.farIDs, x.farOpts)
		x.near.live.sessions()[0].nudge(time.Now().Add(time.Minute))
	}, "reset", "reset", PeerRestarted, 0},
}

func checkEnding(t *testing.T, e ending, m moment) {
	x := newTunnelled(t)
	if m != beforeData {
		send(t, x.client, "question")
		expect(t, x.service, "question")
		send(t, x.service, "answer")
		expect(t, x.client, "answer")
	}
	if m == whileData {
		send(t, x.client, "more")
		send(t, x.service, "more")
	}
	near, far := x.near, x.far
	e.end(t, x)
	// Both vertices know before either program reads or writes anything more.
	expectReason(t, near, x.duo, e.near)
	if e.far != 0 {
		expectReason(t, far, x.duo, e.far)
	}
	drainTo(t, x.client, e.client)
	drainTo(t, x.service, e.service)
}

func newTunnelled(t *testing.T) *tunnelled {
	upstream, conns := parked(t)
	x := &tunnelled{ahead: new(clock)}
	x.duo = newDuo(t, upstream, func(d *duo) {
		d.webID = authority.Issue(d.web, envelopetest.Valid(time.Now().Add(-time.Hour), time.Now().Add(time.Hour)))
		d.farOpts.Now = x.ahead.now
	})
	x.client = x.dial(t)
	x.service = <-conns
	return x
}

func rst(c *net.TCPConn) {
	_ = c.SetLinger(0)
	_ = c.Close()
}

func apply(t *testing.T, n *node, p *plan) {
	t.Helper()
	if err := n.Apply(p.payload(t)); err != nil {
		t.Fatal(err)
	}
}

// drainTo reads to the end of a connection and tells how it ended. What was
// under way may be lost in an abort, and only in one. After a FIN only a write
// meets a reset.
func drainTo(t *testing.T, c *net.TCPConn, want string) {
	t.Helper()
	if want == "" {
		return
	}
	_, err := io.ReadAll(c)
	for want == "reset" && err == nil {
		if _, err = c.Write([]byte("x")); isReset(err) {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	got := "eof"
	switch {
	case errors.Is(err, syscall.ECONNRESET):
		got = "reset"
	case errors.Is(err, os.ErrDeadlineExceeded):
		got = "nothing"
	case err != nil:
		got = err.Error()
	}
	if got != want {
		t.Fatalf("%v saw %s, want %s", c.LocalAddr(), got, want)
	}
}

// expectReason waits for a vertex to count the connection, once and for that
// reason alone.
func expectReason(t *testing.T, n *node, d *duo, want Reason) {
	t.Helper()
	n.await("the end to be counted as "+want.String(), func() bool {
		return n.counter("connections_closed_total", want.String(), d.alice.String(), d.web.String()) == 1
	})
	var counted []string
	for r := range reasons {
		if n.counter("connections_closed_total", r.String(), d.alice.String(), d.web.String()) > 0 {
			counted = append(counted, r.String())
		}
	}
	if !slices.Equal(counted, []string{want.String()}) {
		t.Errorf("counted as %v, want %s alone", counted, want)
	}
}
