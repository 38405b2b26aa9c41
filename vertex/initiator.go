package vertex

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/netip"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/spiffe/go-spiffe/v2/spiffeid"

	"github.com/florete/flor/envelope/schema"
)

// opened is a way to a target: its leg, and for a target on this very vertex
// the bound that the flow itself must keep.
type opened struct {
	leg   leg
	local *bound
}

// open connects a pair, as far as the lists allow it. Every error is an *Error.
func (v *Vertex) open(ctx context.Context, p pair) (opened, error) {
	ctx, cancel := context.WithTimeout(ctx, connectWithin)
	defer cancel()
	way, err := v.connect(ctx, p)
	if err == nil {
		return way, nil
	}
	refusal := asError(err, p)
	v.meter.refused(p, refusal.Reason)
	v.log.Debug("request refused", "initiator", p.initiator, "target", p.target,
		"reason", refusal.Reason, "code", refusal.Code(), "error", refusal.Err)
	return opened{}, refusal
}

func (v *Vertex) connect(ctx context.Context, p pair) (opened, error) {
	t := v.tables.Load()
	if reason := t.refuse(p); reason != 0 {
		if reason == DeniedIngress {
			v.meter.denied(p, "ingress")
		}
		return opened{}, &Error{Reason: reason}
	}
	if v.draining.Load() {
		return opened{}, &Error{Reason: VertexStopping}
	}
	if _, local := t.upstream[p.target]; local {
		return v.openLocal(ctx, p)
	}
	leg, err := v.openRemote(ctx, p)
	return opened{leg: leg}, err
}

// asError makes an *Error that names the pair.
func asError(err error, p pair) *Error {
	known, ok := errors.AsType[*Error](err)
	if !ok {
		known = &Error{Reason: quicReason(err), Err: err}
	}
	return &Error{Reason: known.Reason, From: p.initiator, To: p.target, Err: known.Err}
}

// openLocal connects to a target of this vertex, through the same ingress
// gate and under the same bounds as one that comes from outside (VTX-11).
func (v *Vertex) openLocal(ctx context.Context, p pair) (opened, error) {
	from, to := v.keys.material(p.initiator), v.keys.material(p.target)
	if from == nil || to == nil {
		return opened{}, &Error{Reason: NoIdentity}
	}
	limits := bound{pair: p, side: inProcess, notAfter: earlier(from.leaf, to.leaf), prints: [2]string{from.print, to.print}}
	if reason := v.tables.Load().verdict(limits, v.now()); reason != 0 {
		return opened{}, &Error{Reason: reason}
	}
	leg, err := v.connectUpstream(ctx, p)
	return opened{leg, &limits}, err
}

func earlier(a, b *x509.Certificate) time.Time {
	if a.NotAfter.Before(b.NotAfter) {
		return a.NotAfter
	}
	return b.NotAfter
}

// openRemote opens a stream to the target's vertex, and tries once more where
// that may help: the peer was restarting, or a pooled connection was dead.
func (v *Vertex) openRemote(ctx context.Context, p pair) (leg, error) {
	l, err := v.openPooled(ctx, p)
	if err == nil {
		return l, nil
	}
	if !asError(err, p).Reason.Again() {
		return nil, err
	}
	if err := pause(ctx, v.pauseFor(err)); err != nil {
		return nil, &Error{Reason: NoAnswer, Err: err}
	}
	if l, err = v.openFresh(ctx, p); err != nil {
		return nil, err
	}
	return l, nil
}

// pauseFor waits only for a peer that is stopping: it needs a moment to be
// back. One whose connection broke may be there already.
func (v *Vertex) pauseFor(err error) time.Duration {
	switch asError(err, pair{}).Reason {
	case TargetDraining, HandshakeRefused, PeerShutdown, PeerDraining:
		return againAfter
	}
	return 0
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (v *Vertex) openPooled(ctx context.Context, p pair) (*streamLeg, error) {
	pool := v.pool(p)
	s := pool.pick(time.Time{})
	if s == nil {
		return v.openAfter(ctx, pool, time.Time{})
	}
	h := newHedge(
		func() time.Duration { return s.suspectIn(v.now()) },
		func(ctx context.Context) (*streamLeg, error) { return v.openOn(ctx, pool, s) },
		func(ctx context.Context) (*streamLeg, error) { return v.openAfter(ctx, pool, time.Now()) },
	)
	return h.race(ctx, v.work.Go)
}

func (v *Vertex) openFresh(ctx context.Context, p pair) (*streamLeg, error) {
	return v.openAfter(ctx, v.pool(p), time.Now())
}

// openAfter uses a connection made after notBefore, dialling it if there is none.
func (v *Vertex) openAfter(ctx context.Context, pool *pool, notBefore time.Time) (*streamLeg, error) {
	s, err := pool.acquire(ctx, notBefore)
	if err != nil {
		return nil, err
	}
	return v.openOn(ctx, pool, s)
}

// openOn opens a stream on a connection where one is reserved, and waits for
// the acceptor's answer: in QUIC a dial succeeds before the acceptor has
// judged the client's certificate, so nothing else counts (VTX-4).
func (v *Vertex) openOn(ctx context.Context, pool *pool, s *session) (*streamLeg, error) {
	stream, err := s.conn.OpenStream()
	if limit := (*quic.StreamLimitReachedError)(nil); errors.As(err, &limit) {
		s.saturate()
		return v.openAfter(ctx, pool, time.Time{})
	}
	if err != nil {
		s.release()
		_ = s.blame(err)
		return nil, err
	}
	leg := &streamLeg{Stream: stream, session: s}
	if s.raw {
		return leg, nil
	}
	s.nudge(v.now())
	again := time.AfterFunc(2*quiet, func() { s.nudge(v.now()) }) // packets may have come just before the peer died
	defer again.Stop()
	if err := ask(ctx, stream); err != nil {
		_ = s.blame(err) // keeps what it tells of the path
		leg.Abort()
		_ = leg.Close()
		return nil, err
	}
	return leg, nil
}

// ask sends the preamble and waits for the answer byte (VTX-6).
func ask(ctx context.Context, stream *quic.Stream) error {
	stop := context.AfterFunc(ctx, func() { abortStream(stream) })
	defer stop()
	if _, err := stream.Write([]byte{preamble}); err != nil {
		return askError(ctx, err)
	}
	reason, err := readAnswer(stream)
	switch {
	case err != nil:
		return askError(ctx, err)
	case reason != Completed:
		return &Error{Reason: reason}
	case !stop():
		return askError(ctx, ctx.Err())
	}
	return nil
}

func askError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return &Error{Reason: NoAnswer, Err: ctx.Err()}
	}
	return err
}

