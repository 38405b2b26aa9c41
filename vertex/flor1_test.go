package vertex

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/spiffe/go-spiffe/v2/spiffeid"

	"github.com/florete/flor/conformance/lab/loopback"
	"github.com/florete/flor/envelope/envelopetest"
)

// flor1 is an acceptor that speaks flor/1 and nothing else: of each QUIC
// connection it takes one stream, and hands it to serve.
type flor1 struct {
	listener *quic.Listener
	work     sync.WaitGroup
	mu       sync.Mutex
	seen     []tls.ConnectionState
}

func newFlor1(t *testing.T, as *envelopetest.Identity, serve func(*quic.Stream)) *flor1 {
	t.Helper()
	return newAcceptor(t, as, rawProtocol, -1, serve)
}

// newAcceptor is newFlor1 for any protocol, and for so many control streams.
func newAcceptor(t *testing.T, as *envelopetest.Identity, protocol string, control int64, serve func(*quic.Stream)) *flor1 {
	t.Helper()
	listener, err := quic.ListenAddr("127.0.0.1:0", &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{as.Cert.Raw}, PrivateKey: as.Key}},
		NextProtos:   []string{protocol}, ClientAuth: tls.RequireAnyClientCert,
	}, &quic.Config{MaxIncomingStreams: 1, MaxIncomingUniStreams: control})
	if err != nil {
		t.Fatal(err)
	}
	f := &flor1{listener: listener}
	f.work.Go(func() { f.accept(serve) })
	t.Cleanup(func() {
		listener.Close()
		f.work.Wait()
	})
	return f
}

func (f *flor1) accept(serve func(*quic.Stream)) {
	for {
		conn, err := f.listener.Accept(context.Background())
		if err != nil {
			return
		}
		f.mu.Lock()
		f.seen = append(f.seen, conn.ConnectionState().TLS)
		f.mu.Unlock()
		f.work.Go(func() {
			if stream, err := conn.AcceptStream(context.Background()); err == nil {
				serve(stream)
			}
			<-conn.Context().Done()
		})
	}
}

// states are the TLS states of the connections that were accepted.
func (f *flor1) states() []tls.ConnectionState {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]tls.ConnectionState(nil), f.seen...)
}

// newFlor1Duo is alice's vertex with a link to an acceptor of flor/1.
func newFlor1Duo(t *testing.T, serve func(*quic.Stream)) (*node, *flor1, func() (io.ReadWriteCloser, error)) {
	alice, web := user("alice"), service("web")
	peer := newFlor1(t, authority.Issue(web), serve)
	p := &plan{
		socks: []spiffeid.ID{alice}, links: map[spiffeid.ID]string{web: peer.listener.Addr().String()},
		egress: map[spiffeid.ID][]spiffeid.ID{web: {alice}},
	}
	near := raise(t, p.payload(t), newWallet(authority.Issue(alice)), Options{})
	return near, peer, func() (io.ReadWriteCloser, error) { return viaSOCKS(t, p.ports[alice], host(t, web)+":80") }
}

// VTX-6: to a peer of flor/1 the bytes go raw and at once, one stream to a
// connection, with the names and certificates of VTX-2 and VTX-3.
func TestDialsAPeerThatSpeaksOnlyFlor1(t *testing.T) {
	t.Parallel()
	near, peer, dial := newFlor1Duo(t, func(s *quic.Stream) {
		_, _ = io.Copy(s, s)
		_ = s.Close()
	})
	for range 3 {
		c, err := dial()
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(c, "raw bytes")
		_ = c.(interface{ CloseWrite() error }).CloseWrite()
		if got, err := io.ReadAll(c); err != nil || string(got) != "raw bytes" {
			t.Errorf("read %q (%v), want what was sent and nothing else", got, err)
		}
	}
	states := peer.states()
	if len(states) != 3 {
		t.Errorf("three streams came on %d connections, want one each", len(states))
	}
	for _, s := range states {
		if s.ServerName != "web.demo.rete" || s.PeerCertificates[0].URIs[0].String() != "spiffe://demo/user/alice" {
			t.Errorf("server name %q, certificate of %v", s.ServerName, s.PeerCertificates[0].URIs)
		}
	}
	near.await("connections that carried their stream to end", func() bool { return len(near.live.sessions()) == 0 })
}

