package socks

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func reader(b []byte) *bufio.Reader { return bufio.NewReaderSize(bytes.NewReader(b), MaxMessage) }

func connect(host string) []byte {
	return append(append([]byte{5, 1, 0, 3, byte(len(host))}, host...), 0x1F, 0x90)
}

// VTX-10
func TestReadGreeting(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		in    []byte
		fault Fault
		err   error
	}{
		{name: "no authentication alone is accepted", in: []byte{5, 1, 0}},
		{name: "no authentication among others is accepted", in: []byte{5, 3, 2, 1, 0}},
		{name: "only authentication has no method", in: []byte{5, 2, 1, 2}, fault: NoMethod},
		{name: "an empty offer has no method", in: []byte{5, 0}, fault: NoMethod},
		{name: "SOCKS4 is malformed", in: []byte{4, 1, 0}, fault: Malformed},
		{name: "nothing at all is an EOF", in: nil, err: io.EOF},
		{name: "a cut offer is an unexpected EOF", in: []byte{5, 3, 1}, err: io.ErrUnexpectedEOF},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			checkFault(t, ReadGreeting(reader(tt.in)), tt.fault, NoReply, tt.err)
		})
	}
}

// VTX-10
func TestReadRequest(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		in    []byte
		want  Request
		fault Fault
		reply byte
		err   error
	}{
		{name: "a name is accepted as it was spelled", in: connect("Web.Demo.rete."), want: Request{"Web.Demo.rete.", 8080}},
		{name: "a name of 255 bytes is accepted", in: connect(strings.Repeat("a", 255)), want: Request{strings.Repeat("a", 255), 8080}},
		{name: "an IPv4 target is refused with reply 8", in: []byte{5, 1, 0, 1, 127, 0, 0, 1, 0, 80}, fault: Address, reply: 8},
		{name: "an IPv6 target is refused with reply 8", in: append([]byte{5, 1, 0, 4}, make([]byte, 18)...), fault: Address, reply: 8},
		{name: "an unknown address type is refused with reply 8", in: []byte{5, 1, 0, 9}, fault: Address, reply: 8},
		{name: "BIND is refused with reply 7", in: append([]byte{5, 2}, connect("a")[2:]...), fault: Command, reply: 7},
		{name: "BIND to an address is refused as BIND", in: []byte{5, 2, 0, 1, 1, 2, 3, 4, 0, 80}, fault: Command, reply: 7},
		{name: "UDP ASSOCIATE is refused with reply 7", in: append([]byte{5, 3}, connect("a")[2:]...), fault: Command, reply: 7},
		{name: "an empty name is malformed", in: connect(""), fault: Malformed, reply: 1},
		{name: "a wrong version is malformed", in: append([]byte{4}, connect("a")[1:]...), fault: Malformed, reply: 1},
		{name: "a reserved byte that is set is malformed", in: []byte{5, 1, 1, 3, 1, 'a', 0, 80}, fault: Malformed, reply: 1},
		{name: "a cut name is an unexpected EOF", in: connect("abc")[:6], err: io.ErrUnexpectedEOF},
		{name: "a cut port is an unexpected EOF", in: connect("abc")[:9], err: io.ErrUnexpectedEOF},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := ReadRequest(reader(tt.in))
			checkFault(t, err, tt.fault, tt.reply, tt.err)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("request (-want +got):\n%s", diff)
			}
		})
	}
}

func checkFault(t *testing.T, err error, fault Fault, reply byte, plain error) {
	t.Helper()
	refusal, refused := errors.AsType[*Refusal](err)
	switch {
	case refused != (fault != 0):
		t.Errorf("error is %v, want fault %d", err, fault)
	case refused && (refusal.Fault != fault || refusal.Reply != reply):
		t.Errorf("fault %d with reply %d, want %d with %d", refusal.Fault, refusal.Reply, fault, reply)
	case !refused && !errors.Is(err, plain):
		t.Errorf("error is %v, want %v", err, plain)
	}
}

// VTX-10: greeting, request and data in one segment.
func TestDataBehindTheRequestStaysInTheReader(t *testing.T) {
	t.Parallel()
	r := reader(append(append([]byte{5, 1, 0}, connect("web.demo.rete")...), "GET /"...))
	if err := ReadGreeting(r); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadRequest(r); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(r)
	if err != nil || string(rest) != "GET /" {
		t.Errorf("left %q (%v), want %q", rest, err, "GET /")
	}
}

func TestAnswersAreSpelledAsTheRFCHasThem(t *testing.T) {
	t.Parallel()
	for want, got := range map[string][]byte{
		"\x05\x00": Method(true),
		"\x05\xff": Method(false),
		"\x05\x02\x00\x01\x00\x00\x00\x00\x00\x00": Reply(NotAllowed),
	} {
		if string(got) != want {
			t.Errorf("answer % x, want % x", got, want)
		}
	}
}

func FuzzMessages(f *testing.F) {
	f.Add(append([]byte{5, 1, 0}, connect("web.demo.rete")...))
	f.Add([]byte{5, 1, 0, 5, 1, 0, 1, 127, 0, 0, 1, 0, 80})
	f.Fuzz(func(t *testing.T, in []byte) {
		r := reader(in)
		if ReadGreeting(r) != nil {
			return
		}
		req, err := ReadRequest(r)
		if err == nil && (req.Host == "" || len(req.Host) > 255) {
			t.Errorf("accepted a name of %d bytes", len(req.Host))
		}
		if refusal, ok := errors.AsType[*Refusal](err); ok && refusal.Reply == Succeeded {
			t.Errorf("refused %v with the reply for success", err)
		}
	})
}
