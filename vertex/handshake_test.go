package vertex

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/spiffe/go-spiffe/v2/spiffeid"

	"github.com/florete/flor/envelope/envelopetest"
)

// VTX-3: what each side's certificate must be, told in a real handshake.
func TestCertificatesThatAreWrongEndTheHandshake(t *testing.T) {
	t.Parallel()
	stranger := envelopetest.NewAuthority(domain)
	elsewhere := envelopetest.NewAuthority("elsewhere")
	alice, web := user("alice"), service("web")
	node := spiffeid.RequireFromPath(authority.TrustDomain, "/node/alpha")
	plane := spiffeid.RequireFromPath(authority.TrustDomain, "/management-plane/primary")
	dns := func(c *x509.Certificate) { c.DNSNames = []string{"web.demo.rete"} }
	client := envelopetest.Usages(x509.ExtKeyUsageClientAuth)
	type side struct{ alice, web *envelopetest.Identity }
	for _, tt := range []struct {
		name   string
		side   side
		reply  byte
		reason Reason // counted by the side that refuses; zero where a peer only sees it
	}{
		{"target of another CA", side{web: stranger.Issue(web)}, 4, WrongAuthority},
		{"target that expired", side{web: authority.Issue(web, envelopetest.Expired)}, 4, OutsideValidity},
		{"target that is not yet valid", side{web: authority.Issue(web, envelopetest.NotYetValid)}, 4, OutsideValidity},
		{"target with another ID", side{web: authority.Issue(web, envelopetest.SANs(service("other")))}, 4, WrongIdentity},
		{"target with two URI SANs", side{web: authority.Issue(web, envelopetest.SANs(web, service("other")))}, 4, WrongIdentity},
		{"target without URI SAN", side{web: authority.Issue(web, envelopetest.SANs())}, 4, WrongIdentity},
		{"target with a DNS name beside", side{web: authority.Issue(web, dns)}, 4, WrongIdentity},
		{"target without serverAuth", side{web: authority.Issue(web, client)}, 4, WrongUsage},
		{"target without any extended usage", side{web: authority.Issue(web, envelopetest.Usages())}, 4, WrongUsage},
		{"target with an ECDSA P-384 key", side{web: authority.IssueFor(web, ecdsaKey(t, elliptic.P384()))}, 4, WrongUsage},
		{"target that is a CA", side{web: authority.Issue(web, envelopetest.AsCA)}, 4, WrongIdentity},
		{"initiator of another CA", side{alice: stranger.Issue(alice)}, 2, WrongAuthority},
		{"initiator that expired, which its own vertex sees first", side{alice: authority.Issue(alice, envelopetest.Expired)}, 4, 0},
		{"initiator with two URI SANs", side{alice: authority.Issue(alice, envelopetest.SANs(alice, node))}, 2, WrongIdentity},
		{"initiator of a kind that signs", side{alice: authority.Issue(alice, envelopetest.SANs(plane))}, 2, WrongIdentity},
		{"initiator of another trust domain", side{alice: elsewhere.Issue(alice)}, 2, WrongAuthority},
		{"initiator of another trust domain under this CA", side{alice: authority.Issue(alice, envelopetest.SANs(spiffeid.RequireFromString("spiffe://elsewhere/user/alice")))}, 2, WrongIdentity},
		{"initiator without any extended usage", side{alice: authority.Issue(alice, envelopetest.Usages())}, 2, WrongUsage},
		{"initiator without digitalSignature", side{alice: authority.Issue(alice, envelopetest.KeyUsage(x509.KeyUsageKeyEncipherment))}, 2, WrongUsage},
		{"initiator whose ID is somebody else's: the gate", side{alice: authority.Issue(alice, envelopetest.SANs(user("mallory")))}, 2, 0},
		{"node as initiator: the gate", side{alice: authority.Issue(alice, envelopetest.SANs(node), client)}, 2, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := newDuo(t, backend(t, echo), func(d *duo) {
				if tt.side.alice != nil {
					tt.side.alice.ID, d.aliceID = d.alice, tt.side.alice
				}
				if tt.side.web != nil {
					tt.side.web.ID, d.webID = d.web, tt.side.web
				}
			})
			if got := replyTo(t, d.nearPlan.ports[d.alice], host(t, d.web)); got != tt.reply {
				t.Errorf("reply %d, want %d", got, tt.reply)
			}
			judge := d.far
			if tt.side.web != nil {
				judge = d.near
			}
			if got := judge.counter("handshake_failures_total", tt.reason.String()); tt.reason != 0 && got == 0 {
				t.Errorf("the side that refused counted nothing as %s", tt.reason)
			}
		})
	}
}

