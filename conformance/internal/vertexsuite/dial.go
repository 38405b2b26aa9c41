package vertexsuite

import (
	"crypto/x509"
	"syscall"
	"time"

	"github.com/florete/flor/conformance/internal/peer"
	"github.com/florete/flor/conformance/internal/rete"
	"github.com/florete/flor/conformance/internal/trial"
	"github.com/florete/flor/conformance/internal/tunnel"
	"github.com/florete/flor/envelope/envelopetest"
)

// termination is what asks a program to end (SUP-4).
const termination = syscall.SIGTERM

// Replies of SOCKS5 (VTX-10).
const (
	replyConnected   = 0
	replyGeneral     = 1
	replyDenied      = 2
	replyUnreachable = 4
	replyRefused     = 5
)

// far starts a vertex that is linked to service/far at a peer, which shows this
// certificate, or a good one where it is nil.
func far(t *trial.T, v *tunnel.Vertex, show *rete.Identity, protocols ...string) *peer.Listener {
	if show == nil {
		show = v.Rete.Issue("/service/far")
	}
	if protocols == nil {
		protocols = peer.Both
	}
	return linked(v, peer.Listen(t, show, protocols...))
}

// linked starts a vertex that is linked to service/far at this peer.
func linked(v *tunnel.Vertex, l *peer.Listener) *peer.Listener {
	v.Link("/service/far", l.Addr)
	v.Start()
	return l
}

// asking has a client of alice ask for service/far, without waiting for the
// reply.
func asking(t *trial.T, v *tunnel.Vertex) *tunnel.Conn {
	c := tunnel.Connect(t, v.SOCKS)
	c.Send(tunnel.Greeting + tunnel.Request(v.Host("far")))
	return c
}

// carried connects a client of alice to service/far, and gives both ends.
func carried(t *trial.T, v *tunnel.Vertex) (*tunnel.Conn, *peer.Conn, *peer.Stream) {
	return carriedBy(t, v, far(t, v, nil))
}

// carriedBy is carried for a vertex that runs, by one more connection to a peer.
func carriedBy(t *trial.T, v *tunnel.Vertex, l *peer.Listener) (*tunnel.Conn, *peer.Conn, *peer.Stream) {
	client := asking(t, v)
	conn := l.Next()
	stream := conn.Asked()
	stream.Send("\x00")
	replied(t, client, replyConnected, "the answer byte is 0")
	return client, conn, stream
}

// replied expects the reply of a client.
func replied(t *trial.T, c *tunnel.Conn, want byte, when string) {
	if got := c.Reply(); got != want {
		t.Fatalf("where %s the client has reply %d; it must be %d", when, got, want)
	}
}

// targetRow is a target whose certificate must not be taken.
type targetRow struct {
	name, title string
	alert       int
	reply       byte
	show        func(*tunnel.Vertex) *rete.Identity
}

// shows is a target that has service/far's certificate changed.
func shows(changes ...envelopetest.Change) func(*tunnel.Vertex) *rete.Identity {
	return func(v *tunnel.Vertex) *rete.Identity { return v.Rete.Issue("/service/far", changes...) }
}

