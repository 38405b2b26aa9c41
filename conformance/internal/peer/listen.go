package peer

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"sync"

	"github.com/quic-go/quic-go"

	"github.com/florete/flor/conformance/internal/rete"
	"github.com/florete/flor/conformance/internal/trial"
)

// Hello is what an initiator's vertex asked for.
type Hello struct {
	Name      string   // SNI
	Protocols []string // ALPN, in its order
}

// Listener is a target's vertex.
type Listener struct {
	Addr string

	t     *trial.T
	conns chan *quic.Conn

	mu      sync.Mutex
	show    *rete.Identity // nil: no name is served
	verdict error          // on every initiator's certificate
	hellos  []Hello
	ends    []error // of connections, those included of which no handshake was done
	refuse  bool
}

// Listen accepts initiators, whoever they are, and shows them a certificate.
func Listen(t *trial.T, show *rete.Identity, protocols ...string) *Listener {
	return listen(t, show, protocols, config())
}

// ListenForOne is Listen for one stream at a time on each connection.
func ListenForOne(t *trial.T, show *rete.Identity, protocols ...string) *Listener {
	narrow := config()
	narrow.MaxIncomingStreams = 1
	return listen(t, show, protocols, narrow)
}

func listen(t *trial.T, show *rete.Identity, protocols []string, with *quic.Config) *Listener {
	udp, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	t.Check(err, "open a UDP socket")
	l := &Listener{Addr: udp.LocalAddr().String(), t: t, conns: make(chan *quic.Conn, 64), show: show}
	transport := &quic.Transport{Conn: udp, ConnContext: l.watch}
	listener, err := transport.Listen(l.tls(protocols), with)
	t.Check(err, "listen for QUIC")
	var accepting sync.WaitGroup
	accepting.Go(func() { l.accept(listener) })
	t.Cleanup(func() {
		_ = listener.Close()
		_ = transport.Close()
		_ = udp.Close()
		accepting.Wait()
	})
	return l
}

func (l *Listener) tls(protocols []string) *tls.Config {
	base := &tls.Config{
		MinVersion: tls.VersionTLS13, NextProtos: protocols, ClientAuth: tls.RequireAnyClientCert,
		SessionTicketsDisabled: true, VerifyConnection: l.judge,
	}
	config := base.Clone()
	config.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.hellos = append(l.hellos, Hello{hello.ServerName, hello.SupportedProtos})
		chosen := base.Clone()
		if l.show != nil { // without a certificate TLS ends the handshake with unrecognized_name
			chosen.Certificates = []tls.Certificate{*certificate(l.show)}
		}
		return chosen, nil
	}
	return config
}

func (l *Listener) judge(tls.ConnectionState) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.verdict
}

// Show has further handshakes shown this certificate, or told that the name is
// not served where it is nil.
func (l *Listener) Show(i *rete.Identity) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.show = i
}

// TurnDown has the certificates of further initiators turned down with a TLS alert.
func (l *Listener) TurnDown(alert uint8) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.verdict = tls.AlertError(alert)
}

var errNoMore = errors.New("no more handshakes")

// watch notes how each connection ends.
func (l *Listener) watch(ctx context.Context, _ *quic.ClientInfo) (context.Context, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.refuse {
		l.hellos = append(l.hellos, Hello{})
		return nil, errNoMore
	}
	context.AfterFunc(ctx, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.ends = append(l.ends, context.Cause(ctx))
	})
	return ctx, nil
}

func (l *Listener) accept(listener *quic.Listener) {
	for {
		conn, err := listener.Accept(context.Background())
		if err != nil {
			return
		}
		l.conns <- conn
	}
}

// Refuse has further handshakes refused with CONNECTION_REFUSED.
func (l *Listener) Refuse() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refuse = true
}

// Next waits for the next connection whose handshake is done.
func (l *Listener) Next() *Conn {
	select {
	case conn := <-l.conns:
		return &Conn{conn, l.t}
	case <-l.t.Context().Done():
		l.t.Fatalf("the vertex made no connection")
		return nil
	}
}

// Waiting tells how many connections nobody has taken with Next yet.
func (l *Listener) Waiting() int { return len(l.conns) }

// Hellos are the handshakes that were begun, so far.
func (l *Listener) Hellos() []Hello {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]Hello(nil), l.hellos...)
}

// FirstEnd waits for a connection to end, and returns why the first one did.
func (l *Listener) FirstEnd() error {
	var first error
	l.t.Await("the vertex must end the handshake", func() bool {
		if l.Waiting() > 0 {
			l.t.Fatalf("the handshake was done; the vertex must end it")
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		if len(l.ends) > 0 {
			first = l.ends[0]
		}
		return len(l.ends) > 0
	})
	return first
}

// Initiator is the certificate that an initiator's vertex showed on a connection.
func (c *Conn) Initiator() *x509.Certificate { return c.ConnectionState().TLS.PeerCertificates[0] }