// pool returns the connections of a pair.
func (v *Vertex) pool(p pair) *pool {
	v.poolsMu.Lock()
	defer v.poolsMu.Unlock()
	have, ok := v.pools[p]
	if !ok {
		have = &pool{
			dial:     func() (*session, error) { return v.dial(p) },
			run:      v.work.Go,
			perConn:  v.limits.StreamsPerConnection,
			maxConns: v.limits.ConnectionsPerPair,
		}
		v.pools[p] = have
	}
	return have
}

// dial makes one QUIC connection for a pair and starts what looks after it.
func (v *Vertex) dial(p pair) (*session, error) {
	e, from := v.endpoint.get(), v.keys.material(p.initiator)
	addr, linked := v.tables.Load().peers[p.target]
	switch {
	case e == nil:
		return nil, &Error{Reason: NoTransport}
	case from == nil:
		return nil, &Error{Reason: NoIdentity}
	case !linked:
		return nil, &Error{Reason: NoLink}
	}
	for _, s := range v.live.sessions() {
		e.learn(s) // whoever was reset with a connection may be here before its end was looked at
	}
	ctx, cancel := context.WithTimeout(v.life, connectWithin)
	defer cancel()
	conn, err := v.handshake(ctx, e, p.target, addr, from)
	if err != nil {
		reason := quicReason(err)
		v.meter.handshakeFailed(reason)
		v.edges.failed(p.target, addr, reason, err)
		return nil, &Error{Reason: reason, Err: err}
	}
	v.edges.answered(p.target)
	return v.startDialled(conn, dialledBound(p, addr, from, conn))
}

func dialledBound(p pair, addr netip.AddrPort, from *material, conn *quic.Conn) bound {
	peer := conn.ConnectionState().TLS.PeerCertificates[0]
	return bound{
		pair: p, side: dialling, peer: addr,
		notAfter: earlier(from.leaf, peer),
		prints:   [2]string{from.print, fingerprint(peer)},
	}
}

func (v *Vertex) handshake(ctx context.Context, e *endpoint, target spiffeid.ID, addr netip.AddrPort, from *material) (*quic.Conn, error) {
	host, err := schema.Hostname(target)
	if err != nil {
		return nil, &Error{Reason: UnknownTarget, Err: err}
	}
	to := net.UDPAddrFromAddrPort(addr)
	return e.transport.Dial(ctx, to, v.dialTLS(host, target, from), e.configFor(dialling, to))
}

// dialTLS checks the target by its SPIFFE ID alone: the server name only
// tells the acceptor which certificate to show (VTX-2, VTX-3).
func (v *Vertex) dialTLS(host string, target spiffeid.ID, from *material) *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS13,
		NextProtos:         protocols(),
		ServerName:         host,
		Certificates:       []tls.Certificate{from.certificate},
		InsecureSkipVerify: true, // VerifyConnection does it, by SPIFFE ID
		VerifyConnection: func(state tls.ConnectionState) error {
			_, err := check{
				bundle: v.keys.current.Load().bundle, usage: x509.ExtKeyUsageServerAuth,
				want: target, revoked: v.tables.Load().revoked, now: v.now(),
			}.verify(state.PeerCertificates)
			return err
		},
	}
}

// startDialled registers a new connection before anything is asked of it, so
// that no table that comes into force now can miss it.
func (v *Vertex) startDialled(conn *quic.Conn, limits bound) (*session, error) {
	s := newSession(conn, limits, time.Now(), v.now())
	if err := v.start(s); err != nil {
		return nil, err
	}
	return s, nil
}
