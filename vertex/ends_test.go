package vertex

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/florete/flor/conformance/lab/udplink"
	"github.com/florete/flor/envelope/envelopetest"
)

// moment is how far a connection has come when it ends.
type moment string

const (
	beforeData moment = "before data"
	whileData  moment = "while data flows"
	afterData  moment = "after data"
)

var moments = []moment{beforeData, whileData, afterData}

// sight is what the four parties see of one end: the two programs "eof" or
// "reset", or "ends it" where it is their doing; the two vertices the one
// reason that they count, or "killed".
type sight struct{ client, near, far, service string }

// tunnelled is one connection through two vertices, with all who see its end.
type tunnelled struct {
	*duo
	client, service     *net.TCPConn
	nearClock, farClock *clock
}

// ending is a way to end a connection, and what everybody must see of it.
type ending struct {
	name string
	end  func(*testing.T, *tunnelled)
	want sight
}

// VTX-7: who ends a connection, how, and when; what the two programs see, and
// the one reason that each of the two vertices counts. With -v the whole table
// is printed, as it was seen.
func TestEndsOfConnections(t *testing.T) {
	t.Parallel()
	var table endsTable
	t.Run("by", func(t *testing.T) {
		for _, e := range untoldEndings { // the slow ones first
			t.Run(e.name, func(t *testing.T) {
				t.Parallel()
				checkUntold(t, e, &table)
			})
		}
		for _, e := range endings {
			for _, m := range moments {
				t.Run(e.name+", "+string(m), func(t *testing.T) {
					t.Parallel()
					table.add(e.name, m, checkEnding(t, e, m))
				})
			}
		}
	})
	t.Logf("what the four parties see:\n%s", &table)
}

// endsTable collects what was seen.
type endsTable struct {
	mu   sync.Mutex
	rows []endsRow
}

type endsRow struct {
	name string
	when moment
	sight
}

func (e *endsTable) add(name string, when moment, seen sight) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.rows = append(e.rows, endsRow{name, when, seen})
}

// String is the table; moments of which everybody sees the same share a line.
func (e *endsTable) String() string {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "who and how\twhen\tthe client\tits vertex counts\tthe target's vertex counts\tthe service")
	slices.SortStableFunc(e.rows, func(a, b endsRow) int { return strings.Compare(a.name, b.name) })
	for len(e.rows) > 0 {
		first := e.rows[0]
		same := func(r endsRow) bool { return r.name == first.name && r.sight == first.sight }
		var when []string
		for _, m := range moments {
			if slices.ContainsFunc(e.rows, func(r endsRow) bool { return same(r) && r.when == m }) {
				when = append(when, strings.Fields(string(m))[0])
			}
		}
		e.rows = slices.DeleteFunc(e.rows, same)
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", first.name, strings.Join(when, " "),
			first.client, first.near, first.far, first.service)
	}
	w.Flush()
	return text.String()
}

