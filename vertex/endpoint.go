package vertex

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"

	"github.com/quic-go/quic-go"
)

// endpoint is the vertex's one UDP socket, with which it dials and accepts (VTX-1).
type endpoint struct {
	udp       *net.UDPConn
	transport *quic.Transport
	listener  *quic.Listener
	joined    bool // the kernel hands packets over joined (GRO)
	limits    Limits
	flight    *handshakes
	narrow    *narrowPaths
}

// hooks is what the endpoint asks of the vertex for an incoming handshake.
type hooks struct {
	refuse func() bool // draining: no new handshakes
	tls    *tls.Config
}

var errRefused = errors.New("no handshake is taken now")

// openEndpoint binds the socket. An empty address means an ephemeral port on
// [::], or on 0.0.0.0 where IPv6 is off: the net package does just that.
func openEndpoint(address string, key *quic.StatelessResetKey, limits Limits, h hooks) (*endpoint, error) {
	local, err := net.ResolveUDPAddr("udp", address)
	if err != nil {
		return nil, fmt.Errorf("the UDP adapter's address: %w", err)
	}
	udp, err := net.ListenUDP("udp", local)
	if err != nil {
		return nil, err
	}
	e := &endpoint{udp: udp, limits: limits, flight: newHandshakes(limits), narrow: newNarrowPaths()}
	conn, joined := offload(udp)
	e.joined = joined
	e.transport = &quic.Transport{
		Conn:                conn,
		StatelessResetKey:   key,
		VerifySourceAddress: e.flight.crowded,
		ConnContext:         e.admit(h.refuse),
	}
	config := e.config(accepting)
	config.GetConfigForClient = func(client *quic.ClientInfo) (*quic.Config, error) {
		return e.configFor(accepting, client.RemoteAddr), nil
	}
	if e.listener, err = e.transport.Listen(h.tls, config); err != nil {
		_ = udp.Close()
		return nil, fmt.Errorf("listening for QUIC on %s: %w", udp.LocalAddr(), err)
	}
	return e, nil
}

// admit is the hook that sees each handshake first (VTX-14, VTX-15).
func (e *endpoint) admit(refuse func() bool) func(context.Context, *quic.ClientInfo) (context.Context, error) {
	return func(ctx context.Context, client *quic.ClientInfo) (context.Context, error) {
		if refuse() {
			return nil, errRefused
		}
		leave, ok := e.flight.enter(client.RemoteAddr)
		if !ok {
			return nil, errRefused
		}
		context.AfterFunc(ctx, leave)
		return context.WithValue(ctx, flightKey{}, leave), nil
	}
}

type flightKey struct{}

// accept returns the next connection whose handshake is complete.
func (e *endpoint) accept(ctx context.Context) (*quic.Conn, error) {
	conn, err := e.listener.Accept(ctx)
	if err != nil {
		return nil, err
	}
	if leave, ok := conn.Context().Value(flightKey{}).(func()); ok {
		leave()
	}
	return conn, nil
}

// config is the QUIC configuration of one side (VTX-5, VTX-5a). Only the
// dialler opens streams, and only it keeps a connection alive.
func (e *endpoint) config(s side) *quic.Config {
	c := &quic.Config{
		HandshakeIdleTimeout:           handshakeIdle,
		MaxIdleTimeout:                 idleTimeout,
		InitialStreamReceiveWindow:     streamWindow,
		MaxStreamReceiveWindow:         streamWindow,
		InitialConnectionReceiveWindow: uint64(e.limits.StreamsPerConnection) * streamWindow,
		MaxConnectionReceiveWindow:     uint64(e.limits.StreamsPerConnection) * streamWindow,
		MaxIncomingStreams:             int64(e.limits.StreamsPerConnection),
		MaxIncomingUniStreams:          1,
	}
	if s == dialling {
		c.MaxIncomingStreams = -1
		c.KeepAlivePeriod = keepAlive
	}
	return c
}

// close ends the transport. Connections must have been closed with a code
// before, since this tells their peers nothing.
func (e *endpoint) close() error {
	return errors.Join(e.transport.Close(), e.udp.Close())
}

// endpointSlot holds the endpoint once its port could be bound.
type endpointSlot struct {
	mu    sync.Mutex
	value *endpoint
	ready chan struct{}
}

func newEndpointSlot() *endpointSlot { return &endpointSlot{ready: make(chan struct{})} }

func (s *endpointSlot) set(e *endpoint) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.value = e
	close(s.ready)
}

func (s *endpointSlot) get() *endpoint {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.value
}