// dialCases are about what a dialler offers, asks and carries.
func dialCases() []Case {
	cases := []Case{
		{"dial/hello", "the dialler names the target's hostname in lower case, and offers flor/2 before flor/1", "VTX-1 VTX-2 VTX-6", checkHello},
		{"dial/as-the-listener", "the dialler shows the certificate of the principal that the port belongs to", "VTX-11 VTX-3", checkDialsAs},
		{"dial/one-socket", "it dials from the UDP socket on which it accepts", "VTX-1", checkOneSocket},
		{"dial/echo", "after the answer 0 bytes go both ways", "VTX-6", checkDialEcho},
		{"dial/server-first", "what the service says first arrives before the client has said anything", "VTX-6", checkDialServerFirst},
		{"dial/reply-after-answer", "a client has its reply when the answer byte has come, not before", "VTX-4 VTX-10", checkReplyAfterAnswer},
		{"dial/shared-connection", "two clients share one QUIC connection, a stream each", "VTX-5", checkSharedConnection},
		{"dial/target-fin", "FIN of the target becomes EOF at the client, and the other direction goes on", "VTX-7", checkTargetFIN},
		{"dial/client-fin", "EOF of the client becomes FIN, and the other direction goes on", "VTX-7", checkClientFIN},
		{"dial/target-reset", "a reset of the target becomes RST at the client", "VTX-7", checkTargetReset},
		{"dial/client-reset", "RST of the client becomes RESET_STREAM and STOP_SENDING with code 1", "VTX-7", checkClientReset},
		{"dial/told-of-draining", "a connection that was told of draining takes no new stream", "VTX-15", checkToldOfDraining},
		{"dial/closes-the-drained", "a connection that was told of draining is closed once its streams have ended", "VTX-15", checkClosesDrained},
		{"dial/stays-pooled", "a connection without a stream is pooled", "VTX-5", checkStaysPooled},
		{"dial/kept-alive", "a connection without a stream is kept alive", "VTX-5", checkKeptAlive},
		{"dial/stream-limit", "where the target's vertex allows no further stream another connection is dialled", "VTX-5a", checkDialStreamLimit},
		{"dial/expiry", "a connection is closed with 0x11 when the target's certificate ends", "VTX-8", checkDialExpiry},
		{"dial/revoked-while-open", "a connection is closed with 0x12 soon after the target's certificate was revoked", "VTX-8 VTX-16", checkDialRevoked},
		{"dial/no-longer-allowed", "a connection whose pair leaves egress is closed with 0x10 soon, and its client has RST", "VTX-7 VTX-8 VTX-16", checkDialNoLongerAllowed},
		{"dial/link-moved", "where a link leads elsewhere the next client is carried there, and the open stream goes on", "VTX-16", checkLinkMoved},
		{"dial/superseded", "a connection that its link has left is closed with 0x16 once its streams have ended", "VTX-4 VTX-16", checkSuperseded},
		{"flor1/dial", "to a target of flor/1 bytes go at once, without preamble, and the client has reply 0", "VTX-6", checkDialFlor1},
		{"flor1/closed-when-done", "a dialler closes a connection of flor/1 with 0x15 when its stream has ended", "VTX-6", checkDialFlor1Closed},
		{"flor1/one-stream", "a dialler opens one stream on a connection of flor/1", "VTX-6", checkDialFlor1Once},
	}
	for _, r := range []targetRow{
		{"target-of-another-ca", "a target of another CA", alertUnknownCA, replyUnreachable, func(v *tunnel.Vertex) *rete.Identity {
			return rete.New(v.Rete.Domain).Issue("/service/far")
		}},
		{"target-expired", "a target whose certificate has expired", alertCertificateExpired, replyUnreachable, shows(envelopetest.Expired)},
		{"target-of-another-id", "a target with the certificate of another service", alertBadCertificate, replyUnreachable, func(v *tunnel.Vertex) *rete.Identity {
			return v.Rete.Issue("/service/other")
		}},
		{"target-of-two-ids", "a target with two URI SANs", alertBadCertificate, replyUnreachable, func(v *tunnel.Vertex) *rete.Identity {
			return v.Rete.Issue("/service/far", envelopetest.URIs(v.Rete.ID("/service/far"), v.Rete.ID("/service/other")))
		}},
		{"target-with-dns-name", "a target with a DNS name beside its ID", alertBadCertificate, replyUnreachable, shows(withDNSName)},
		{"target-without-server-auth", "a target without serverAuth", alertUnsupportedCertificate, replyUnreachable, shows(envelopetest.Usages(x509.ExtKeyUsageClientAuth))},
		{"target-without-its-key", "a target that does not have the key of its certificate", alertDecryptError, replyGeneral, func(v *tunnel.Vertex) *rete.Identity {
			return withoutItsKey(v.Rete.Issue("/service/far"))
		}},
		{"target-revoked", "a target whose certificate is revoked", alertCertificateRevoked, replyDenied, func(v *tunnel.Vertex) *rete.Identity {
			show := v.Rete.Issue("/service/far")
			v.Payload.Revoked = []string{fingerprintOf(show)}
			return show
		}},
	} {
		cases = append(cases, Case{"dial/" + r.name, r.title + " is told so by an alert, and is sent nothing", "VTX-3 VTX-10", r.check})
	}
	return cases
}

func (r targetRow) check(t *trial.T, v *tunnel.Vertex) {
	l := far(t, v, r.show(v))
	client := asking(t, v)
	if err := l.FirstEnd(); peer.Alert(err) != r.alert {
		t.Fatalf("%s: the handshake ends with %v; the vertex must end it with TLS alert %d", r.title, err, r.alert)
	}
	replied(t, client, r.reply, "the target's certificate is refused")
}

