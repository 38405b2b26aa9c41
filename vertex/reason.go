package vertex

import (
	"fmt"

	"github.com/spiffe/go-spiffe/v2/spiffeid"

	"github.com/florete/flor/vertex/internal/socks"
)

// Reason says in one word why a handshake failed, a request was refused, or a
// connection ended. The list is closed; each reason has one code (see [Codes])
// and one SOCKS5 reply (VTX-4, VTX-7, VTX-10).
type Reason uint8

// Reasons of handshakes: what is wrong with a certificate or a name (VTX-2,
// VTX-3), and how a handshake can end otherwise.
const (
	WrongAuthority Reason = iota + 1
	OutsideValidity
	WrongIdentity
	WrongUsage
	CertificateRevoked
	UnknownName
	CertificateRefused
	ProtocolMismatch
	HandshakeTimeout
	HandshakeRefused
	HandshakeFailed
	NoIdentity
)

// Reasons of the gate and of streams (VTX-4, VTX-6).
const (
	DeniedEgress Reason = iota + 32
	DeniedIngress
	UnknownTarget
	NoLink
	UpstreamFailed
	UpstreamUnreachable
	UpstreamRefused
	UpstreamTimeout
	TargetDraining
	NoAnswer
	BadAnswer
	BadPreamble
	TooMany
	NoTransport
	VertexStopping
)

// Reasons of SOCKS5 clients (VTX-10).
const (
	MalformedMessage Reason = iota + 64
	NoMethod
	CommandUnsupported
	AddressUnsupported
	ClientSilent
	ClientLeft
)

// Reasons why a connection ended (VTX-7): which side ended it, and on which
// layer. Those from Denied to OverLimit are what this vertex decides; those
// from PeerDenied to PeerOverLimit are the same as told by the peer's
// application code.
const (
	Completed Reason = iota + 96
	InitiatorReset
	TargetReset
	PeerReset
	InitiatorFailed
	TargetFailed
	PeerLost
	PeerRestarted
	TransportFailed
	PeerTransportFailed
	ClosedLocally

	Denied
	Expired
	Revoked
	Draining
	PathMTU
	Idle
	Superseded
	Shutdown
	OverLimit

	PeerDenied
	PeerExpired
	PeerRevoked
	PeerDraining
	PeerPathMTU
	PeerIdle
	PeerSuperseded
	PeerShutdown
	PeerOverLimit
	PeerUnknownCode
)

type reasonRow struct {
	code, name, meaning string
	reply               byte // what a SOCKS5 client is told when it waits for an answer
	again               bool // one more dial may help (VTX-5, VTX-6)
}

