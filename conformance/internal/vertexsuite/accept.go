package vertexsuite

import (
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/florete/flor/conformance/internal/peer"
	"github.com/florete/flor/conformance/internal/rete"
	"github.com/florete/flor/conformance/internal/trial"
	"github.com/florete/flor/conformance/internal/tunnel"
	"github.com/florete/flor/envelope/envelopetest"
	"github.com/florete/flor/envelope/schema"
)

// TLS alerts (VTX-3).
const (
	alertBadCertificate         = 42
	alertUnsupportedCertificate = 43
	alertCertificateRevoked     = 44
	alertCertificateExpired     = 45
	alertUnknownCA              = 48
	alertDecryptError           = 51
	alertUnrecognizedName       = 112
	alertCertificateRequired    = 116
	alertNoApplicationProtocol  = 120
)

// Application codes (VTX-4).
const (
	codeDenied   = 0x10
	codeExpired  = 0x11
	codeRevoked  = 0x12
	codeDraining = 0x13
	codePathMTU  = 0x14
	codeIdle     = 0x15
	codeReplaced = 0x16
	codeShutdown = 0x17
)

// offerRow is an initiator whose handshake must end with an alert.
type offerRow struct {
	name, title string
	rules       string
	alert       int
	change      func(*tunnel.Vertex, *peer.Offer)
}

// as has bob's certificate changed before it is signed.
func as(changes ...envelopetest.Change) func(*tunnel.Vertex, *peer.Offer) {
	return func(v *tunnel.Vertex, o *peer.Offer) { o.Identity = v.Rete.Issue("/user/bob", changes...) }
}

// withDNSName gives a certificate a name beside its SPIFFE ID.
func withDNSName(c *x509.Certificate) { c.DNSNames = []string{"bob.example.org"} }

// withoutItsKey is somebody who shows a certificate and has a key that everybody
// has, which is not that of the certificate.
func withoutItsKey(i *rete.Identity) *rete.Identity {
	thief := *i
	thief.Key = ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	return &thief
}