func checkHello(t *trial.T, v *tunnel.Vertex) {
	l := far(t, v, nil)
	client := tunnel.Connect(t, v.SOCKS)
	client.Send(tunnel.Greeting + tunnel.Request("Far."+v.Rete.Domain+".RETE."))
	l.Next()
	hello := l.Hellos()[0]
	if hello.Name != v.Host("far") {
		t.Fatalf("the dialler's server name is %q; it must be the target's hostname in lower case, %q", hello.Name, v.Host("far"))
	}
	if !protocolsOffered(hello) {
		t.Fatalf("the dialler offers %v; it must be %v, in this order", hello.Protocols, peer.Both)
	}
}

func checkDialsAs(t *trial.T, v *tunnel.Vertex) {
	l := far(t, v, nil)
	asking(t, v)
	leaf := l.Next().Initiator()
	if len(leaf.URIs) != 1 || leaf.URIs[0].String() != v.Rete.ID("/user/alice") {
		t.Fatalf("a client of alice's port is carried as %v; it must be %s", leaf.URIs, v.Rete.ID("/user/alice"))
	}
}

func checkOneSocket(t *trial.T, v *tunnel.Vertex) {
	l := far(t, v, nil)
	asking(t, v)
	if from := l.Next().RemoteAddr().String(); from != v.Addr {
		t.Fatalf("the vertex dials from %s; it must be its one socket, %s", from, v.Addr)
	}
}

func checkDialEcho(t *trial.T, v *tunnel.Vertex) {
	client, _, stream := carried(t, v)
	client.Send("hello")
	stream.Expect("hello")
	stream.Send("good day")
	client.Expect("good day")
}

func checkDialServerFirst(t *trial.T, v *tunnel.Vertex) {
	client, _, stream := carried(t, v)
	stream.Send("220 ready")
	client.Expect("220 ready")
}

func checkReplyAfterAnswer(t *trial.T, v *tunnel.Vertex) {
	l := far(t, v, nil)
	client := asking(t, v)
	stream := l.Next().Asked()
	client.Expect("\x05\x00")
	_ = client.SetReadDeadline(time.Now().Add(300 * time.Millisecond))
	if n, _ := client.Read(make([]byte, 1)); n > 0 {
		t.Fatalf("the client has its reply before the answer byte was sent")
	}
	_ = client.SetReadDeadline(time.Time{})
	// A reply that was only late knows nothing of the answer.
	stream.Send("\x02")
	if got := client.ReplyAlone(); got != replyDenied {
		t.Fatalf("where the answer byte is 2 the client has reply %d; it must be that of the answer, %d, and not come before it", got, replyDenied)
	}
}

func checkSharedConnection(t *trial.T, v *tunnel.Vertex) {
	l := far(t, v, nil)
	_, conn, _ := carriedBy(t, v, l)
	second := asking(t, v)
	conn.Asked().Send("\x00")
	replied(t, second, replyConnected, "the answer byte is 0")
	if l.Waiting() > 0 {
		t.Fatalf("a second connection was made for the same pair")
	}
}

func checkTargetFIN(t *trial.T, v *tunnel.Vertex) {
	client, _, stream := carried(t, v)
	stream.Send("all")
	stream.Finish()
	client.Expect("all")
	client.ExpectEnd()
	client.Send("and more")
	stream.Expect("and more")
	client.Finish()
	stream.ExpectEnd()
}

func checkClientFIN(t *trial.T, v *tunnel.Vertex) {
	client, _, stream := carried(t, v)
	client.Send("all")
	client.Finish()
	stream.Expect("all")
	stream.ExpectEnd()
	stream.Send("and more")
	client.Expect("and more")
	stream.Finish()
	client.ExpectEnd()
}

func checkTargetReset(t *trial.T, v *tunnel.Vertex) {
	client, _, stream := carried(t, v)
	client.Send("some")
	stream.Expect("some")
	stream.Abort()
	client.ExpectReset("the target's vertex reset the stream, and an abort must never look like a clean end")
}

func checkClientReset(t *trial.T, v *tunnel.Vertex) {
	client, _, stream := carried(t, v)
	client.Abort()
	aborted(t, stream, "after RST of the client")
}