// reasons is the one table that maps them all (VTX-4).
var reasons = map[Reason]reasonRow{
	WrongAuthority:     {"FL4001", "wrong-authority", "the certificate does not chain to the CA of this trust domain", socks.HostUnreachable, false},
	OutsideValidity:    {"FL4002", "outside-validity", "the certificate is expired or not yet valid", socks.HostUnreachable, false},
	WrongIdentity:      {"FL4003", "wrong-identity", "the certificate does not have exactly one URI SAN, or not the expected SPIFFE ID", socks.HostUnreachable, false},
	WrongUsage:         {"FL4004", "wrong-usage", "the certificate's key or usages do not fit its side of a handshake", socks.HostUnreachable, false},
	CertificateRevoked: {"FL4005", "certificate-revoked", "the certificate is on the revocation list", socks.NotAllowed, false},
	UnknownName:        {"FL4006", "unknown-name", "the peer's vertex does not serve the name it was asked for", socks.HostUnreachable, false},
	CertificateRefused: {"FL4007", "certificate-refused", "the peer refused this side's certificate", socks.NotAllowed, false},
	ProtocolMismatch:   {"FL4008", "protocol-mismatch", "the two sides have no tunnel protocol or QUIC version in common", socks.GeneralFailure, false},
	HandshakeTimeout:   {"FL4009", "handshake-timeout", "the peer did not complete a handshake in time", socks.HostUnreachable, true},
	HandshakeRefused:   {"FL4010", "handshake-refused", "the peer takes no new handshakes now", socks.HostUnreachable, true},
	HandshakeFailed:    {"FL4011", "handshake-failed", "the handshake failed for a reason outside this list", socks.GeneralFailure, false},
	NoIdentity:         {"FL4012", "no-identity", "this node has no usable certificate for the principal", socks.GeneralFailure, false},

	DeniedEgress:        {"FL4101", "denied-egress", "this vertex's egress list does not allow the initiator to the target", socks.NotAllowed, false},
	DeniedIngress:       {"FL4102", "denied-ingress", "the target's ingress list does not allow the initiator", socks.NotAllowed, false},
	UnknownTarget:       {"FL4103", "unknown-target", "no principal that this vertex knows has that name", socks.HostUnreachable, false},
	NoLink:              {"FL4104", "no-link", "this vertex has no link to the target", socks.HostUnreachable, false},
	UpstreamFailed:      {"FL4105", "upstream-failed", "the target's vertex could not connect to the service", socks.GeneralFailure, false},
	UpstreamUnreachable: {"FL4106", "upstream-unreachable", "the service's address is unreachable from the target's vertex", socks.HostUnreachable, false},
	UpstreamRefused:     {"FL4107", "upstream-refused", "nothing listens at the service's address", socks.ConnectionRefused, false},
	UpstreamTimeout:     {"FL4108", "upstream-timeout", "the service did not accept the connection in time", socks.HostUnreachable, false},
	TargetDraining:      {"FL4109", "target-draining", "the target's vertex is stopping", socks.HostUnreachable, true},
	NoAnswer:            {"FL4110", "no-answer", "the target's vertex did not answer in time", socks.HostUnreachable, false},
	BadAnswer:           {"FL4111", "bad-answer", "the target's vertex broke the tunnel protocol", socks.GeneralFailure, false},
	BadPreamble:         {"FL4112", "bad-preamble", "the initiator's vertex broke the tunnel protocol", socks.GeneralFailure, false},
	TooMany:             {"FL4113", "too-many", "a limit on connections or streams is reached", socks.GeneralFailure, false},
	NoTransport:         {"FL4114", "no-transport", "this vertex has no UDP socket now", socks.GeneralFailure, false},
	VertexStopping:      {"FL4115", "vertex-stopping", "this vertex is stopping", socks.GeneralFailure, false},

	MalformedMessage:   {"FL4201", "malformed-message", "the client does not speak SOCKS5 as RFC 1928 has it", socks.GeneralFailure, false},
	NoMethod:           {"FL4202", "no-method", "the client offers no method without authentication", socks.GeneralFailure, false},
	CommandUnsupported: {"FL4203", "command-unsupported", "the client asks for another command than CONNECT", socks.CommandNotSupported, false},
	AddressUnsupported: {"FL4204", "address-unsupported", "the client asks for an address and not for a name", socks.AddressNotSupported, false},
	ClientSilent:       {"FL4205", "client-silent", "the client did not complete its request in time", socks.GeneralFailure, false},
	ClientLeft:         {"FL4206", "client-left", "the client left before it completed its request", socks.GeneralFailure, false},

	Completed:           {"FL4300", "completed", "both directions ended cleanly", socks.Succeeded, false},
	InitiatorReset:      {"FL4301", "initiator-reset", "the initiator's program aborted its TCP connection", socks.GeneralFailure, false},
	TargetReset:         {"FL4302", "target-reset", "the target's service aborted its TCP connection", socks.GeneralFailure, false},
	PeerReset:           {"FL4303", "peer-reset", "the far side aborted the stream", socks.GeneralFailure, false},
	InitiatorFailed:     {"FL4304", "initiator-failed", "the TCP connection to the initiator's program broke", socks.GeneralFailure, false},
	TargetFailed:        {"FL4305", "target-failed", "the TCP connection to the target's service broke", socks.GeneralFailure, false},
	PeerLost:            {"FL4306", "peer-lost", "nothing more was heard from the peer's vertex", socks.HostUnreachable, true},
	PeerRestarted:       {"FL4307", "peer-restarted", "the peer's vertex does not know the connection any more: it was restarted, or gave it up", socks.HostUnreachable, true},
	TransportFailed:     {"FL4308", "transport-failed", "the QUIC connection broke on this side", socks.HostUnreachable, true},
	PeerTransportFailed: {"FL4309", "peer-transport-failed", "the QUIC connection broke on the peer's side", socks.HostUnreachable, true},
	ClosedLocally:       {"FL4310", "closed-locally", "the program that embeds the vertex closed the connection", socks.GeneralFailure, false},

	Denied:     {"FL4320", "denied", "the pair is not, or no longer, allowed here", socks.NotAllowed, false},
	Expired:    {"FL4321", "expired", "one of the two certificates expired", socks.HostUnreachable, false},
	Revoked:    {"FL4322", "revoked", "one of the two certificates was revoked", socks.NotAllowed, false},
	Draining:   {"FL4323", "draining", "this vertex is stopping and the connection carried nothing", socks.HostUnreachable, true},
	PathMTU:    {"FL4324", "path-mtu", "the path no longer carries packets of this size", socks.HostUnreachable, true},
	Idle:       {"FL4325", "idle", "the connection carried no stream for a while", socks.HostUnreachable, true},
	Superseded: {"FL4326", "superseded", "a newer connection, link or certificate replaced it", socks.HostUnreachable, true},
	Shutdown:   {"FL4327", "shutdown", "this vertex stopped and its grace was over", socks.HostUnreachable, true},
	OverLimit:  {"FL4328", "over-limit", "the peer has too many connections to this vertex", socks.GeneralFailure, false},

	PeerDenied:      {"FL4340", "peer-denied", "the pair is not, or no longer, allowed at the peer", socks.NotAllowed, false},
	PeerExpired:     {"FL4341", "peer-expired", "the peer found one of the two certificates expired", socks.HostUnreachable, false},
	PeerRevoked:     {"FL4342", "peer-revoked", "the peer found one of the two certificates revoked", socks.NotAllowed, false},
	PeerDraining:    {"FL4343", "peer-draining", "the peer's vertex is stopping", socks.HostUnreachable, true},
	PeerPathMTU:     {"FL4344", "peer-path-mtu", "the peer found that the path no longer carries packets of this size", socks.HostUnreachable, true},
	PeerIdle:        {"FL4345", "peer-idle", "the peer closed a connection that carried nothing", socks.HostUnreachable, true},
	PeerSuperseded:  {"FL4346", "peer-superseded", "the peer replaced the connection", socks.HostUnreachable, true},
	PeerShutdown:    {"FL4347", "peer-shutdown", "the peer's vertex stopped and its grace was over", socks.HostUnreachable, true},
	PeerOverLimit:   {"FL4348", "peer-over-limit", "this vertex has too many connections to the peer", socks.GeneralFailure, false},
	PeerUnknownCode: {"FL4349", "peer-unknown-code", "the peer closed the connection with a code outside this list", socks.GeneralFailure, false},
}