// handshakeCases are about what an acceptor asks of an initiator.
func handshakeCases() []Case {
	rows := []offerRow{
		{"initiator-of-another-ca", "an initiator of another CA", "VTX-3", alertUnknownCA, func(v *tunnel.Vertex, o *peer.Offer) {
			o.Identity = rete.New(v.Rete.Domain).Issue("/user/bob")
		}},
		{"initiator-expired", "an initiator whose certificate has expired", "VTX-3", alertCertificateExpired, as(envelopetest.Expired)},
		{"initiator-not-yet-valid", "an initiator whose certificate is not valid yet", "VTX-3", alertCertificateExpired, as(envelopetest.NotYetValid)},
		{"initiator-of-two-ids", "an initiator with two URI SANs", "VTX-3", alertBadCertificate, func(v *tunnel.Vertex, o *peer.Offer) {
			as(envelopetest.URIs(v.Rete.ID("/user/bob"), v.Rete.ID("/user/alice")))(v, o)
		}},
		{"initiator-without-id", "an initiator without a URI SAN", "VTX-3", alertBadCertificate, as(envelopetest.URIs())},
		{"initiator-with-dns-name", "an initiator with a DNS name beside its ID", "VTX-3", alertBadCertificate, as(withDNSName)},
		{"initiator-of-another-domain", "an initiator of another trust domain under our CA", "VTX-3", alertBadCertificate, as(envelopetest.URIs("spiffe://elsewhere/user/bob"))},
		{"initiator-of-wrong-kind", "an initiator that is a vertex", "VTX-3", alertBadCertificate, func(v *tunnel.Vertex, o *peer.Offer) {
			o.Identity = v.Rete.Issue("/vertex/beta/public")
		}},
		{"initiator-without-client-auth", "an initiator without clientAuth", "VTX-3", alertUnsupportedCertificate, as(envelopetest.Usages(x509.ExtKeyUsageServerAuth))},
		{"initiator-without-key-usage", "an initiator without digitalSignature", "VTX-3", alertUnsupportedCertificate, as(envelopetest.KeyUsage(x509.KeyUsageKeyAgreement))},
		{"initiator-without-certificate", "an initiator without a certificate", "VTX-3", alertCertificateRequired, func(_ *tunnel.Vertex, o *peer.Offer) { o.Identity = nil }},
		{"initiator-without-its-key", "an initiator that does not have the key of its certificate", "VTX-1 VTX-3", alertDecryptError, func(_ *tunnel.Vertex, o *peer.Offer) {
			o.Identity = withoutItsKey(o.Identity)
		}},
		{"initiator-revoked", "an initiator whose certificate is revoked", "VTX-3 VTX-8", alertCertificateRevoked, func(v *tunnel.Vertex, o *peer.Offer) {
			v.Payload.Revoked = []string{fingerprintOf(o.Identity)}
		}},
		{"unknown-name", "a name that is not served", "VTX-2", alertUnrecognizedName, func(v *tunnel.Vertex, o *peer.Offer) { o.Name = v.Host("nobody") }},
		{"no-name", "no name", "VTX-2", alertUnrecognizedName, func(_ *tunnel.Vertex, o *peer.Offer) { o.Name = "" }},
		{"name-in-capitals", "a served name in capitals", "VTX-2", alertUnrecognizedName, func(v *tunnel.Vertex, o *peer.Offer) { o.Name = strings.ToUpper(o.Name) }},
		{"unknown-protocol", "an unknown tunnel protocol", "VTX-1", alertNoApplicationProtocol, func(_ *tunnel.Vertex, o *peer.Offer) { o.Protocols = []string{"flor/9"} }},
		{"no-protocol", "no tunnel protocol", "VTX-1", alertNoApplicationProtocol, func(_ *tunnel.Vertex, o *peer.Offer) { o.Protocols = nil }},
	}
	cases := []Case{
		{"handshake/target-certificate", "the target's certificate is shown by its name", "VTX-2 VTX-3", checkTargetCertificate},
		{"handshake/prefers-flor-2", "of flor/1 and flor/2 the acceptor takes flor/2, also where it is offered last", "VTX-1 VTX-6", checkPreference},
		{"handshake/no-tickets", "no session ticket is sent", "VTX-1", checkNoTickets},
		{"handshake/ecdsa", "an initiator with an ECDSA P-256 key is taken", "VTX-1", checkECDSA},
	}
	for _, r := range rows {
		cases = append(cases, Case{"handshake/" + r.name, r.title + " is told so by an alert", r.rules, r.check})
	}
	return cases
}

// check expects a handshake to end with the alert, and that of somebody who is
// allowed to be done.
func (r offerRow) check(t *trial.T, v *tunnel.Vertex) {
	offer := v.Bob()
	r.change(v, &offer)
	v.Start()
	err := peer.Open(t).Refusal(v.Addr, offer)
	if got := peer.Alert(err); got != r.alert {
		t.Fatalf("%s: the connection ends with %v; the vertex must end the handshake with TLS alert %d", r.title, err, r.alert)
	}
	v.Dial().Connect()
}

// fingerprintOf is how "revoked" spells a certificate.
func fingerprintOf(i *rete.Identity) string {
	sum := sha256.Sum256(i.Cert.Raw)
	return hex.EncodeToString(sum[:])
}

