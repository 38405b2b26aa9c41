package vertex

import (
	"context"
	"crypto/tls"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/spiffe/go-spiffe/v2/spiffeid"

	"github.com/florete/flor/envelope/envelopetest"
)

// BenchmarkQuietInitiator tells the median time of a round trip of an initiator
// that minds its own business, while another one floods the same target's
// vertex (VTX-14). The floods, their vertex and the load share the processors
// with it, so that what it tells is an upper bound.
func BenchmarkQuietInitiator(b *testing.B) {
	for _, f := range []struct {
		name  string
		flood func(testing.TB, *flood)
	}{
		{"alone", func(testing.TB, *flood) {}},
		{"beside new connections", connectFlood},
		{"beside 64 bulk streams", bulkFlood},
		{"beside wrong certificates", certificateFlood},
	} {
		b.Run(f.name, func(b *testing.B) {
			x := newFlood(b)
			quiet := x.dial(b)
			f.flood(b, x)
			b.ResetTimer()
			times := make([]time.Duration, 0, b.N)
			for range b.N {
				begun := time.Now()
				if _, err := quiet.Write([]byte("x")); err != nil {
					b.Fatal(err)
				}
				if _, err := quiet.Read(make([]byte, 1)); err != nil {
					b.Fatal(err)
				}
				times = append(times, time.Since(begun))
			}
			b.StopTimer()
			x.over.Store(true)
			x.running.Wait()
			slices.Sort(times)
			b.ReportMetric(float64(times[len(times)/2].Microseconds()), "median-µs")
			b.ReportMetric(float64(x.count.Load())/b.Elapsed().Seconds(), "flood/s")
		})
	}
}

// flood is alice, who is quiet, and bob, who is not, each with a vertex.
type flood struct {
	*duo
	bobs    string // SOCKS5 port
	running sync.WaitGroup
	over    atomic.Bool
	count   atomic.Int64
}

func newFlood(t testing.TB) *flood {
	bob := user("bob")
	x := &flood{}
	both := map[spiffeid.ID][]spiffeid.ID{}
	x.duo = newDuo(t, backend(t, echo), func(d *duo) {
		both[d.web] = []spiffeid.ID{d.alice, bob}
		d.farPlan.ingress, d.nearPlan.egress = both, both
	})
	p := &plan{socks: []spiffeid.ID{bob}, links: x.nearPlan.links, egress: both}
	raise(t, p.payload(t), newWallet(authority.Issue(bob)), Options{})
	x.bobs = p.ports[bob]
	return x
}

// each repeats something in several goroutines until the flood is over.
func (x *flood) each(n int, do func()) {
	for range n {
		x.running.Go(func() {
			for !x.over.Load() {
				do()
				x.count.Add(1)
			}
		})
	}
}

func connectFlood(_ testing.TB, x *flood) {
	x.each(16, func() {
		if c, err := net.Dial("tcp", x.bobs); err == nil {
			_, _ = c.Write(connectTo("web.demo.rete"))
			_, _ = c.Read(make([]byte, 12))
			_ = c.Close()
		}
	})
}

func bulkFlood(t testing.TB, x *flood) {
	block := make([]byte, benchBlock)
	for range 64 {
		c, err := viaSOCKS(t, x.bobs, "web.demo.rete:80")
		if err != nil {
			t.Fatal(err)
		}
		x.running.Go(func() {
			for !x.over.Load() {
				_ = c.SetReadDeadline(time.Now().Add(time.Second))
				_, _ = c.Read(make([]byte, benchBlock))
			}
			_ = c.Close()
		})
		x.each(1, func() {
			_ = c.SetWriteDeadline(time.Now().Add(time.Second))
			_, _ = c.Write(block)
		})
	}
}

func certificateFlood(t testing.TB, x *flood) {
	stranger := envelopetest.NewAuthority(domain).Issue(x.alice)
	config := &tls.Config{
		ServerName: host(t, x.web), NextProtos: protocols(), InsecureSkipVerify: true,
		Certificates: []tls.Certificate{{Certificate: [][]byte{stranger.Cert.Raw}, PrivateKey: stranger.Key}},
	}
	x.each(4, func() {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		conn, err := quic.DialAddr(ctx, x.farPlan.listen, config, nil)
		if err != nil {
			return
		}
		_, _ = conn.AcceptUniStream(ctx) // the refusal comes after the dial
	})
}