// Code is the reason's stable code, such as "FL4102".
func (r Reason) Code() string { return reasons[r].code }

// String is the reason in kebab case, such as "denied-ingress": the value of
// log fields and of counters' labels.
func (r Reason) String() string { return reasons[r].name }

// Meaning is the reason in a sentence without capital and full stop.
func (r Reason) Meaning() string { return reasons[r].meaning }

// Reply is the SOCKS5 reply that a client gets for the reason (VTX-10).
func (r Reason) Reply() byte { return reasons[r].reply }

// Again tells whether one more dial may help (VTX-5, VTX-6).
func (r Reason) Again() bool { return reasons[r].again }

// Error is a request that did not lead to a connection, or a handshake that
// failed. Match it with errors.As and look at its Reason.
type Error struct {
	Reason   Reason
	From, To spiffeid.ID // initiator and target, as far as known
	Err      error       // what lies below, or nil
}

// Error prints code, reason, the pair as far as it is known, and words.
func (e *Error) Error() string {
	text := fmt.Sprintf("%s %s: %s%s", e.Reason.Code(), e.Reason, e.who(), e.Reason.Meaning())
	if e.Err == nil {
		return text
	}
	return text + ": " + e.Err.Error()
}

// who names those ends that are known.
func (e *Error) who() string {
	switch {
	case !e.From.IsZero() && !e.To.IsZero():
		return fmt.Sprintf("from %s to %s: ", e.From, e.To)
	case !e.From.IsZero():
		return fmt.Sprintf("from %s: ", e.From)
	case !e.To.IsZero():
		return fmt.Sprintf("to %s: ", e.To)
	}
	return ""
}

// Code is the code of the reason.
func (e *Error) Code() string { return e.Reason.Code() }

func (e *Error) Unwrap() error { return e.Err }