func checkTargetCertificate(t *trial.T, v *tunnel.Vertex) {
	v.Payload.Workloads = append(v.Payload.Workloads, schema.VertexWorkload{SPIFFEID: v.Rete.ID("/service/alpha/other"), IO: []schema.IO{{Kind: "tcp", Upstream: v.Web.Addr}}})
	v.Payload.Ingress = append(v.Payload.Ingress, schema.Rule{Target: v.Rete.ID("/service/alpha/other"), Allow: []string{v.Rete.ID("/user/bob")}})
	t.Check(v.Root.Principal(v.Rete.Issue("/service/alpha/other")), "write an identity")
	v.Start()
	for name, id := range map[string]string{"web": "/service/web", "other.alpha": "/service/alpha/other"} {
		offer := v.Bob()
		offer.Name = v.Host(name)
		conn, err := peer.Open(t).Dial(v.Addr, offer)
		t.Check(err, "shake hands for "+offer.Name)
		if leaf := conn.ConnectionState().TLS.PeerCertificates[0]; len(leaf.URIs) != 1 || leaf.URIs[0].String() != v.Rete.ID(id) {
			t.Fatalf("for the name %s the vertex shows the certificate of %v; it must be that of %s", offer.Name, leaf.URIs, v.Rete.ID(id))
		}
	}
}

func checkPreference(t *trial.T, v *tunnel.Vertex) {
	v.Start()
	offer := v.Bob()
	offer.Protocols = []string{peer.Flor1, peer.Flor2}
	conn, err := peer.Open(t).Dial(v.Addr, offer)
	t.Check(err, "shake hands")
	if got := conn.ConnectionState().TLS.NegotiatedProtocol; got != peer.Flor2 {
		t.Fatalf("of flor/1 and flor/2 the vertex takes %q; it must be flor/2", got)
	}
}

// tickets counts the session tickets that arrive.
type tickets struct{ put atomic.Int64 }

func (t *tickets) Get(string) (*tls.ClientSessionState, bool) { return nil, false }
func (t *tickets) Put(_ string, s *tls.ClientSessionState) {
	if s != nil {
		t.put.Add(1)
	}
}

func checkNoTickets(t *trial.T, v *tunnel.Vertex) {
	v.Start()
	offer, got := v.Bob(), &tickets{}
	offer.Tickets = got
	conn, err := peer.Open(t).Dial(v.Addr, offer)
	t.Check(err, "shake hands")
	conn.Connect() // a ticket would have come before the answer
	if got.put.Load() != 0 {
		t.Fatalf("the vertex sends session tickets; it must not: a shared ticket cache lets one principal pass for another")
	}
}

func checkECDSA(t *trial.T, v *tunnel.Vertex) {
	v.Start()
	offer := v.Bob()
	offer.Identity = v.Rete.IssueECDSA("/user/bob")
	reaches(t, v, offer)
}

// gateCases are about who may reach whom, and for how long.
func gateCases() []Case {
	return []Case{
		{"gate/denied", "an initiator that ingress does not name is closed with 0x10", "VTX-4", checkDenied},
		{"gate/allowed-elsewhere", "an initiator that may reach another target here is closed with 0x10", "VTX-4", checkAllowedElsewhere},
		{"gate/denied-is-counted", "denials are counted by initiator", "VTX-4 OBS-6", checkDeniedCounted},
		{"gate/no-longer-allowed", "a connection whose pair leaves ingress is closed with 0x10 soon", "VTX-8 VTX-16", checkNoLongerAllowed},
		{"gate/revoked-while-open", "a connection whose certificate is revoked is closed with 0x12 soon", "VTX-8 VTX-16", checkRevokedWhileOpen},
		{"gate/expiry", "a connection is closed with 0x11 when the initiator's certificate ends", "VTX-8", checkExpiry},
		{"gate/target-expiry", "a connection is closed with 0x11 when the target's certificate ends", "VTX-8", checkTargetExpiry},
	}
}

// reaches expects an initiator to be connected to web.
func reaches(t *trial.T, v *tunnel.Vertex, o peer.Offer) {
	conn, err := peer.Open(t).Dial(v.Addr, o)
	t.Check(err, "shake hands as an initiator that is allowed")
	conn.Connect()
}