// VTX-7: an abort stays one in flor/1.
func TestAbortOfAFlor1PeerBecomesReset(t *testing.T) {
	t.Parallel()
	_, _, dial := newFlor1Duo(t, func(s *quic.Stream) {
		_, _ = io.ReadFull(s, make([]byte, 1))
		abortStream(s)
	})
	c, err := dial()
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(c, "x")
	expectReset(t, c)
}

// offerFlor1 makes a test's dialler one that speaks flor/1 alone.
func offerFlor1(c *tls.Config) { c.NextProtos = []string{rawProtocol} }

// VTX-6: as acceptor of flor/1, many streams to a connection, one after the
// other and side by side.
func TestAcceptsADiallerThatSpeaksOnlyFlor1(t *testing.T) {
	t.Parallel()
	d := newDuo(t, backend(t, echo))
	conn, err := d.connect(t, offerFlor1)
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		checkStream(t, conn, []byte("raw bytes"), []byte("raw bytes"))
	}
	var open []*quic.Stream
	for range 5 {
		stream, err := conn.OpenStream()
		if err != nil {
			t.Fatal(err)
		}
		_ = stream.SetDeadline(time.Now().Add(patience))
		open = append(open, stream)
		for _, s := range open {
			_, _ = s.Write([]byte("x"))
			if _, err := io.ReadFull(s, make([]byte, 1)); err != nil {
				t.Fatalf("with %d streams open: %v", len(open), err)
			}
		}
	}
}

// VTX-6: where flor/2 answers with a byte, flor/1 has only a reset.
func TestRefusedStreamOfFlor1IsReset(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		upstream func(testing.TB) string
		draining bool
	}{
		{"a service that does not listen", loopback.Address, false},
		{"a vertex that drains", func(t testing.TB) string { return backend(t, echo) }, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := newDuo(t, tt.upstream(t))
			conn, err := d.connect(t, offerFlor1)
			if err != nil {
				t.Fatal(err)
			}
			d.far.draining.Store(tt.draining)
			checkStream(t, conn, []byte("x"), nil)
		})
	}
}

// VTX-2, VTX-3, VTX-4: an older protocol is no way around the gate.
func TestFlor1PassesTheSameGate(t *testing.T) {
	t.Parallel()
	d := newDuo(t, backend(t, echo))
	mallory := authority.Issue(user("mallory"))
	conn, err := d.connect(t, func(c *tls.Config) {
		offerFlor1(c)
		c.Certificates = []tls.Certificate{{Certificate: [][]byte{mallory.Cert.Raw}, PrivateKey: mallory.Key}}
	})
	if err == nil {
		err = ended(t, conn)
	}
	if app, ok := errors.AsType[*quic.ApplicationError](err); !ok || app.ErrorCode != 0x10 {
		t.Errorf("ended with %v, want application code 0x10", err)
	}
	_, err = d.connect(t, func(c *tls.Config) {
		offerFlor1(c)
		c.ServerName = "nobody.demo.rete"
	})
	if quicReason(err) != UnknownName {
		t.Errorf("a name that nobody has: %v, want %s", err, UnknownName)
	}
}

// ended waits for the end of a connection and tells why it came.
func ended(t *testing.T, conn *quic.Conn) error {
	t.Helper()
	select {
	case <-conn.Context().Done():
		return context.Cause(conn.Context())
	case <-time.After(patience):
		t.Fatal("the connection did not end")
		return nil
	}
}

// VTX-1: flor/2 is taken wherever both sides speak it, in whatever order a
// dialler offers.
func TestFlor2IsPreferred(t *testing.T) {
	t.Parallel()
	d := newDuo(t, backend(t, echo))
	conn, err := d.connect(t, func(c *tls.Config) { c.NextProtos = []string{rawProtocol, protocol} })
	if err != nil {
		t.Fatal(err)
	}
	if got := conn.ConnectionState().TLS.NegotiatedProtocol; got != protocol {
		t.Errorf("negotiated %q, want %q", got, protocol)
	}
}
