package peer

import (
	"crypto/tls"
	"errors"
	"net"
	"time"

	"github.com/quic-go/quic-go"

	"github.com/florete/flor/conformance/internal/rete"
	"github.com/florete/flor/conformance/internal/trial"
)

// The tunnel protocols (VTX-6).
const (
	Flor2 = "flor/2"
	Flor1 = "flor/1"
)

// Both are the protocols that a vertex offers.
var Both = []string{Flor2, Flor1}

// config is that of a peer that keeps nothing alive and lets every stream in.
func config() *quic.Config {
	return &quic.Config{HandshakeIdleTimeout: 10 * time.Second, MaxIdleTimeout: 30 * time.Second, MaxIncomingStreams: 1 << 10, MaxIncomingUniStreams: 8}
}

// Socket is a UDP socket from which a peer dials.
type Socket struct {
	t         *trial.T
	transport *quic.Transport
}

// Open opens a socket on loopback.
func Open(t *trial.T) *Socket {
	udp, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	t.Check(err, "open a UDP socket")
	s := &Socket{t, &quic.Transport{Conn: udp}}
	t.Cleanup(func() {
		_ = s.transport.Close()
		_ = udp.Close()
	})
	return s
}

// Offer is what an initiator's vertex shows.
type Offer struct {
	Identity  *rete.Identity // nil: no certificate
	Name      string         // SNI; empty: none
	Protocols []string       // ALPN
	Tickets   tls.ClientSessionCache
}

func (o Offer) tls() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13, ServerName: o.Name, NextProtos: o.Protocols,
		InsecureSkipVerify:   true, // cases look at the certificate themselves
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return certificate(o.Identity), nil },
		ClientSessionCache:   o.Tickets,
	}
}

func certificate(i *rete.Identity) *tls.Certificate {
	if i == nil {
		return &tls.Certificate{}
	}
	return &tls.Certificate{Certificate: [][]byte{i.Cert.Raw}, PrivateKey: i.Key}
}

// Dial makes a connection. Its error may be that of the handshake; a refusal of
// the initiator's certificate only shows at the connection's end.
func (s *Socket) Dial(addr string, o Offer) (*Conn, error) {
	to, err := net.ResolveUDPAddr("udp", addr)
	s.t.Check(err, "read an address")
	conn, err := s.transport.Dial(s.t.Context(), to, o.tls(), config())
	if err != nil {
		return nil, err
	}
	return &Conn{conn, s.t}, nil
}

// errTaken is returned where an initiator is served that must not be.
var errTaken = errors.New("the initiator was taken, and its stream answered")

// Refusal dials, asks, and returns what ended the connection, at the handshake or
// after it.
func (s *Socket) Refusal(addr string, o Offer) error {
	conn, err := s.Dial(addr, o)
	if err != nil {
		return err
	}
	stream, err := conn.OpenStream()
	if err == nil {
		_, _ = stream.Write([]byte{0x01})
		deadline(s.t, stream.SetReadDeadline)
		if n, _ := stream.Read(make([]byte, 1)); n > 0 {
			return errTaken
		}
	}
	return conn.End()
}

// Alert is the TLS alert with which the other side ended a handshake, -1 where it
// was something else.
func Alert(err error) int {
	var transport *quic.TransportError
	if errors.As(err, &transport) && transport.Remote && transport.ErrorCode.IsCryptoError() {
		return int(transport.ErrorCode) & 0xff
	}
	return -1
}

// Refused tells whether the other side took no handshake: CONNECTION_REFUSED.
func Refused(err error) bool {
	var transport *quic.TransportError
	return errors.As(err, &transport) && transport.Remote && transport.ErrorCode == quic.ConnectionRefused
}

// Code is the application code with which the other side closed a connection, -1
// where it was something else.
func Code(err error) int {
	var application *quic.ApplicationError
	if errors.As(err, &application) && application.Remote {
		return int(application.ErrorCode)
	}
	return -1
}

// Reset tells whether the other side answered with a stateless reset.
func Reset(err error) bool {
	var reset *quic.StatelessResetError
	return errors.As(err, &reset)
}
