package vertex

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/spiffe/go-spiffe/v2/spiffeid"

	"github.com/florete/flor/envelope/schema"
)

// initiatorKinds are the principals that may open flows (VTX-3).
var initiatorKinds = []schema.Kind{schema.KindUser, schema.KindService, schema.KindNode}

// acceptTLS shows the certificate of whoever the server name stands for, and
// none, which ends the handshake with "unrecognized name", when it stands for
// nobody here (VTX-2). A handshake waits for its turn before the exchange of
// keys, and again before the peer's certificate is judged (VTX-14).
func (v *Vertex) acceptTLS() *tls.Config {
	base := &tls.Config{
		MinVersion:             tls.VersionTLS13,
		NextProtos:             protocols(),
		SessionTicketsDisabled: true,
		ClientAuth:             tls.RequireAnyClientCert,
		VerifyConnection:       v.verifyInitiator,
	}
	config := base.Clone()
	config.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		chosen := base.Clone()
		end := v.turns.lend(hello.Context())
		if m := v.materialFor(hello.ServerName); m != nil {
			chosen.Certificates = []tls.Certificate{lastStep(m.certificate, end)}
		} else {
			v.meter.handshakeFailed(UnknownName)
		}
		return chosen, nil
	}
	return config
}

func (v *Vertex) materialFor(host string) *material {
	id, ok := v.tables.Load().served[host]
	if !ok {
		return nil
	}
	return v.keys.material(id)
}

func (v *Vertex) verifyInitiator(state tls.ConnectionState) error {
	defer v.turns.take(v.life)()
	_, err := check{
		bundle: v.keys.current.Load().bundle, usage: x509.ExtKeyUsageClientAuth,
		kinds: initiatorKinds, revoked: v.tables.Load().revoked, now: v.now(),
	}.verify(state.PeerCertificates)
	if err != nil {
		reason := quicReason(err)
		v.meter.handshakeFailed(reason)
		v.log.Debug("initiator refused", "name", state.ServerName, "reason", reason, "code", reason.Code(), "error", err)
	}
	return err
}

// acceptLoop serves connections until the endpoint ends.
func (v *Vertex) acceptLoop(e *endpoint) {
	for {
		conn, err := e.accept(v.life)
		if err != nil {
			return
		}
		v.work.Go(func() { v.serve(conn) })
	}
}

// serve looks after one accepted connection until it ends. The connection is
// registered before the gate looks at it, so that a table which comes into
// force meanwhile finds it.
func (v *Vertex) serve(conn *quic.Conn) {
	limits, ok := v.acceptedBound(conn.ConnectionState().TLS)
	if !ok {
		_ = conn.CloseWithError(closeCode(Denied), Denied.String())
		return
	}
	s := newSession(conn, limits, time.Now(), v.now())
	if err := v.start(s); err != nil {
		return
	}
	v.acceptStreams(s)
}

// acceptedBound reads who the two sides are from a handshake that succeeded.
func (v *Vertex) acceptedBound(state tls.ConnectionState) (bound, bool) {
	target, served := v.tables.Load().served[state.ServerName]
	if !served {
		return bound{}, false
	}
	own := v.keys.material(target)
	peer := state.PeerCertificates[0]
	initiator, err := spiffeid.FromURI(peer.URIs[0])
	if own == nil || err != nil {
		return bound{}, false
	}
	return bound{
		pair: pair{initiator, target}, side: accepting,
		notAfter: earlier(own.leaf, peer),
		prints:   [2]string{own.print, fingerprint(peer)},
	}, true
}

// admit is the gate (VTX-4) and the limits (VTX-14).
func (v *Vertex) admit(s *session) Reason {
	if reason := v.tables.Load().verdict(s.limits, v.now()); reason != 0 {
		if reason == Denied && s.limits.side == accepting {
			v.meter.denied(s.limits.pair, "ingress")
		}
		return reason
	}
	if s.limits.side != accepting {
		return 0
	}
	all, ofPair := v.live.accepted(s.limits.pair)
	if all > v.limits.Connections || ofPair > v.pairLimit(s) {
		return OverLimit
	}
	return 0
}

// pairLimit is how many connections a pair may have. A peer of flor/1 uses one
// for each stream, so there they are limited as streams are.
func (v *Vertex) pairLimit(s *session) int {
	if s.raw {
		return v.limits.StreamsPerInitiator
	}
	return v.limits.ConnectionsPerPair
}

func (v *Vertex) acceptStreams(s *session) {
	for {
		stream, err := s.conn.AcceptStream(v.life)
		if err != nil {
			return
		}
		if !v.streams.take(s.limits.initiator) {
			v.meter.refused(s.limits.pair, TooMany)
			refuseStream(stream, s.raw, TooMany)
			continue
		}
		s.count()
		v.work.Go(func() {
			defer v.streams.give(s.limits.initiator)
			v.answer(s, &streamLeg{Stream: stream, session: s})
		})
	}
}

// answer connects one stream to the target and carries it (VTX-6).
func (v *Vertex) answer(s *session, stream *streamLeg) {
	if err := s.asked(stream); err != nil {
		v.meter.refused(s.limits.pair, BadPreamble)
		stream.Abort()
		_ = stream.Close()
		return
	}
	far, reason := v.answerWith(stream.Context(), s.limits.pair)
	if reason != Completed {
		v.meter.refused(s.limits.pair, reason)
		refuseStream(stream.Stream, s.raw, reason)
		_ = stream.Close()
		return
	}
	if err := s.confirm(stream); err != nil {
		far.Abort()
		_ = stream.Close()
		return
	}
	v.carry(s.limits.pair, stream, far, nil)
}

// asked waits for the preamble, which flor/1 does not have.
func (s *session) asked(stream *streamLeg) error {
	if s.raw {
		return nil
	}
	_ = stream.SetReadDeadline(time.Now().Add(requestWithin))
	defer func() { _ = stream.SetReadDeadline(time.Time{}) }()
	return readPreamble(stream)
}

// confirm answers "connected", which flor/1 does not do.
func (s *session) confirm(stream *streamLeg) error {
	if s.raw {
		return nil
	}
	_, err := stream.Write([]byte{answerConnected})
	return err
}

func (v *Vertex) answerWith(ctx context.Context, p pair) (leg, Reason) {
	if v.draining.Load() {
		return nil, TargetDraining
	}
	far, err := v.connectUpstream(ctx, p)
	if err != nil {
		return nil, asError(err, p).Reason
	}
	return far, Completed
}

// refuseStream answers and ends a stream. FIN makes sure that the answer
// arrives; what the initiator may have sent is of no use. In flor/1 nothing but
// a reset tells that a stream is refused.
func refuseStream(stream *quic.Stream, raw bool, r Reason) {
	if raw {
		abortStream(stream)
		return
	}
	_, _ = stream.Write([]byte{answerOf(r)})
	_ = stream.Close()
	stream.CancelRead(aborted)
}

// connectUpstream connects to the service of a local target.
func (v *Vertex) connectUpstream(ctx context.Context, p pair) (leg, error) {
	u := v.tables.Load().upstream[p.target]
	if u.embedded {
		return v.connectEmbedded(p)
	}
	dialer := net.Dialer{Timeout: upstreamWithin}
	conn, err := dialer.DialContext(ctx, "tcp", u.addr)
	if err != nil {
		return nil, &Error{Reason: upstreamReason(err), Err: err}
	}
	return targetLeg(conn.(*net.TCPConn)), nil
}
