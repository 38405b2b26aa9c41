package vertex

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spiffe/go-spiffe/v2/spiffeid"

	"github.com/florete/flor/conformance/lab/udplink"
)

// VTX-5: what happens on the way while a pooled connection carries a live
// stream: how soon the next request is answered, and what becomes of the stream.
func TestLiveStreamsOutliveWhatHappensOnTheWay(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		long   bool
		happen func(*testing.T, *udplink.Link)
		within time.Duration
	}{
		{"nothing", false, func(*testing.T, *udplink.Link) {}, 2 * time.Second},
		{"a NAT gives the flow another port", false, func(_ *testing.T, r *udplink.Link) { r.Rebind() }, suspectAfter + 2*time.Second},
		{"five seconds without network", true, func(_ *testing.T, r *udplink.Link) {
			r.SetCut(true)
			time.Sleep(5 * time.Second)
			r.SetCut(false)
		}, suspectAfter + 2*time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.long && testing.Short() {
				t.Skip("takes more than 5 s")
			}
			d := newDuo(t, backend(t, echo), func(d *duo) { d.path = udplink.Path{Delay: time.Millisecond} })
			live := d.dial(t)
			send(t, live, "before")
			expect(t, live, "before")
			tt.happen(t, d.way)
			begun := time.Now()
			next := d.dial(t)
			send(t, next, "next")
			expect(t, next, "next")
			took := time.Since(begun)
			t.Logf("the next request took %v", took)
			if took > tt.within {
				t.Errorf("the next request took %v, want at most %v", took, tt.within)
			}
			send(t, live, "after")
			expect(t, live, "after")
		})
	}
}

// VTX-16: a thousand new tables while 64 streams run. Those whom all of them
// allow never notice; one whom some do not is cut within a second.
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
			for !stop.Load() {
				message := "round trip"
				if _, err := c.Write([]byte(message)); err != nil {
					t.Errorf("an allowed stream was disturbed: %v", err)
					return
				}
				if _, err := c.Read(make([]byte, len(message))); err != nil {
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
	begun := time.Now()
	apply(t, d.far, payloads[1])
	expectReset(t, hers)
	if took := time.Since(begun); took > time.Second {
		t.Errorf("cut after %v, want within 1 s", took)
	}
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
