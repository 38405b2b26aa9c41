package vertex

import (
	"bytes"
	"errors"
	"io"
	"net"
	"syscall"
	"testing"

	"github.com/spiffe/go-spiffe/v2/spiffeid"

	"github.com/florete/flor/conformance/lab/loopback"
)

func send(t *testing.T, c *net.TCPConn, text string) {
	t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
}

func expect(t *testing.T, c io.Reader, text string) {
	t.Helper()
	got := make([]byte, len(text))
	if _, err := io.ReadFull(c, got); err != nil || string(got) != text {
		t.Fatalf("read %q (%v), want %q", got, err, text)
	}
}

func expectEOF(t *testing.T, c io.Reader) {
	t.Helper()
	if rest, err := io.ReadAll(c); err != nil || len(rest) > 0 {
		t.Fatalf("read %q (%v), want the end", rest, err)
	}
}

func expectReset(t *testing.T, c io.Reader) {
	t.Helper()
	if _, err := io.ReadAll(c); !errors.Is(err, syscall.ECONNRESET) {
		t.Fatalf("read ended with %v, want a reset", err)
	}
}

// VTX-1, VTX-6, VTX-10
func TestAllowedPairIsCarried(t *testing.T) {
	t.Parallel()
	d := newDuo(t, backend(t, echo))
	c := d.dial(t)
	send(t, c, "hello")
	expect(t, c, "hello")
	_ = c.CloseWrite()
	expectEOF(t, c)
	d.near.await("the connection to be counted", func() bool {
		return d.near.counter("connections_closed_total", "completed", d.alice.String(), d.web.String()) == 1 &&
			d.far.counter("connections_closed_total", "completed", d.alice.String(), d.web.String()) == 1
	})
	if got := d.far.counter("bytes_total", "up", d.alice.String(), d.web.String()); got != 5 {
		t.Errorf("counted %v bytes up, want 5", got)
	}
}

// VTX-10: data in the same segment as the request.
func TestEarlyDataOfASOCKSClientArrives(t *testing.T) {
	t.Parallel()
	d := newDuo(t, backend(t, func(c *net.TCPConn) {
		_, _ = io.CopyN(c, c, 5)
	}))
	got := rawSOCKS(t, d.nearPlan.ports[d.alice], append(connectTo(host(t, d.web)), "early"...)...)
	if want := "\x05\x00\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00early"; string(got) != want {
		t.Errorf("answer %q, want %q", got, want)
	}
}

// VTX-6
func TestServerMaySpeakFirst(t *testing.T) {
	t.Parallel()
	d := newDuo(t, backend(t, func(c *net.TCPConn) {
		_, _ = io.WriteString(c, "220 ready")
		_, _ = io.Copy(io.Discard, c)
	}))
	expect(t, d.dial(t), "220 ready")
}

// VTX-7
func TestHalfCloseLeavesTheOtherDirection(t *testing.T) {
	t.Parallel()
	upstream, conns := parked(t)
	d := newDuo(t, upstream)
	t.Run("the client ends first", func(t *testing.T) {
		c := d.dial(t)
		s := <-conns
		send(t, c, "question")
		_ = c.CloseWrite()
		expect(t, s, "question")
		expectEOF(t, s)
		send(t, s, "answer")
		expect(t, c, "answer")
		_ = s.CloseWrite()
		expectEOF(t, c)
	})
	t.Run("the server ends first", func(t *testing.T) {
		c := d.dial(t)
		s := <-conns
		_ = s.CloseWrite()
		expectEOF(t, c)
		send(t, c, "afterwards")
		expect(t, s, "afterwards")
		_ = c.CloseWrite()
		expectEOF(t, s)
	})
}

// VTX-7: an abort never looks like a clean end.
func TestAbortBecomesReset(t *testing.T) {
	t.Parallel()
	upstream, conns := parked(t)
	d := newDuo(t, upstream)
	t.Run("of the client", func(t *testing.T) {
		c := d.dial(t)
		s := <-conns
		send(t, c, "x")
		expect(t, s, "x")
		_ = c.SetLinger(0)
		_ = c.Close()
		expectReset(t, s)
		d.near.await("both ends to be counted", func() bool {
			return d.near.counter("connections_closed_total", "initiator-reset", d.alice.String(), d.web.String()) == 1 &&
				d.far.counter("connections_closed_total", "peer-reset", d.alice.String(), d.web.String()) == 1
		})
	})
	t.Run("of the server", func(t *testing.T) {
		c := d.dial(t)
		s := <-conns
		send(t, c, "x")
		expect(t, s, "x")
		_ = s.SetLinger(0)
		_ = s.Close()
		expectReset(t, c)
		d.near.await("both ends to be counted", func() bool {
			return d.near.counter("connections_closed_total", "peer-reset", d.alice.String(), d.web.String()) == 1 &&
				d.far.counter("connections_closed_total", "target-reset", d.alice.String(), d.web.String()) == 1
		})
	})
}