func checkDenied(t *trial.T, v *tunnel.Vertex) {
	v.Start()
	offer := v.Bob()
	offer.Identity = v.Rete.Issue("/user/mallory")
	if err := peer.Open(t).Refusal(v.Addr, offer); peer.Code(err) != codeDenied {
		t.Fatalf("the connection of an initiator that may not reach the target ends with %v; it must be closed with application code 0x10", err)
	}
	if v.Web.Waiting() > 0 {
		t.Fatalf("the service was connected to for an initiator that is denied")
	}
}

func checkAllowedElsewhere(t *trial.T, v *tunnel.Vertex) {
	v.Payload.Workloads = append(v.Payload.Workloads, schema.VertexWorkload{SPIFFEID: v.Rete.ID("/service/other"), IO: []schema.IO{{Kind: "tcp", Upstream: v.Web.Addr}}})
	v.Payload.Ingress = append(v.Payload.Ingress, schema.Rule{Target: v.Rete.ID("/service/other"), Allow: []string{v.Rete.ID("/user/mallory")}})
	t.Check(v.Root.Principal(v.Rete.Issue("/service/other")), "write an identity")
	checkDenied(t, v)
}

func checkDeniedCounted(t *trial.T, v *tunnel.Vertex) {
	checkDenied(t, v)
	want := `initiator="` + v.Rete.ID("/user/mallory") + `"`
	for line := range strings.Lines(v.Metrics()) {
		if strings.HasPrefix(line, "flor_vertex_acl_denials_total{") && strings.Contains(line, want) {
			return
		}
	}
	t.Fatalf("after a denial /metrics has no flor_vertex_acl_denials_total with %s", want)
}

// soon is how long what must happen within a second may take on a slow machine.
const soon = 10 * time.Second

// closedSoon expects a connection to be closed with an application code soon
// after something has happened, or will have at a time.
func closedSoon(t *trial.T, conn *peer.Conn, code int, since string, at time.Time) {
	select {
	case <-conn.Context().Done():
	case <-time.After(time.Until(at) + soon):
		t.Fatalf("%s the connection is still open after %v; it must be closed within a second", since, soon)
	case <-t.Context().Done():
		t.Fatalf("%s the connection is still open; it must be closed within a second", since)
	}
	if err := conn.End(); peer.Code(err) != code {
		t.Fatalf("%s the connection ends with %v; it must be closed with application code 0x%02x", since, err, code)
	}
}

// swapped applies the payload and expects it to be swapped.
func swapped(t *trial.T, v *tunnel.Vertex, version uint64) {
	if got := v.Apply(version, false); got != "swapped" {
		t.Fatalf("a payload that differs in its tables only is answered %q; it must be swapped", got)
	}
}

func checkNoLongerAllowed(t *trial.T, v *tunnel.Vertex) {
	v.Start()
	conn := v.Dial()
	conn.Connect()
	v.Payload.Ingress[0].Allow = []string{v.Rete.ID("/user/alice")}
	swapped(t, v, 2)
	closedSoon(t, conn, codeDenied, "after the pair left ingress", time.Now())
}

func checkRevokedWhileOpen(t *trial.T, v *tunnel.Vertex) {
	v.Start()
	offer := v.Bob()
	conn, err := peer.Open(t).Dial(v.Addr, offer)
	t.Check(err, "shake hands")
	conn.Connect()
	v.Payload.Revoked = []string{fingerprintOf(offer.Identity)}
	swapped(t, v, 2)
	closedSoon(t, conn, codeRevoked, "after its certificate was revoked", time.Now())
}

// shortLived has a certificate end soon, and late enough for a slow machine to
// have used it before.
func shortLived(c *x509.Certificate) {
	c.NotAfter = time.Now().Add(7 * time.Second).Truncate(time.Second)
}

func checkExpiry(t *trial.T, v *tunnel.Vertex) {
	v.Start()
	offer := v.Bob()
	offer.Identity = v.Rete.Issue("/user/bob", shortLived)
	conn, err := peer.Open(t).Dial(v.Addr, offer)
	t.Check(err, "shake hands with a certificate that ends in a few seconds")
	conn.Connect()
	closedAtExpiry(t, conn, offer.Identity.Cert.NotAfter)
}