func checkToldOfDraining(t *trial.T, v *tunnel.Vertex) {
	l := far(t, v, nil)
	_, conn, _ := carriedBy(t, v, l)
	conn.SayDraining()
	// Nothing tells us that it was heard, so a few streams may still come.
	const few = 20
	for came := 0; l.Waiting() == 0; came++ {
		if came > few {
			t.Fatalf("after it was told of draining the connection still takes new streams; the vertex must dial another one")
		}
		_ = asking(t, v)
		if stream := conn.NextUnless(func() bool { return l.Waiting() > 0 }); stream != nil {
			stream.Send("\x00")
		}
	}
}

func checkClosesDrained(t *trial.T, v *tunnel.Vertex) {
	client, conn, stream := carried(t, v)
	conn.SayDraining()
	stream.Finish()
	client.ExpectEnd()
	client.Finish()
	stream.ExpectEnd()
	if err := conn.End(); peer.Code(err) < 0 || peer.Code(err) == codePathMTU {
		t.Fatalf("a connection that was told of draining ends with %v once its streams have ended; the dialler must close it with an application code", err)
	}
}

// ended ends a stream in both directions, as one does who has all that was wanted.
func ended(client *tunnel.Conn, stream *peer.Stream) {
	client.Finish()
	stream.ExpectEnd()
	stream.Finish()
	client.ExpectEnd()
}

// pooledFor waits while a connection must stay open.
func pooledFor(t *trial.T, conn *peer.Conn, while time.Duration) {
	began := time.Now()
	t.Await("a connection that has no stream any more must be pooled", func() bool {
		if conn.Ended() {
			t.Fatalf("a connection that has no stream any more is closed after a moment (%v); it must be pooled for a minute", conn.End())
		}
		return time.Since(began) > while
	})
}

func checkStaysPooled(t *trial.T, v *tunnel.Vertex) {
	client, conn, stream := carried(t, v)
	ended(client, stream)
	pooledFor(t, conn, 5*time.Second)
}

func checkKeptAlive(t *trial.T, v *tunnel.Vertex) {
	client, conn, stream := carried(t, v)
	ended(client, stream)
	// What belongs to the stream, and looks for the path's size, is over by then.
	pooledFor(t, conn, 5*time.Second)
	before := conn.ConnectionStats().PacketsReceived
	t.Await("a pooled connection must be kept alive: a packet every 3 s", func() bool {
		if conn.Ended() {
			t.Fatalf("a pooled connection ends with %v; it must be kept alive", conn.End())
		}
		return conn.ConnectionStats().PacketsReceived > before
	})
}

func checkDialStreamLimit(t *trial.T, v *tunnel.Vertex) {
	l := linked(v, peer.ListenForOne(t, v.Rete.Issue("/service/far"), peer.Both...))
	for range 2 {
		carriedBy(t, v, l) // by a connection of its own
	}
}

func checkDialExpiry(t *trial.T, v *tunnel.Vertex) {
	l := far(t, v, nil)
	show := v.Rete.Issue("/service/far", shortLived)
	l.Show(show)
	_, conn, _ := carriedBy(t, v, l)
	closedAtExpiry(t, conn, show.Cert.NotAfter)
}

func checkDialRevoked(t *trial.T, v *tunnel.Vertex) {
	show := v.Rete.Issue("/service/far")
	_, conn, _ := carriedBy(t, v, far(t, v, show))
	v.Payload.Revoked = []string{fingerprintOf(show)}
	swapped(t, v, 2)
	closedSoon(t, conn, codeRevoked, "after the target's certificate was revoked", time.Now())
}

func checkDialNoLongerAllowed(t *trial.T, v *tunnel.Vertex) {
	client, conn, _ := carried(t, v)
	rules := v.Payload.Egress
	rules[len(rules)-1].Allow = []string{v.Rete.ID("/user/bob")}
	swapped(t, v, 2)
	closedSoon(t, conn, codeDenied, "after the pair left egress", time.Now())
	client.ExpectReset("its pair is no longer allowed")
}

// moved has the link of service/far lead to another peer.
func moved(t *trial.T, v *tunnel.Vertex) *peer.Listener {
	elsewhere := peer.Listen(t, v.Rete.Issue("/service/far"), peer.Both...)
	v.Payload.Links[0].Members[0].Via.Addr = elsewhere.Addr
	swapped(t, v, 2)
	return elsewhere
}