var endings = []ending{
	{"the client with FIN, then the service", func(t *testing.T, x *tunnelled) {
		_ = x.client.CloseWrite()
		drainTo(t, x.service, "eof")
		_ = x.service.CloseWrite()
	}, sight{"eof", Completed.String(), Completed.String(), "ends it"}},
	{"the service with FIN, then the client", func(t *testing.T, x *tunnelled) {
		_ = x.service.CloseWrite()
		drainTo(t, x.client, "eof")
		_ = x.client.CloseWrite()
	}, sight{"ends it", Completed.String(), Completed.String(), "eof"}},
	{"the client with RST", func(_ *testing.T, x *tunnelled) { rst(x.client) }, sight{"ends it", InitiatorReset.String(), PeerReset.String(), "reset"}},
	{"the service with RST", func(_ *testing.T, x *tunnelled) { rst(x.service) }, sight{"reset", PeerReset.String(), TargetReset.String(), "ends it"}},
	{"the client with FIN and then RST", func(t *testing.T, x *tunnelled) {
		_ = x.client.CloseWrite()
		drainTo(t, x.service, "eof")
		rst(x.client)
	}, sight{"ends it", InitiatorReset.String(), PeerReset.String(), "reset"}},
	{"the service with FIN and then RST", func(t *testing.T, x *tunnelled) {
		_ = x.service.CloseWrite()
		drainTo(t, x.client, "eof")
		rst(x.service)
	}, sight{"reset", PeerReset.String(), TargetReset.String(), "ends it"}},
	{"the client with RST while the service reads nothing", func(t *testing.T, x *tunnelled) {
		fillUntilStuck(t, x.client)
		rst(x.client)
	}, sight{"ends it", InitiatorReset.String(), PeerReset.String(), "reset"}},
	{"the service with RST while the client reads nothing", func(t *testing.T, x *tunnelled) {
		fillUntilStuck(t, x.service)
		rst(x.service)
	}, sight{"reset", PeerReset.String(), TargetReset.String(), "ends it"}},
	{"expiry, seen by the target's vertex", func(_ *testing.T, x *tunnelled) { x.farClock.forward(time.Hour) },
		sight{"reset", PeerExpired.String(), Expired.String(), "reset"}},
	{"expiry, seen by the initiator's vertex", func(_ *testing.T, x *tunnelled) { x.nearClock.forward(time.Hour) },
		sight{"reset", Expired.String(), PeerExpired.String(), "reset"}},
	{"revocation, applied to the target's vertex", func(t *testing.T, x *tunnelled) {
		p := *x.farPlan
		p.revoked = []string{fingerprint(x.aliceID.Cert)}
		apply(t, x.far, &p)
	}, sight{"reset", PeerRevoked.String(), Revoked.String(), "reset"}},
	{"revocation, applied to the initiator's vertex", func(t *testing.T, x *tunnelled) {
		p := *x.nearPlan
		p.revoked = []string{fingerprint(x.webID.Cert)}
		apply(t, x.near, &p)
	}, sight{"reset", Revoked.String(), PeerRevoked.String(), "reset"}},
	{"an egress list that no longer has it", func(t *testing.T, x *tunnelled) {
		p := *x.nearPlan
		p.egress = nil
		apply(t, x.near, &p)
	}, sight{"reset", Denied.String(), PeerDenied.String(), "reset"}},
	{"an ingress list that no longer has it", func(t *testing.T, x *tunnelled) {
		p := *x.farPlan
		p.ingress = nil
		apply(t, x.far, &p)
	}, sight{"reset", PeerDenied.String(), Denied.String(), "reset"}},
	{"drain and grace of the target's vertex", func(_ *testing.T, x *tunnelled) { x.far.stop() },
		sight{"reset", PeerShutdown.String(), Shutdown.String(), "reset"}},
	{"drain and grace of the initiator's vertex", func(_ *testing.T, x *tunnelled) { x.near.stop() },
		sight{"reset", Shutdown.String(), PeerShutdown.String(), "reset"}},
}

// checkEnding ends one connection at a moment and returns what was seen.
func checkEnding(t *testing.T, e ending, m moment) sight {
	x := newTunnelled(t)
	x.bring(t, m)
	near, far := x.near, x.far
	e.end(t, x)
	// Both vertices know before either program reads or writes anything more.
	seen := sight{near: x.countedBy(t, near, 1), far: x.countedBy(t, far, 1)}
	seen.client = endSeen(t, x.client, e.want.client)
	seen.service = endSeen(t, x.service, e.want.service)
	if diff := cmp.Diff(e.want, seen, cmp.AllowUnexported(sight{})); diff != "" {
		t.Errorf("want and seen:\n%s", diff)
	}
	return seen
}

// bring brings a connection to a moment of its life.
func (x *tunnelled) bring(t *testing.T, m moment) {
	t.Helper()
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
}

// untoldEnding is an end of which one vertex at least hears nothing: it finds
// out by itself.
type untoldEnding struct {
	name    string
	outside outsider // the vertex that is a process of its own
	end     func(*testing.T, *duo)
	want    sight
}

var untoldEndings = []untoldEnding{
	{"nothing passes between the vertices any more", nobody, func(_ *testing.T, d *duo) { d.way.SetCut(true) },
		sight{"reset", PeerLost.String(), PeerLost.String(), "reset"}},
	{"kill -9 of the initiator's vertex", theNear, func(_ *testing.T, d *duo) { d.process.kill() },
		sight{"reset", "killed", PeerLost.String(), "reset"}},
	{"kill -9 of the target's vertex", theFar, func(_ *testing.T, d *duo) { d.process.kill() },
		sight{"reset", PeerLost.String(), "killed", "reset"}},
	{"kill -9 of the initiator's vertex, which comes back", theNear, func(t *testing.T, d *duo) {
		d.process.kill()
		launch(t, d.nearPlan.payload(t), d.nearIDs, (*exec.Cmd).Start)
	}, sight{"reset", "killed", PeerRestarted.String(), "reset"}},
	{"kill -9 of the target's vertex, which comes back", theFar, func(t *testing.T, d *duo) {
		d.process.kill()
		launch(t, d.farPlan.payload(t), d.farIDs, (*exec.Cmd).Start)
	}, sight{"reset", PeerRestarted.String(), "killed", "reset"}},
}

