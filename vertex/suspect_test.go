package vertex

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/spiffe/go-spiffe/v2/spiffeid"

	"github.com/florete/flor/conformance/lab/udplink"
)

// mishap is what befalls a pooled connection that carries a live stream.
type mishap struct {
	name    string
	outside outsider
	happen  func(*testing.T, *misfortune)
	within  time.Duration // in which the next request is answered
	live    string        // what the live stream sees: "goes on", "reset", or "" where that takes the idle time-out
}

// misfortune is a duo that a mishap befalls.
type misfortune struct {
	*duo
	nearClock clock
}

// noticed is the longest that a request may take if something tells it that its
// connection is dead, and found if it has to find out by itself. Both leave a
// slow machine time.
const (
	noticed = suspectAfter - time.Second
	found   = suspectAfter + 3*time.Second
)

var mishaps = []mishap{
	{"nothing", nobody, func(*testing.T, *misfortune) {}, noticed, "goes on"},
	{"a NAT gives the flow another port", nobody, func(_ *testing.T, d *misfortune) { d.way.Rebind() }, found, "goes on"},
	{"five seconds without network", nobody, func(_ *testing.T, d *misfortune) {
		d.way.SetCut(true)
		time.Sleep(5 * time.Second)
		d.way.SetCut(false)
	}, found, "goes on"},
	{"kill -9 of the peer, which comes back on its port", theFar, func(t *testing.T, d *misfortune) {
		d.process.kill()
		d.process = launch(t, d.farPlan.payload(t), d.farIDs, (*exec.Cmd).Start)
	}, noticed, "reset"},
	{"the same, with nothing to know it by", nobody, func(t *testing.T, d *misfortune) { d.replaceFar(t) }, found, ""},
	{"six seconds of SIGSTOP", theNear, func(_ *testing.T, d *misfortune) { d.process.sleep(6 * time.Second) }, found, "goes on"},
	{"six seconds of SIGSTOP of the peer", theFar, func(_ *testing.T, d *misfortune) { d.process.sleep(6 * time.Second) }, found, "goes on"},
	{"a minute of suspension, in which monotonic clocks stop and the peer forgets", nobody, func(t *testing.T, d *misfortune) {
		d.replaceFar(t)
		d.nearClock.forward(time.Minute)
	}, noticed, ""},
	{"a clock that is set back while the peer forgets", nobody, func(t *testing.T, d *misfortune) {
		d.replaceFar(t)
		d.near.live.sessions()[0].look(d.nearClock.now())
		d.nearClock.forward(-time.Minute)
	}, found, ""},
}

// replaceFar puts another vertex in the place of the far one, which knows
// nothing of the connections that were and sends no stateless resets for them.
func (d *misfortune) replaceFar(t *testing.T) {
	d.far.kill()
	d.far = raise(t, d.farPlan.payload(t), d.farIDs, Options{ResetKey: &quic.StatelessResetKey{1}})
}

// VTX-5: what happens while a pooled connection carries a live stream: how soon
// the next request is answered, and what becomes of the stream. With -v the
// times are printed.
func TestNextRequestAfterAMishap(t *testing.T) {
	t.Parallel()
	for _, m := range mishaps {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			d := &misfortune{}
			d.duo = newDuo(t, backend(t, echo), func(duo *duo) {
				duo.outside, duo.path = m.outside, udplink.Path{Delay: time.Millisecond}
				duo.nearOpts.Now = d.nearClock.now
			})
			live := d.dial(t)
			send(t, live, "before")
			expect(t, live, "before")
			m.happen(t, d)
			begun := time.Now()
			next := d.dial(t)
			send(t, next, "next")
			expect(t, next, "next")
			checkTook(t, begun, m.within)
			checkLive(t, live, m.live)
		})
	}
}