func checkLinkMoved(t *trial.T, v *tunnel.Vertex) {
	client, conn, stream := carried(t, v)
	elsewhere := moved(t, v)
	next := asking(t, v)
	if conn.NextUnless(func() bool { return elsewhere.Waiting() > 0 }) != nil {
		t.Fatalf("after its link has moved a new client is carried to where it led before")
	}
	elsewhere.Next().Asked().Send("\x00")
	replied(t, next, replyConnected, "the answer byte is 0")
	client.Send("still here")
	stream.Expect("still here")
}

func checkSuperseded(t *trial.T, v *tunnel.Vertex) {
	client, conn, stream := carried(t, v)
	moved(t, v)
	ended(client, stream)
	if err := conn.End(); peer.Code(err) != codeReplaced {
		t.Fatalf("a connection whose link leads elsewhere ends with %v once its streams have ended; it must be closed with 0x16", err)
	}
}

func checkDialFlor1(t *trial.T, v *tunnel.Vertex) {
	l := far(t, v, nil, peer.Flor1)
	client := asking(t, v)
	conn := l.Next()
	replied(t, client, replyConnected, "the handshake of flor/1 is done")
	client.Send("hello")
	stream := conn.Next()
	stream.Expect("hello")
	stream.Send("good day")
	client.Expect("good day")
}

func checkDialFlor1Once(t *trial.T, v *tunnel.Vertex) {
	l := far(t, v, nil, peer.Flor1)
	for range 2 {
		client := asking(t, v)
		conn := l.Next() // one each
		replied(t, client, replyConnected, "the handshake of flor/1 is done")
		client.Send("hello")
		conn.Next().Expect("hello")
	}
}

func checkDialFlor1Closed(t *trial.T, v *tunnel.Vertex) {
	l := far(t, v, nil, peer.Flor1)
	client := asking(t, v)
	conn := l.Next()
	replied(t, client, replyConnected, "the handshake of flor/1 is done")
	client.Send("hello")
	stream := conn.Next()
	stream.Expect("hello")
	ended(client, stream)
	if err := conn.End(); peer.Code(err) != codeIdle {
		t.Fatalf("a connection of flor/1 ends with %v when its stream has ended; the dialler must close it with 0x15", err)
	}
}

// replyRow is an answer of the target's vertex, and what the client is told.
type replyRow struct {
	name, title string
	reply       byte
	answer      func(*trial.T, *peer.Listener)
}

// answers sends an answer byte.
func answers(b byte) func(*trial.T, *peer.Listener) {
	return func(_ *trial.T, l *peer.Listener) { l.Next().Asked().Send(string([]byte{b})) }
}

// closes closes the connection with an application code before any answer.
func closes(code int) func(*trial.T, *peer.Listener) {
	return func(_ *trial.T, l *peer.Listener) {
		conn := l.Next()
		conn.Next()
		conn.Close(code)
	}
}

// twice does it on one connection, and on the one more that must be dialled.
func twice(f func(*trial.T, *peer.Listener)) func(*trial.T, *peer.Listener) {
	return func(t *trial.T, l *peer.Listener) {
		f(t, l)
		f(t, l)
	}
}