func closedAtExpiry(t *trial.T, conn *peer.Conn, end time.Time) {
	closedSoon(t, conn, codeExpired, "when its certificate had ended", end)
	if early := time.Until(end); early > 0 {
		t.Fatalf("the connection was closed %v before the certificate ended", early)
	}
}

func checkTargetExpiry(t *trial.T, v *tunnel.Vertex) {
	web := v.Rete.Issue("/service/web", shortLived)
	t.Check(v.Root.Principal(web), "write an identity")
	v.Start()
	conn := v.Dial()
	conn.Connect()
	closedAtExpiry(t, conn, web.Cert.NotAfter)
}

// streamCases are about streams that an initiator opens.
func streamCases() []Case {
	return []Case{
		{"stream/echo", "after the answer 0 bytes go both ways", "VTX-6", checkEcho},
		{"stream/server-first", "what the service says first arrives before the initiator has said anything", "VTX-6", checkServerFirst},
		{"stream/refused-upstream", "where nobody listens the answer is 4", "VTX-6", checkRefusedUpstream},
		{"stream/unreachable-upstream", "where the service cannot be reached the answer is 3", "VTX-6", checkUnreachableUpstream},
		{"stream/silent-upstream", "where the service does not accept within 5 s the answer is 5", "VTX-6", checkSilentUpstream},
		{"stream/bad-preamble", "a stream that begins with another byte is reset", "VTX-6", checkBadPreamble},
		{"stream/silent-preamble", "a stream without a preamble is reset after 10 s", "VTX-6", checkSilentPreamble},
		{"stream/many", "one connection carries many streams", "VTX-5", checkManyStreams},
		{"stream/one-after-the-other", "as streams end others may be opened on the same connection", "VTX-5a", checkStreamsInTurn},
		{"stream/stalled-reader", "a stream that nobody reads does not stop another one", "VTX-5a", checkStalledReader},
		{"ends/initiator-fin", "FIN of the initiator becomes EOF at the service, and the other direction goes on", "VTX-7", checkInitiatorFIN},
		{"ends/service-fin", "EOF of the service becomes FIN, and the other direction goes on", "VTX-7", checkServiceFIN},
		{"ends/initiator-reset", "a reset of the initiator becomes RST at the service", "VTX-7", checkInitiatorReset},
		{"ends/service-reset", "RST of the service becomes RESET_STREAM and STOP_SENDING with code 1", "VTX-7", checkServiceReset},
		{"ends/tail", "nothing that was written before FIN is lost", "VTX-7", checkTail},
		{"ends/lost-connection", "the end of the connection becomes RST at the service", "VTX-7", checkLostConnection},
		{"flor1/accept", "flor/1 has no preamble and no answer, raw bytes at once", "VTX-6", checkFlor1},
		{"flor1/accept-refused", "a refusal of flor/1 is a reset of the stream", "VTX-6", checkFlor1Refused},
	}
}

func checkEcho(t *trial.T, v *tunnel.Vertex) {
	v.Start()
	stream := v.Dial().Connect()
	service := v.Web.Next()
	stream.Send("hello")
	service.Expect("hello")
	service.Send("good day")
	stream.Expect("good day")
}

func checkServerFirst(t *trial.T, v *tunnel.Vertex) {
	v.Start()
	stream := v.Dial().Connect()
	v.Web.Next().Send("220 ready")
	stream.Expect("220 ready")
}

// answered expects an answer byte for a service at an address, and the end of the
// acceptor's direction.
func answered(t *trial.T, v *tunnel.Vertex, upstream string, want byte, where, words string) {
	v.Payload.Workloads[1].IO[0].Upstream = upstream
	v.Start()
	stream := v.Dial().Open(0x01)
	if answer := stream.Answer(); answer != want {
		t.Fatalf("where %s the answer byte is %d; it must be %d, %s", where, answer, want, words)
	}
	stream.ExpectEnd()
}