// VTX-4, VTX-6, VTX-10: the one table of refusals.
func TestRefusalsHaveTheirReply(t *testing.T) {
	t.Parallel()
	d := newDuo(t, loopback.Address(t), func(d *duo) {
		d.nearPlan.egress = map[spiffeid.ID][]spiffeid.ID{
			d.web:              {d.alice},
			service("gated"):   {d.alice},
			service("private"): {user("bob")},
			service("absent"):  {d.alice},
		}
		d.nearPlan.socks = append(d.nearPlan.socks, user("bob"))
	}, withMoreTargets("gated", "private", "absent"))
	port := d.nearPlan.ports[d.alice]
	for _, tt := range []struct {
		name, host string
		reply      byte
	}{
		{"a service that does not listen: refused", "web.demo.rete", 5},
		{"the same in another case and with a dot", "WEB.Demo.RETE.", 5},
		{"denied by the ingress list there", "gated.demo.rete", 2},
		{"denied by the egress list here", "private.demo.rete", 2},
		{"a name of this trust domain that nobody knows", "nobody.demo.rete", 4},
		{"a name of another trust domain", "web.other.rete", 4},
		{"a name that is none of ours", "example.com", 4},
		{"an address spelled as a name", "127.0.0.1", 4},
		{"a target that its vertex does not serve", "absent.demo.rete", 4},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := replyTo(t, port, tt.host); got != tt.reply {
				t.Errorf("reply %d for %s, want %d", got, tt.host, tt.reply)
			}
		})
	}
}

// VTX-10: a client that sends data ahead still reads its refusal, which a
// reset would overtake.
func TestRefusalReachesAClientThatSendsAhead(t *testing.T) {
	t.Parallel()
	d := newDuo(t, loopback.Address(t))
	got := rawSOCKS(t, d.nearPlan.ports[d.alice], append(connectTo("nobody.demo.rete"), make([]byte, 20_000)...)...)
	if len(got) != 12 || got[3] != 4 {
		t.Errorf("answer % x, want reply 4", got)
	}
}

// withMoreTargets links alice's vertex to more names at the other vertex,
// which serves all of them but "absent".
func withMoreTargets(names ...string) duoOption {
	return func(d *duo) {
		for _, name := range names {
			d.more = append(d.more, service(name))
			if name != "absent" {
				d.farPlan.tcp[service(name)] = "127.0.0.1:1"
			}
		}
	}
}

// VTX-10: what is malformed gets the reply the RFC has for it.
func TestMessagesThatAreNoRequestAreTurnedDown(t *testing.T) {
	t.Parallel()
	d := newDuo(t, loopback.Address(t))
	port := d.nearPlan.ports[d.alice]
	reply := func(code byte) []byte { return []byte{5, 0, 5, code, 0, 1, 0, 0, 0, 0, 0, 0} }
	for _, tt := range []struct {
		name       string
		send, want []byte
	}{
		{"an IPv4 target", []byte{5, 1, 0, 5, 1, 0, 1, 127, 0, 0, 1, 0, 80}, reply(8)},
		{"an IPv6 target", append([]byte{5, 1, 0, 5, 1, 0, 4}, make([]byte, 18)...), reply(8)},
		{"BIND", append([]byte{5, 1, 0, 5, 2}, connectTo("web.demo.rete")[5:]...), reply(7)},
		{"UDP ASSOCIATE", append([]byte{5, 1, 0, 5, 3}, connectTo("web.demo.rete")[5:]...), reply(7)},
		{"only methods with authentication", []byte{5, 1, 2}, []byte{5, 0xFF}},
		{"SOCKS4", []byte{4, 1, 0, 80, 127, 0, 0, 1, 0}, nil},
		{"a request of another version", []byte{5, 1, 0, 4, 1, 0, 3, 1, 'a', 0, 80}, reply(1)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := rawSOCKS(t, port, tt.send...); !bytes.Equal(got, tt.want) {
				t.Errorf("answer % x, want % x", got, tt.want)
			}
		})
	}
}