// replyCases are about what a client is told of what the target's vertex
// answers.
func replyCases() []Case {
	rows := []replyRow{
		{"answer-general", "the answer byte is 1", replyGeneral, answers(1)},
		{"answer-denied", "the answer byte is 2", replyDenied, answers(2)},
		{"answer-unreachable", "the answer byte is 3", replyUnreachable, answers(3)},
		{"answer-refused", "the answer byte is 4", replyRefused, answers(4)},
		{"answer-timed-out", "the answer byte is 5", replyUnreachable, answers(5)},
		{"answer-draining", "the answer byte is 6, also after one more dial", replyUnreachable, twice(answers(6))},
		{"answer-unknown", "the answer byte is none of the contract", replyGeneral, answers(9)},
		{"closed-denied", "the connection is closed with 0x10", replyDenied, closes(0x10)},
		{"closed-expired", "the connection is closed with 0x11", replyUnreachable, closes(0x11)},
		{"closed-revoked", "the connection is closed with 0x12", replyDenied, closes(0x12)},
		{"closed-draining", "the connection is closed with 0x13, also after one more dial", replyUnreachable, twice(closes(0x13))},
		{"closed-path-mtu", "the connection is closed with 0x14, also after one more dial", replyUnreachable, twice(closes(0x14))},
		{"closed-idle", "the connection is closed with 0x15, also after one more dial", replyUnreachable, twice(closes(0x15))},
		{"closed-superseded", "the connection is closed with 0x16, also after one more dial", replyUnreachable, twice(closes(0x16))},
		{"closed-shutdown", "the connection is closed with 0x17, also after one more dial", replyUnreachable, twice(closes(0x17))},
		{"closed-limit", "the connection is closed with 0x18", replyGeneral, closes(0x18)},
		{"closed-unknown-code", "the connection is closed with a code that is none of the contract", replyGeneral, closes(0x77)},
		{"stream-reset", "the stream is reset before an answer", replyGeneral, func(_ *trial.T, l *peer.Listener) { l.Next().Asked().Abort() }},
		{"second-dial", "the answer byte is 6 and that of the one more dial is 0", replyConnected, func(t *trial.T, l *peer.Listener) {
			answers(6)(t, l)
			answers(0)(t, l)
		}},
	}
	cases := []Case{
		{"reply/handshake-refused", "the client is told rightly where the target refuses handshakes", "VTX-4 VTX-10", checkHandshakeRefused},
		{"reply/dead-peer", "a target that says nothing has reply 4 after 10 s at most", "VTX-5 VTX-10", checkDeadPeer},
		{"reply/no-answer", "a target that takes the stream and never answers has reply 4 after 10 s at most", "VTX-4 VTX-10", checkNoAnswer},
		{"reply/unknown-name", "a target's vertex that does not serve the name has reply 4", "VTX-4 VTX-10", checkNameUnknownThere},
		{"reply/certificate-refused", "a target's vertex that turns the initiator's certificate down has reply 2", "VTX-3 VTX-4 VTX-10", checkCertificateRefused},
		{"reply/no-common-protocol", "a target without a tunnel protocol in common has reply 1", "VTX-4 VTX-10", checkNoCommonProtocol},
	}
	for _, r := range rows {
		cases = append(cases, Case{"reply/" + r.name, "the client is told rightly where " + r.title, "VTX-4 VTX-6 VTX-10", r.check})
	}
	return cases
}

func (r replyRow) check(t *trial.T, v *tunnel.Vertex) {
	l := far(t, v, nil)
	client := asking(t, v)
	r.answer(t, l)
	replied(t, client, r.reply, r.title)
	if l.Waiting() > 0 {
		t.Fatalf("where %s the vertex dials once more than it must", r.title)
	}
}

func checkHandshakeRefused(t *trial.T, v *tunnel.Vertex) {
	l := far(t, v, nil)
	l.Refuse()
	client := asking(t, v)
	replied(t, client, replyUnreachable, "the target refuses handshakes")
}

func checkDeadPeer(t *trial.T, v *tunnel.Vertex) {
	v.Link("/service/far", tunnel.DeadUDP(t))
	v.Start()
	began := time.Now()
	replied(t, asking(t, v), replyUnreachable, "the target says nothing")
	inTime(t, began)
}

// inTime expects a reply to have come within the time that a client has, and what
// a slow machine needs.
func inTime(t *trial.T, began time.Time) {
	if took := time.Since(began); took > 10*time.Second+soon {
		t.Fatalf("the reply took %v; it must come after 10 s at most", took)
	}
}

func checkNoAnswer(t *trial.T, v *tunnel.Vertex) {
	l := far(t, v, nil)
	began := time.Now()
	client := asking(t, v)
	l.Next().Asked()
	replied(t, client, replyUnreachable, "the target takes the stream and does not answer")
	inTime(t, began)
}

func checkNameUnknownThere(t *trial.T, v *tunnel.Vertex) {
	l := far(t, v, nil)
	l.Show(nil)
	replied(t, asking(t, v), replyUnreachable, "the target's vertex does not serve the name")
}

func checkCertificateRefused(t *trial.T, v *tunnel.Vertex) {
	l := far(t, v, nil)
	l.TurnDown(alertBadCertificate)
	replied(t, asking(t, v), replyDenied, "the target's vertex turns the initiator's certificate down")
}

func checkNoCommonProtocol(t *trial.T, v *tunnel.Vertex) {
	far(t, v, nil, "flor/9")
	replied(t, asking(t, v), replyGeneral, "there is no tunnel protocol in common")
}
