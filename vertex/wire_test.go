package vertex

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"regexp"
	"testing"

	"github.com/quic-go/quic-go"
)

// VTX-4: answer bytes map to SOCKS replies so.
func TestAnswerBytesHaveTheirReplies(t *testing.T) {
	t.Parallel()
	for answer, reply := range map[byte]byte{1: 1, 2: 2, 3: 4, 4: 5, 5: 4, 6: 4} {
		reason, err := readAnswer(bytes.NewReader([]byte{answer}))
		if err != nil || reason.Reply() != reply {
			t.Errorf("answer %d is %s with reply %d (%v), want reply %d", answer, reason, reason.Reply(), err, reply)
		}
		if back := answerOf(reason); back != answer {
			t.Errorf("%s is answered with %d, want %d", reason, back, answer)
		}
	}
	if reason, _ := readAnswer(bytes.NewReader([]byte{0})); reason != Completed {
		t.Errorf("answer 0 is %s", reason)
	}
	if reason, _ := readAnswer(bytes.NewReader([]byte{7})); reason != BadAnswer {
		t.Errorf("answer 7 is %s", reason)
	}
}

// VTX-4: the application codes, both ways.
func TestCloseCodesHaveTheirReasons(t *testing.T) {
	t.Parallel()
	for code, want := range map[quic.ApplicationErrorCode][2]Reason{
		0x10: {Denied, PeerDenied}, 0x11: {Expired, PeerExpired}, 0x12: {Revoked, PeerRevoked},
		0x13: {Draining, PeerDraining}, 0x14: {PathMTU, PeerPathMTU}, 0x15: {Idle, PeerIdle},
		0x16: {Superseded, PeerSuperseded}, 0x17: {Shutdown, PeerShutdown}, 0x18: {OverLimit, PeerOverLimit},
	} {
		if got := closeCode(want[0]); got != code {
			t.Errorf("%s closes with %#x, want %#x", want[0], got, code)
		}
		for i, remote := range []bool{false, true} {
			if got := closeReason(&quic.ApplicationError{ErrorCode: code, Remote: remote}); got != want[i] {
				t.Errorf("%#x (remote %v) is %s, want %s", code, remote, got, want[i])
			}
		}
	}
	for _, code := range []quic.ApplicationErrorCode{0, 0x0F, 0x19} {
		if got := closeReason(&quic.ApplicationError{ErrorCode: code, Remote: true}); got != PeerUnknownCode {
			t.Errorf("%#x is %s, want %s", code, got, PeerUnknownCode)
		}
	}
}

// VTX-7: the list is closed, and each reason has one code and one word.
func TestEveryReasonHasOneCodeAndOneWord(t *testing.T) {
	t.Parallel()
	code, word := regexp.MustCompile(`^FL4[0-3]\d\d$`), regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`)
	codes, words := map[string]Reason{}, map[string]Reason{}
	for r, row := range reasons {
		if !code.MatchString(row.code) || !word.MatchString(row.name) || row.meaning == "" {
			t.Errorf("reason %d has code %q, name %q, meaning %q", r, row.code, row.name, row.meaning)
		}
		if other, taken := codes[row.code]; taken {
			t.Errorf("%s and %s share code %s", r, other, row.code)
		}
		if other, taken := words[row.name]; taken {
			t.Errorf("%d and %d share the name %s", r, other, row.name)
		}
		codes[row.code], words[row.name] = r, r
	}
	if got := len(Codes()); got != len(reasons)+4 {
		t.Errorf("Codes lists %d codes for %d reasons and 4 payload faults", got, len(reasons))
	}
}

// VTX-4: what goes wrong before the gate is told from TLS alerts.
func TestAlertsHaveTheirReasons(t *testing.T) {
	t.Parallel()
	for alert, want := range map[tls.AlertError]Reason{
		42: CertificateRefused, 44: CertificateRefused, 45: CertificateRefused, 48: CertificateRefused, 116: CertificateRefused,
		112: UnknownName, 120: ProtocolMismatch, 80: HandshakeFailed,
	} {
		err := &quic.TransportError{Remote: true, ErrorCode: 0x100 + quic.TransportErrorCode(alert)}
		if got := quicReason(err); got != want {
			t.Errorf("alert %d is %s, want %s", alert, got, want)
		}
	}
}

// VTX-6
func FuzzPreamble(f *testing.F) {
	f.Add([]byte{1})
	f.Add([]byte{1, 2, 3})
	f.Add([]byte{0})
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, in []byte) {
		r := bytes.NewReader(in)
		err := readPreamble(r)
		switch {
		case len(in) == 0:
			if !errors.Is(err, io.EOF) {
				t.Errorf("an empty stream: %v", err)
			}
		case (err == nil) != (in[0] == 1):
			t.Errorf("a stream that starts with %#x: %v", in[0], err)
		case r.Len() != len(in)-1:
			t.Errorf("%d bytes are left of %d", r.Len(), len(in))
		}
	})
}