func ecdsaKey(t *testing.T, curve elliptic.Curve) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(curve, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// VTX-1
func TestECDSAP256CertificatesAreAccepted(t *testing.T) {
	t.Parallel()
	d := newDuo(t, backend(t, echo), func(d *duo) {
		d.aliceID = authority.IssueFor(d.alice, ecdsaKey(t, elliptic.P256()))
		d.webID = authority.IssueFor(d.web, ecdsaKey(t, elliptic.P256()))
	})
	c := d.dial(t)
	send(t, c, "x")
	expect(t, c, "x")
}

// VTX-3: a dialler that does not look at its own certificate.
func TestExpiredInitiatorIsTurnedDownInTheHandshake(t *testing.T) {
	t.Parallel()
	d := newDuo(t, backend(t, echo))
	expired := authority.Issue(d.alice, envelopetest.Expired)
	err := d.shake(t, func(c *tls.Config) {
		c.Certificates = []tls.Certificate{{Certificate: [][]byte{expired.Cert.Raw}, PrivateKey: expired.Key}}
	})
	if err == nil || quicReason(err) != CertificateRefused {
		t.Errorf("handshake: %v, want %s", err, CertificateRefused)
	}
	if got := d.far.counter("handshake_failures_total", "outside-validity"); got != 1 {
		t.Errorf("counted %v, want 1", got)
	}
}

// VTX-3, VTX-8: a revoked certificate is turned down in the handshake.
func TestRevokedInitiatorIsTurnedDownInTheHandshake(t *testing.T) {
	t.Parallel()
	d := newDuo(t, backend(t, echo), func(d *duo) { d.farPlan.revoked = []string{fingerprint(d.aliceID.Cert)} })
	if got := replyTo(t, d.nearPlan.ports[d.alice], host(t, d.web)); got != 2 {
		t.Errorf("reply %d, want 2", got)
	}
	if got := d.far.counter("handshake_failures_total", "certificate-revoked"); got != 1 {
		t.Errorf("counted %v, want 1", got)
	}
}

// tunnel connects to the far vertex as alice, with a configuration that the
// test has changed, and waits for what an admitted connection gets first: the
// acceptor's control stream.
func (d *duo) tunnel(t *testing.T, change func(*tls.Config)) (*quic.Conn, error) {
	t.Helper()
	conn, err := d.connect(t, change)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	_, err = conn.AcceptUniStream(ctx)
	return conn, err
}

// connect makes a QUIC connection to the far vertex without waiting for a word.
func (d *duo) connect(t *testing.T, change func(*tls.Config)) (*quic.Conn, error) {
	t.Helper()
	return d.connectFrom(t, anyUDP(t), change)
}

// connectFrom is connect from a socket, which is closed at the test's end.
func (d *duo) connectFrom(t *testing.T, udp net.PacketConn, change func(*tls.Config)) (*quic.Conn, error) {
	t.Helper()
	transport := &quic.Transport{Conn: udp}
	t.Cleanup(func() {
		transport.Close()
		udp.Close()
	})
	config := &tls.Config{
		ServerName: host(t, d.web), NextProtos: []string{protocol}, InsecureSkipVerify: true,
		Certificates: []tls.Certificate{{Certificate: [][]byte{d.aliceID.Cert.Raw}, PrivateKey: d.aliceID.Key}},
	}
	change(config)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	conn, err := transport.Dial(ctx, d.far.endpoint.get().udp.LocalAddr(), config, &quic.Config{MaxIncomingUniStreams: controlStreams(config)})
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { _ = conn.CloseWithError(0, "") })
	return conn, nil
}