func checkRefusedUpstream(t *trial.T, v *tunnel.Vertex) {
	answered(t, v, tunnel.FreeTCP(t), 4, "nobody listens", "refused")
}

func checkUnreachableUpstream(t *trial.T, v *tunnel.Vertex) {
	answered(t, v, tunnel.UnreachableTCP(t), 3, "the system says that the service cannot be reached", "unreachable")
}

func checkSilentUpstream(t *trial.T, v *tunnel.Vertex) {
	answered(t, v, tunnel.DeafTCP(t), 5, "the service does not accept the connection", "timed out")
}

func checkBadPreamble(t *trial.T, v *tunnel.Vertex) {
	v.Start()
	aborted(t, v.Dial().Open(0x47), "where it begins with 0x47")
	if v.Web.Waiting() > 0 {
		t.Fatalf("the service was connected to for a stream without the preamble")
	}
}

func checkSilentPreamble(t *trial.T, v *tunnel.Vertex) {
	v.Start()
	// Nothing makes a stream known but a frame: FIN with nothing before it would
	// be an end, so ask to stop what the acceptor sends.
	stream := v.Dial().Open()
	stream.CancelRead(1)
	if code := stream.StopCode(); code != 1 {
		t.Fatalf("a stream without a preamble ends with code %d; after 10 s it must be reset, and STOP_SENDING have code 1", code)
	}
}

func checkManyStreams(t *trial.T, v *tunnel.Vertex) {
	v.Start()
	conn := v.Dial()
	var streams []*peer.Stream
	for range 32 {
		streams = append(streams, conn.Connect())
	}
	for range streams {
		service := v.Web.Next()
		service.Send("x")
	}
	for _, s := range streams {
		s.Expect("x")
	}
}

func checkStreamsInTurn(t *trial.T, v *tunnel.Vertex) {
	v.Start()
	conn := v.Dial()
	const streams = 160 // more than most allow at a time
	for range streams {
		stream := conn.Connect()
		service := v.Web.Next()
		stream.Finish()
		service.ExpectEnd()
		service.Finish()
		stream.ExpectEnd()
	}
}

func checkStalledReader(t *trial.T, v *tunnel.Vertex) {
	v.Start()
	conn := v.Dial()
	// The service does not read what these streams bring, so their windows fill.
	var full sync.WaitGroup
	for range 8 {
		stalled := conn.Connect()
		_ = v.Web.Next().SetReadBuffer(4 << 10)
		full.Go(func() { fill(t, stalled) })
	}
	full.Wait()
	live := conn.Connect()
	service := v.Web.Next()
	for range 16 {
		live.Send("ping")
		service.Expect("ping")
		service.Send("pong")
		live.Expect("pong")
	}
}

// fill writes until not a byte is taken any more for a while, or the trial ends.
func fill(t *trial.T, s *peer.Stream) {
	const while = 2 * time.Second
	chunk := make([]byte, 64<<10)
	for t.Context().Err() == nil {
		_ = s.SetWriteDeadline(time.Now().Add(while))
		if n, err := s.Write(chunk); n == 0 && err != nil {
			return
		}
	}
}

func checkInitiatorFIN(t *trial.T, v *tunnel.Vertex) {
	v.Start()
	stream := v.Dial().Connect()
	service := v.Web.Next()
	stream.Send("all")
	stream.Finish()
	service.Expect("all")
	service.ExpectEnd()
	service.Send("and more")
	stream.Expect("and more")
	service.Finish()
	stream.ExpectEnd()
}

func checkServiceFIN(t *trial.T, v *tunnel.Vertex) {
	v.Start()
	stream := v.Dial().Connect()
	service := v.Web.Next()
	service.Send("all")
	service.Finish()
	stream.Expect("all")
	stream.ExpectEnd()
	stream.Send("and more")
	service.Expect("and more")
	stream.Finish()
	service.ExpectEnd()
}