// checkUntold ends a connection of each moment at once, since to find out takes
// up to the idle time-out, and enters what was seen into the table.
func checkUntold(t *testing.T, e untoldEnding, table *endsTable) {
	upstream, conns := parked(t)
	d := newDuo(t, upstream, func(d *duo) { d.outside, d.path = e.outside, udplink.Path{Delay: time.Millisecond} })
	open := map[moment]*tunnelled{}
	for _, m := range moments {
		open[m] = &tunnelled{duo: d, client: d.dial(t), service: <-conns}
		open[m].bring(t, m)
	}
	begun := time.Now()
	e.end(t, d)
	near, far := d.reasonSeen(t, theNear, d.near, len(moments)), d.reasonSeen(t, theFar, d.far, len(moments))
	t.Logf("found out after %v", time.Since(begun).Round(time.Millisecond))
	for _, m := range moments {
		seen := sight{endSeen(t, open[m].client, e.want.client), near, far, endSeen(t, open[m].service, e.want.service)}
		if diff := cmp.Diff(e.want, seen, cmp.AllowUnexported(sight{})); diff != "" {
			t.Errorf("%s, want and seen:\n%s", m, diff)
		}
		table.add(e.name, m, seen)
	}
}

func newTunnelled(t *testing.T) *tunnelled {
	upstream, conns := parked(t)
	x := &tunnelled{nearClock: new(clock), farClock: new(clock)}
	x.duo = newDuo(t, upstream, func(d *duo) {
		d.webID = authority.Issue(d.web, envelopetest.Valid(time.Now().Add(-time.Hour), time.Now().Add(time.Hour)))
		d.nearOpts.Now, d.farOpts.Now = x.nearClock.now, x.farClock.now
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

// drainTo reads to the end of a connection, which must be the one that is wanted.
func drainTo(t *testing.T, c *net.TCPConn, want string) {
	t.Helper()
	if got := endSeen(t, c, want); got != want {
		t.Fatalf("%v saw %s, want %s", c.LocalAddr(), got, want)
	}
}

// endSeen reads to the end of a connection and tells how it ended. What was
// under way may be lost in an abort, and only in one. After a FIN only a write
// meets a reset, so where that is wanted, it is looked for.
func endSeen(t *testing.T, c *net.TCPConn, want string) string {
	t.Helper()
	if want == "ends it" {
		return want
	}
	_ = c.SetDeadline(time.Now().Add(patience))
	_, err := io.ReadAll(c)
	for want == "reset" && err == nil {
		if _, err = c.Write([]byte("x")); isReset(err) {
			return want
		}
		time.Sleep(5 * time.Millisecond)
	}
	switch {
	case errors.Is(err, syscall.ECONNRESET):
		return "reset"
	case errors.Is(err, os.ErrDeadlineExceeded):
		return "nothing"
	case err != nil:
		return err.Error()
	}
	return "eof"
}

// reasonSeen is what a vertex of the duo counts, unless it was the one to be killed.
func (d *duo) reasonSeen(t *testing.T, who outsider, n *node, conns int) string {
	t.Helper()
	if who == d.outside {
		return "killed"
	}
	return d.countedBy(t, n, conns)
}

// countedBy waits until a vertex has counted the ends of so many connections of
// the duo's pair, and returns the reason, or all of them if there are several.
func (d *duo) countedBy(t *testing.T, n *node, conns int) string {
	t.Helper()
	deadline := time.Now().Add(idleTimeout + patience)
	for {
		counted, all := d.counted(n)
		if all >= conns {
			return strings.Join(counted, " and ")
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d ends were counted, as %v", all, conns, counted)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

func (d *duo) counted(n *node) (counted []string, all int) {
	for r := range reasons {
		if times := n.counter("connections_closed_total", r.String(), d.alice.String(), d.web.String()); times > 0 {
			counted = append(counted, r.String())
			all += int(times)
		}
	}
	return counted, all
}

// expectReason waits for a vertex to count the connection, once and for that
// reason alone.
func expectReason(t *testing.T, n *node, d *duo, want Reason) {
	t.Helper()
	if got := d.countedBy(t, n, 1); got != want.String() {
		t.Errorf("counted as %s, want %s", got, want)
	}
}