// controlStreams is how many a dialler admits: one, but none where it speaks
// flor/1 alone (VTX-6, VTX-15).
func controlStreams(c *tls.Config) int64 {
	if slices.Equal(c.NextProtos, []string{rawProtocol}) {
		return -1
	}
	return 1
}

// shake makes a handshake with the far vertex.
func (d *duo) shake(t *testing.T, change func(*tls.Config)) error {
	t.Helper()
	_, err := d.tunnel(t, change)
	return err
}

// VTX-6: what an acceptor answers to the first byte of a stream.
func TestStreamsAreAnsweredByTheirFirstByte(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		draining bool
		send     []byte
		want     []byte // nil: the stream is reset
	}{
		{"0x01 is connected", false, []byte("\x01hi"), []byte("\x00hi")},
		{"0x01 at a vertex that drains is told so", true, []byte{1}, []byte{6}},
		{"anything else is reset", false, []byte{2}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := newDuo(t, backend(t, echo))
			conn, err := d.tunnel(t, func(*tls.Config) {})
			if err != nil {
				t.Fatal(err)
			}
			d.far.draining.Store(tt.draining)
			checkStream(t, conn, tt.send, tt.want)
		})
	}
}

func checkStream(t *testing.T, conn *quic.Conn, send, want []byte) {
	t.Helper()
	stream, err := conn.OpenStream()
	if err != nil {
		t.Fatal(err)
	}
	_ = stream.SetDeadline(time.Now().Add(patience))
	if _, err := stream.Write(send); err != nil {
		t.Fatal(err)
	}
	_ = stream.Close()
	got, err := io.ReadAll(stream)
	if (want == nil) != (err != nil) || want != nil && !bytes.Equal(got, want) {
		t.Errorf("answer % x (%v), want % x", got, err, want)
	}
}

// VTX-1, VTX-2
func TestNamesAndProtocolsThatAreNotServedEndTheHandshake(t *testing.T) {
	t.Parallel()
	d := newDuo(t, backend(t, echo))
	for _, tt := range []struct {
		name   string
		change func(*tls.Config)
		want   Reason // zero: the handshake succeeds
	}{
		{"the name in lower case is served", func(*tls.Config) {}, 0},
		{"an unknown name", func(c *tls.Config) { c.ServerName = "other.demo.rete" }, UnknownName},
		{"no name", func(c *tls.Config) { c.ServerName = "" }, UnknownName},
		{"the name in capitals", func(c *tls.Config) { c.ServerName = "WEB.demo.rete" }, UnknownName},
		{"flor/3, which nobody here speaks", func(c *tls.Config) { c.NextProtos = []string{"flor/3"} }, ProtocolMismatch},
		{"no protocol", func(c *tls.Config) { c.NextProtos = nil }, ProtocolMismatch},
		{"no certificate", func(c *tls.Config) { c.Certificates = nil }, CertificateRefused},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := d.shake(t, tt.change)
			if err == nil && tt.want == 0 {
				return
			}
			if err == nil || quicReason(err) != tt.want {
				t.Errorf("handshake: %v, want %v", err, tt.want)
			}
		})
	}
}

// VTX-1: a ticket would let one principal pass for another.
func TestSessionsAreNotResumed(t *testing.T) {
	t.Parallel()
	d := newDuo(t, backend(t, echo))
	cache := &ticketCounter{ClientSessionCache: tls.NewLRUClientSessionCache(8)}
	if err := d.shake(t, func(c *tls.Config) { c.ClientSessionCache = cache }); err != nil {
		t.Fatal(err)
	}
	if cache.put > 0 {
		t.Errorf("the vertex gave out %d session tickets", cache.put)
	}
}

type ticketCounter struct {
	tls.ClientSessionCache
	put int
}

func (c *ticketCounter) Put(key string, s *tls.ClientSessionState) {
	if s != nil {
		c.put++
	}
	c.ClientSessionCache.Put(key, s)
}