// VTX-5, VTX-7: a vertex that sleeps beyond the idle time-out. Its peer has given
// up the connection, and tells so if it is asked before the vertex gives up too.
func TestSleepBeyondTheIdleTimeout(t *testing.T) {
	t.Parallel()
	upstream, conns := parked(t)
	d := newDuo(t, upstream, func(d *duo) { d.outside = theNear })
	live := d.dial(t)
	service := <-conns
	d.process.sleep(idleTimeout + 2*suspectAfter) // the peer asks once when it finds the silence suspect
	begun := time.Now()
	d.dial(t)
	checkTook(t, begun, noticed)
	drainTo(t, live, "reset")
	drainTo(t, service, "reset")
	expectReason(t, d.far, d, PeerLost)
	if ends := d.process.log.ends(); !slices.Contains([]string{PeerLost.String(), PeerRestarted.String()}, strings.Join(ends, " ")) {
		t.Errorf("the vertex that slept counted %v", ends)
	}
}

func checkTook(t *testing.T, begun time.Time, within time.Duration) {
	t.Helper()
	took := time.Since(begun).Round(time.Millisecond)
	t.Logf("the next request took %v", took)
	if took > within {
		t.Errorf("the next request took %v, want at most %v", took, within)
	}
}

func checkLive(t *testing.T, live *net.TCPConn, want string) {
	t.Helper()
	_ = live.SetDeadline(time.Now().Add(patience))
	switch want {
	case "goes on":
		send(t, live, "after")
		expect(t, live, "after")
	case "reset":
		expectReset(t, live)
	}
}

// VTX-16: a thousand new tables while 64 streams run. Those whom all of them
// allow never notice; one whom some do not is cut at once.
func TestThousandTablesUnderLoad(t *testing.T) {
	t.Parallel()
	d, bob := crowd(t)
	hers, err := viaSOCKS(t, d.nearPlan.ports[bob], host(t, d.web)+":80")
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	var stop atomic.Bool
	var trips atomic.Int64
	for range 64 {
		c := d.dial(t)
		running.Go(func() {
			const message = "round trip"
			for !stop.Load() {
				_ = c.SetDeadline(time.Now().Add(patience))
				if _, err := io.WriteString(c, message); err != nil {
					t.Errorf("an allowed stream was disturbed: %v", err)
					return
				}
				if _, err := io.ReadFull(c, make([]byte, len(message))); err != nil {
					t.Errorf("an allowed stream was disturbed: %v", err)
					return
				}
				trips.Add(1)
			}
		})
	}
	without := *d.farPlan
	without.ingress = map[spiffeid.ID][]spiffeid.ID{d.web: {d.alice}}
	payloads := []*plan{d.farPlan, &without}
	apply(t, d.far, payloads[1])
	expectCutBy(t, d, bob)
	expectReset(t, hers)
	for i := range 1000 {
		apply(t, d.far, payloads[i%2])
	}
	stop.Store(true)
	running.Wait()
	t.Logf("%d round trips during 1,000 swaps", trips.Load())
	if trips.Load() == 0 {
		t.Error("nothing was carried meanwhile")
	}
}

// VTX-17: net/http over Dial and Listen, without any port of loopback; the
// handler knows the peer's SPIFFE ID.
func TestHTTPOverDialAndListen(t *testing.T) {
	t.Parallel()
	d := newDuo(t, "127.0.0.1:1", func(d *duo) {
		d.farPlan.tcp, d.farPlan.serve = nil, []spiffeid.ID{d.web}
		d.nearPlan.socks, d.nearPlan.serve = nil, []spiffeid.ID{d.alice}
	})
	l, err := d.far.Listen(d.web)
	if err != nil {
		t.Fatal(err)
	}
	type peerKey struct{}
	server := &http.Server{
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, peerKey{}, c.(*Conn).Peer())
		},
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = fmt.Fprint(w, r.Context().Value(peerKey{}))
		}),
	}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(l) })
	t.Cleanup(func() {
		server.Close()
		serving.Wait()
	})
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return d.near.Dial(ctx, d.alice, d.web)
	}}
	t.Cleanup(transport.CloseIdleConnections)
	for range 20 { // connections are kept and used again
		checkGet(t, &http.Client{Transport: transport}, d.alice.String())
	}
	if got := d.near.counter("connections_opened_total", d.alice.String(), d.web.String()); got != 1 {
		t.Errorf("20 requests took %v connections, want 1", got)
	}
}

func checkGet(t *testing.T, client *http.Client, want string) {
	t.Helper()
	response, err := client.Get("http://web/")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if got, err := io.ReadAll(response.Body); err != nil || string(got) != want {
		t.Errorf("the handler knew %q (%v), want %q", got, err, want)
	}
}