func checkInitiatorReset(t *trial.T, v *tunnel.Vertex) {
	v.Start()
	stream := v.Dial().Connect()
	service := v.Web.Next()
	stream.Send("some")
	service.Expect("some")
	stream.Abort()
	service.ExpectReset("the initiator's vertex reset the stream, and an abort must never look like a clean end")
}

func checkServiceReset(t *trial.T, v *tunnel.Vertex) {
	v.Start()
	stream := v.Dial().Connect()
	v.Web.Next().Abort()
	aborted(t, stream, "after RST of the service")
}

// aborted expects a stream to be reset in both directions (VTX-7).
func aborted(t *trial.T, s *peer.Stream, when string) {
	if code := s.ResetCode(); code != 1 {
		t.Fatalf("%s the stream ends with code %d; it must be RESET_STREAM with code 1", when, code)
	}
	if code := s.StopCode(); code != 1 {
		t.Fatalf("%s the other direction of the stream ends with code %d; it must be STOP_SENDING with code 1", when, code)
	}
}

func checkTail(t *trial.T, v *tunnel.Vertex) {
	v.Start()
	stream := v.Dial().Connect()
	service := v.Web.Next()
	const size = 3 << 20
	service.Send(strings.Repeat("t", size))
	_ = service.Close()
	stream.Finish()
	if n, err := stream.Rest(); n != size || err != nil {
		t.Fatalf("of %d bytes that the service wrote before it closed %d arrive, and then %v; it must be all of them and FIN", size, n, err)
	}
}

func checkLostConnection(t *trial.T, v *tunnel.Vertex) {
	v.Start()
	conn := v.Dial()
	stream := conn.Connect()
	service := v.Web.Next()
	stream.Send("some")
	service.Expect("some")
	conn.Close(0x17)
	service.ExpectReset("the connection that carried it was closed")
}

// overFlor1 connects as bob with flor/1 alone.
func overFlor1(t *trial.T, v *tunnel.Vertex) *peer.Conn {
	offer := v.Bob()
	offer.Protocols = []string{peer.Flor1}
	conn, err := peer.Open(t).Dial(v.Addr, offer)
	t.Check(err, "shake hands with flor/1 alone")
	return conn
}

func checkFlor1(t *trial.T, v *tunnel.Vertex) {
	v.Start()
	stream := overFlor1(t, v).Open([]byte("hello")...)
	service := v.Web.Next()
	service.Expect("hello")
	service.Send("good day")
	stream.Expect("good day")
	stream.Finish()
	service.ExpectEnd()
}

func checkFlor1Refused(t *trial.T, v *tunnel.Vertex) {
	v.Payload.Workloads[1].IO[0].Upstream = tunnel.FreeTCP(t)
	v.Start()
	aborted(t, overFlor1(t, v).Open([]byte("hello")...), "where nobody listens, and flor/1 is spoken,")
}

// drainCases are about SIGTERM and what is left of a vertex.
func drainCases() []Case {
	return []Case{
		{"drain/control-stream", "each connection has a control stream that begins with 0x00", "VTX-15", checkControlStream},
		{"drain/told", "on SIGTERM the control stream says 0x01", "VTX-15", checkDrainTold},
		{"drain/open-stream-goes-on", "an open stream goes on while the vertex drains, and when it has ended the vertex exits 0", "VTX-15", checkDrainStream},
		{"drain/new-streams", "new streams are answered 6 while the vertex drains", "VTX-15 VTX-6", checkDrainAnswer},
		{"drain/new-handshakes", "new handshakes are refused with CONNECTION_REFUSED while the vertex drains", "VTX-15", checkDrainHandshake},
		{"drain/idle", "a connection that carried nothing is closed with 0x13, and the vertex exits 0", "VTX-15", checkDrainIdle},
		{"drain/grace", "what still runs when the grace is over is closed with 0x17, and the vertex exits 0", "VTX-15 SUP-4", checkDrainGrace},
		{"drain/stateless-reset", "a vertex that was killed and is back answers with a stateless reset", "VTX-1 VTX-15", checkStatelessReset},
	}
}