// VTX-15: a vertex that drains refuses handshakes at once.
func TestHandshakeWithADrainingVertexIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	d := newDuo(t, backend(t, echo))
	d.far.draining.Store(true)
	err := d.shake(t, func(*tls.Config) {})
	if refused, ok := errors.AsType[*quic.TransportError](err); !ok || refused.ErrorCode != quic.ConnectionRefused {
		t.Errorf("handshake: %v, want CONNECTION_REFUSED", err)
	}
}

// VTX-14
func TestHandshakesInFlightAreLimited(t *testing.T) {
	t.Parallel()
	udp := func(ip string) net.Addr { return &net.UDPAddr{IP: net.ParseIP(ip), Port: 4433} }
	h := newHandshakes(Limits{Handshakes: 4, HandshakesPerPrefix: 2, RetryFrom: 3}.withDefaults())
	enter := func(ip string) (func(), bool) {
		t.Helper()
		return h.enter(udp(ip))
	}
	leave, ok := enter("192.0.2.1")
	if _, second := enter("192.0.2.200"); !ok || !second {
		t.Fatal("two handshakes from one /24 are refused")
	}
	if _, ok := enter("192.0.2.7"); ok {
		t.Error("a third handshake from one /24 is admitted")
	}
	if h.crowded(udp("192.0.2.1")) {
		t.Error("two handshakes demand proof of addresses")
	}
	for _, ip := range []string{"2001:db8:1::1", "2001:db8:1:ffff::1"} {
		if _, ok := enter(ip); !ok {
			t.Errorf("%s is refused", ip)
		}
	}
	if !h.crowded(udp("192.0.2.1")) {
		t.Error("four handshakes demand no proof of addresses")
	}
	if _, ok := enter("198.51.100.1"); ok {
		t.Error("a fifth handshake is admitted")
	}
	leave()
	leave()
	if _, ok := enter("198.51.100.1"); !ok {
		t.Error("a handshake that ended, and ended again, leaves no room for exactly one")
	}
	if _, ok := enter("198.51.100.2"); ok {
		t.Error("a handshake that ended twice leaves room for two")
	}
}

// VTX-14: neighbours are counted together, and nobody else with them.
func TestHandshakesAreCountedByPrefix(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, a, b string
		together   bool
	}{
		{"the ends of a /24", "192.0.2.0", "192.0.2.255", true},
		{"two /24 side by side", "192.0.2.0", "192.0.3.0", false},
		{"the ends of a /48", "2001:db8:2::", "2001:db8:2:ffff:ffff:ffff:ffff:ffff", true},
		{"two /48 side by side", "2001:db8:2::", "2001:db8:3::", false},
		{"an IPv4 address, and the same as a socket of IPv6 has it", "192.0.2.1", "::ffff:192.0.2.2", true},
		{"this machine, whose addresses have no prefix", "127.0.0.1", "127.0.0.1", false},
		{"the same by IPv6", "::1", "::1", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := newHandshakes(Limits{HandshakesPerPrefix: 1}.withDefaults())
			from := func(ip string) net.Addr {
				return net.UDPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(ip), 4433))
			}
			if _, ok := h.enter(from(tt.a)); !ok {
				t.Fatalf("%s is refused", tt.a)
			}
			if _, ok := h.enter(from(tt.b)); ok == tt.together {
				t.Errorf("beside %s, %s is admitted: %v, want %v", tt.a, tt.b, ok, !tt.together)
			}
		})
	}
}

// VTX-1: IPv6 between vertices, one of them on an ephemeral port of any address.
func TestVerticesTalkOverIPv6(t *testing.T) {
	t.Parallel()
	probe, err := net.ListenPacket("udp", "[::1]:0")
	if err != nil {
		t.Skipf("this machine has no IPv6 on loopback: %v", err)
	}
	address := probe.LocalAddr().String()
	probe.Close()
	d := newDuo(t, backend(t, echo), func(d *duo) { d.farPlan.listen, d.nearPlan.anywhere = address, true })
	c := d.dial(t)
	send(t, c, "x")
	expect(t, c, "x")
}
