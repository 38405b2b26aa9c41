package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quic-go/quic-go"
)

// What a flood does.
const (
	floodConnects   = "connects"   // new connections, up to floodPace
	floodBulk       = "bulk"       // streams up, as fast as they go
	floodHandshakes = "handshakes" // with certificates of the wrong authority, as many as it can
)

const (
	floodPace    = 2000 // connections a second, all clients together
	floodClients = 16
	floodStreams = 64
)

// flood is what another initiator does beside a quiet one (VTX-14), as a
// program of its own: this one, started once more.
type flood struct {
	kind    string
	service string // where it serves the crowd's target
	through string // the crowd's SOCKS5 port; for handshakes, the UDP port of the target's vertex
}

// deed is one client's part of a flood. It returns when it has done it once, or
// when ctx has ended.
type deed struct {
	clients int
	pace    time.Duration // of each client
	once    func(context.Context)
	count   func() float64 // what all clients have achieved
	end     func()
}

// run floods until its input ends. It says on a line when it is under way,
// which it is when it has achieved something, and on a last one how much it
// achieved a second.
func (f flood) run(ctx context.Context, in io.Reader, out io.Writer) error {
	d, err := f.deed()
	if err != nil {
		return err
	}
	defer d.end()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, in)
		cancel()
	}()
	var running sync.WaitGroup
	defer running.Wait()
	for range d.clients {
		running.Go(func() { d.repeat(ctx) })
	}
	for d.count() == 0 && ctx.Err() == nil {
		wait(ctx, 10*time.Millisecond)
	}
	fmt.Fprintln(out, underWay)
	before, begun := d.count(), time.Now()
	<-ctx.Done()
	_, err = fmt.Fprintln(out, (d.count()-before)/time.Since(begun).Seconds())
	return err
}

const underWay = "under way"

func (d deed) repeat(ctx context.Context) {
	for ctx.Err() == nil {
		next := time.Now().Add(d.pace)
		d.once(ctx)
		wait(ctx, time.Until(next))
	}
}

func (f flood) deed() (deed, error) {
	switch f.kind {
	case floodHandshakes:
		return f.handshakes()
	case floodConnects, floodBulk:
	default:
		return deed{}, fmt.Errorf("%q is no flood", f.kind)
	}
	s, err := serve(f.service)
	if err != nil {
		return deed{}, err
	}
	l := load{way: way{dial: dialSOCKS(f.through, "crowd.bench.rete:80")}}
	if f.kind == floodBulk {
		received := func() float64 { return float64(s.received.Load()) / megabyte }
		return deed{clients: floodStreams, pace: time.Second, once: l.pourUntil, count: received, end: s.close}, nil
	}
	var done atomic.Int64
	connect := func(context.Context) {
		if l.connect() == nil {
			done.Add(1)
		}
	}
	return deed{
		clients: floodClients, pace: floodClients * time.Second / floodPace, once: connect,
		count: func() float64 { return float64(done.Load()) }, end: s.close,
	}, nil
}

// pourUntil sends over one connection until ctx ends.
func (l load) pourUntil(ctx context.Context) {
	conns, err := l.open(1, askSink)
	if err != nil {
		return
	}
	defer closeAll(conns)
	stop := context.AfterFunc(ctx, func() { closeAll(conns) })
	defer stop()
	pour(conns[0])
}

// handshakes shows certificates of an authority of the same name, which this
// program has made for itself when it started. Those count that the target's
// vertex refused.
func (f flood) handshakes() (deed, error) {
	to, err := net.ResolveUDPAddr("udp", f.through)
	if err != nil {
		return deed{}, err
	}
	udp, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return deed{}, err
	}
	stranger := authority.Issue(client)
	config := &tls.Config{
		ServerName: "target.bench.rete", NextProtos: []string{"flor/2"}, InsecureSkipVerify: true,
		Certificates: []tls.Certificate{{Certificate: [][]byte{stranger.Cert.Raw}, PrivateKey: stranger.Key}},
	}
	transport := &quic.Transport{Conn: udp}
	var refused atomic.Int64
	return deed{
		clients: floodClients,
		once: func(ctx context.Context) {
			if refusedByPeer(shake(ctx, transport, to, config)) {
				refused.Add(1)
			}
		},
		count: func() float64 { return float64(refused.Load()) },
		end: func() {
			_ = transport.Close()
			_ = udp.Close()
		},
	}, nil
}

// shake tries one handshake and tells why it failed. Towards its client a
// refused certificate is told after the handshake.
func shake(ctx context.Context, from *quic.Transport, to net.Addr, config *tls.Config) error {
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	conn, err := from.Dial(ctx, to, config, nil)
	if err != nil {
		return err
	}
	select {
	case <-conn.Context().Done():
		return context.Cause(conn.Context())
	case <-ctx.Done():
		return conn.CloseWithError(0, "")
	}
}

func refusedByPeer(err error) bool {
	refusal, ok := errors.AsType[*quic.TransportError](err)
	return ok && refusal.Remote
}
