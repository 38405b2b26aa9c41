package vertex

import (
	"context"
	"crypto/tls"
	"errors"
	"os"
	"syscall"

	"github.com/quic-go/quic-go"
)

// TLS alerts (RFC 8446 §6) that this package sends or tells apart (VTX-4).
const (
	alertBadCertificate         tls.AlertError = 42
	alertUnsupportedCertificate tls.AlertError = 43
	alertCertificateRevoked     tls.AlertError = 44
	alertCertificateExpired     tls.AlertError = 45
	alertCertificateUnknown     tls.AlertError = 46
	alertUnknownCA              tls.AlertError = 48
	alertAccessDenied           tls.AlertError = 49
	alertProtocolVersion        tls.AlertError = 70
	alertUnrecognizedName       tls.AlertError = 112
	alertCertificateRequired    tls.AlertError = 116
	alertNoApplicationProtocol  tls.AlertError = 120
)

// alerts is what a peer is told of its own certificate.
var alerts = map[Reason]tls.AlertError{
	WrongAuthority:     alertUnknownCA,
	OutsideValidity:    alertCertificateExpired,
	WrongIdentity:      alertBadCertificate,
	WrongUsage:         alertUnsupportedCertificate,
	CertificateRevoked: alertCertificateRevoked,
}

const alertBase quic.TransportErrorCode = 0x100

func alertReason(alert tls.AlertError) Reason {
	switch alert {
	case alertUnrecognizedName:
		return UnknownName
	case alertNoApplicationProtocol, alertProtocolVersion:
		return ProtocolMismatch
	case alertBadCertificate, alertUnsupportedCertificate, alertCertificateRevoked, alertCertificateExpired,
		alertCertificateUnknown, alertUnknownCA, alertAccessDenied, alertCertificateRequired:
		return CertificateRefused
	}
	return HandshakeFailed
}

// quicReason says what an error of a QUIC connection or stream stands for.
func quicReason(err error) Reason {
	if own, ok := errors.AsType[*Error](err); ok {
		return own.Reason
	}
	if app, ok := errors.AsType[*quic.ApplicationError](err); ok {
		return closeReason(app)
	}
	if transport, ok := errors.AsType[*quic.TransportError](err); ok {
		return transportReason(transport)
	}
	return silentReason(err)
}

func transportReason(e *quic.TransportError) Reason {
	switch {
	case e.ErrorCode.IsCryptoError() && e.Remote:
		return alertReason(tls.AlertError(e.ErrorCode - alertBase))
	case e.ErrorCode.IsCryptoError():
		return localAlertReason(tls.AlertError(e.ErrorCode - alertBase))
	case e.ErrorCode == quic.ConnectionRefused:
		return HandshakeRefused
	case e.Remote:
		return PeerTransportFailed
	}
	return TransportFailed
}

func localAlertReason(alert tls.AlertError) Reason {
	if alert == alertNoApplicationProtocol || alert == alertProtocolVersion {
		return ProtocolMismatch
	}
	return HandshakeFailed
}

// silentReason is for what ended without a word of the peer.
func silentReason(err error) Reason {
	var (
		stream     *quic.StreamError
		handshake  *quic.HandshakeTimeoutError
		idle       *quic.IdleTimeoutError
		reset      *quic.StatelessResetError
		versionErr *quic.VersionNegotiationError
	)
	switch {
	case errors.As(err, &stream):
		return streamReason(stream)
	case errors.As(err, &handshake):
		return HandshakeTimeout
	case errors.As(err, &idle):
		return PeerLost
	case errors.As(err, &reset):
		return PeerRestarted
	case errors.As(err, &versionErr):
		return ProtocolMismatch
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return NoAnswer
	}
	return TransportFailed
}

func streamReason(e *quic.StreamError) Reason {
	if e.Remote {
		return PeerReset
	}
	return ClosedLocally
}

// isReset tells whether a TCP connection was aborted by its other end.
func isReset(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}