func checkControlStream(t *trial.T, v *tunnel.Vertex) {
	v.Start()
	v.Dial().Control().Await(0x00)
}

// draining starts a vertex with one open stream, and has it drain.
func draining(t *trial.T, v *tunnel.Vertex) (*peer.Conn, *peer.Stream, *tunnel.Conn) {
	v.Start()
	conn := v.Dial()
	stream := conn.Connect()
	service := v.Web.Next()
	control := conn.Control()
	v.Process.Signal(termination)
	control.Await(0x01)
	return conn, stream, service
}

func checkDrainTold(t *trial.T, v *tunnel.Vertex) { draining(t, v) }

func checkDrainStream(t *trial.T, v *tunnel.Vertex) {
	_, stream, service := draining(t, v)
	stream.Send("still here")
	service.Expect("still here")
	service.Send("so am I")
	stream.Expect("so am I")
	stream.Finish()
	service.ExpectEnd()
	service.Finish()
	stream.ExpectEnd()
	if code := v.Process.Exit(); code != 0 {
		t.Fatalf("after its drain the vertex ends with exit %d; it must be 0", code)
	}
}

func checkDrainAnswer(t *trial.T, v *tunnel.Vertex) {
	conn, _, _ := draining(t, v)
	if answer := conn.Open(0x01).Answer(); answer != 6 {
		t.Fatalf("while it drains the vertex answers a new stream with %d; it must be 6", answer)
	}
}

func checkDrainHandshake(t *trial.T, v *tunnel.Vertex) {
	draining(t, v)
	if err := peer.Open(t).Refusal(v.Addr, v.Bob()); !peer.Refused(err) {
		t.Fatalf("while the vertex drains a handshake ends with %v; it must be refused with CONNECTION_REFUSED", err)
	}
}

func checkDrainIdle(t *trial.T, v *tunnel.Vertex) {
	v.Start()
	conn := v.Dial()
	conn.Control().Await(0x00)
	v.Process.Signal(termination)
	if err := conn.End(); peer.Code(err) != codeDraining {
		t.Fatalf("a connection that carried nothing ends with %v; it must be closed with 0x13", err)
	}
	if code := v.Process.Exit(); code != 0 {
		t.Fatalf("after its drain the vertex ends with exit %d; it must be 0", code)
	}
}

func checkDrainGrace(t *trial.T, v *tunnel.Vertex) {
	conn, _, _ := draining(t, v)
	if err := conn.End(); peer.Code(err) != codeShutdown {
		t.Fatalf("what still runs when the grace is over ends with %v; it must be closed with 0x17", err)
	}
	if code := v.Process.Exit(); code != 0 {
		t.Fatalf("after its grace the vertex ends with exit %d; it must be 0", code)
	}
}

func checkStatelessReset(t *trial.T, v *tunnel.Vertex) {
	v.Start()
	conn := v.Dial()
	stream := conn.Connect()
	v.Process.Kill()
	v.Start()
	t.Await("after a restart the vertex must answer packets of an old connection with a stateless reset", func() bool {
		_ = stream.SetWriteDeadline(time.Now().Add(time.Second))
		_, _ = stream.Write(make([]byte, 64))
		return conn.Ended()
	})
	if err := conn.End(); !peer.Reset(err) {
		t.Fatalf("a connection to a vertex that was killed and is back ends with %v; it must be a stateless reset, whose key is the same after a restart", err)
	}
}

// protocolsOffered tells whether a hello offers what a vertex must.
func protocolsOffered(h peer.Hello) bool { return slices.Equal(h.Protocols, peer.Both) }
