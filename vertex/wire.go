package vertex

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"syscall"

	"github.com/quic-go/quic-go"
)

// The tunnel protocols (VTX-6). rawProtocol has neither preamble nor answer nor
// control streams; it is there for peers that speak nothing else.
const (
	protocol    = "flor/2"
	rawProtocol = "flor/1"
)

// protocols is what either side offers, the one it prefers first (VTX-1).
func protocols() []string { return []string{protocol, rawProtocol} }

// preamble is what an initiator sends first on a stream of flor/2.
const preamble byte = 0x01

// What the acceptor answers, one byte, before raw bytes follow (VTX-6).
const (
	answerConnected byte = iota
	answerGeneral
	answerDenied
	answerUnreachable
	answerRefused
	answerTimedOut
	answerDraining
)

// What the control streams carry, one each way (VTX-15). The first byte is
// controlOpen; where it comes again it means nothing.
const (
	controlOpen     byte = 0x00
	controlDraining byte = 0x01
)

// nudgeSize bytes of controlOpen make a packet that a stateless reset answers.
const nudgeSize = 32

// aborted is the code of RESET_STREAM and STOP_SENDING for an abort (VTX-7).
const aborted quic.StreamErrorCode = 1

// unwanted is the code of STOP_SENDING for a stream that was closed before all
// had been read, which does not take back what was sent on it.
const unwanted quic.StreamErrorCode = 0

// firstCloseCode is the application error of Denied; the codes follow the
// order of the reasons from Denied to OverLimit (VTX-4).
const firstCloseCode quic.ApplicationErrorCode = 0x10

func closeCode(r Reason) quic.ApplicationErrorCode {
	return firstCloseCode + quic.ApplicationErrorCode(r-Denied)
}

func closeReason(e *quic.ApplicationError) Reason {
	switch {
	case e.ErrorCode < firstCloseCode || e.ErrorCode > closeCode(OverLimit):
		return PeerUnknownCode
	case e.Remote:
		return PeerDenied + Reason(e.ErrorCode-firstCloseCode)
	}
	return Denied + Reason(e.ErrorCode-firstCloseCode)
}

var answers = map[byte]Reason{
	answerGeneral:     UpstreamFailed,
	answerDenied:      DeniedIngress,
	answerUnreachable: UpstreamUnreachable,
	answerRefused:     UpstreamRefused,
	answerTimedOut:    UpstreamTimeout,
	answerDraining:    TargetDraining,
}

// readAnswer reads the acceptor's answer; Completed stands for "connected".
func readAnswer(r io.Reader) (Reason, error) {
	var b [1]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return 0, err
	}
	if b[0] == answerConnected {
		return Completed, nil
	}
	if reason, ok := answers[b[0]]; ok {
		return reason, nil
	}
	return BadAnswer, nil
}

var errPreamble = errors.New("the stream does not start with 0x01")

func readPreamble(r io.Reader) error {
	var b [1]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return err
	}
	if b[0] != preamble {
		return errPreamble
	}
	return nil
}

// answerOf tells an initiator why its target could not be connected.
func answerOf(r Reason) byte {
	for b, reason := range answers {
		if reason == r {
			return b
		}
	}
	return answerGeneral
}

// upstreamReason says why a service could not be connected.
func upstreamReason(err error) Reason {
	var timeout net.Error
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return UpstreamRefused
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return UpstreamUnreachable
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded),
		errors.As(err, &timeout) && timeout.Timeout():
		return UpstreamTimeout
	}
	return UpstreamFailed
}
