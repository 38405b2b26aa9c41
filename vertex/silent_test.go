package vertex

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/spiffe/go-spiffe/v2/spiffeid"
)

// leeway is what a time-out may take longer on a slow machine.
const leeway = 5 * time.Second

func checkPatience(t *testing.T, begun time.Time, want time.Duration) {
	t.Helper()
	if took := time.Since(begun); took < want-time.Second || took > want+leeway {
		t.Errorf("took %v, want about %v", took, want)
	}
}

// VTX-10: a client that does not ask is cut, and counted as such.
func TestSilentClientIsCut(t *testing.T) {
	t.Parallel()
	p := &plan{socks: []spiffeid.ID{user("alice")}}
	n := alone(t, p, Options{})
	begun := time.Now()
	var clients []net.Conn
	for _, words := range [][]byte{nil, {5, 1, 0, 5, 1}} { // at once, and in the middle of a request
		c, err := net.Dial("tcp", p.ports[user("alice")])
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(patience))
		_, _ = c.Write(words)
		clients = append(clients, c)
	}
	for _, c := range clients {
		if _, err := io.Copy(io.Discard, c); err != nil {
			t.Errorf("the end: %v, want a clean one", err)
		}
	}
	checkPatience(t, begun, requestWithin)
	if got := n.counter("connect_failures_total", "client-silent", ""); got != 2 {
		t.Errorf("counted %v silent clients, want 2", got)
	}
}

// VTX-6: a stream on which nobody asks is reset, and takes no place for longer.
func TestStreamWithoutPreambleIsReset(t *testing.T) {
	t.Parallel()
	d := newDuo(t, backend(t, echo))
	conn, err := d.connect(t, func(*tls.Config) {})
	if err != nil {
		t.Fatal(err)
	}
	stream, err := conn.OpenStream()
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	checkStream(t, conn, []byte("\x01hi"), []byte("\x00hi")) // a later stream opens the earlier one at the peer
	_ = stream.SetReadDeadline(time.Now().Add(patience))
	_, err = io.ReadAll(stream)
	if reset, ok := errors.AsType[*quic.StreamError](err); !ok || !reset.Remote {
		t.Errorf("the end: %v, want a reset", err)
	}
	checkPatience(t, begun, requestWithin)
}

// VTX-10: a target's vertex that takes the stream and answers nothing.
func TestPeerThatDoesNotAnswerIsToldAsUnreachable(t *testing.T) {
	t.Parallel()
	alice, web := user("alice"), service("web")
	peer := newAcceptor(t, authority.Issue(web), protocol, 1, func(s *quic.Stream) { _, _ = io.Copy(io.Discard, s) })
	p := &plan{
		socks: []spiffeid.ID{alice}, links: map[spiffeid.ID]string{web: peer.listener.Addr().String()},
		egress: map[spiffeid.ID][]spiffeid.ID{web: {alice}},
	}
	n := raise(t, p.payload(t), newWallet(authority.Issue(alice)), Options{})
	begun := time.Now()
	if got := replyTo(t, p.ports[alice], host(t, web)); got != 4 {
		t.Errorf("reply %d, want 4", got)
	}
	checkPatience(t, begun, connectWithin)
	if got := n.counter("connect_failures_total", "no-answer", web.String()); got != 1 {
		t.Errorf("counted %v requests without answer, want 1", got)
	}
}

// VTX-6, VTX-10: a service whose machine takes no connection, and says nothing.
func TestServiceThatTakesNoConnectionIsToldAsTimedOut(t *testing.T) {
	t.Parallel()
	d := newDuo(t, deafService(t))
	begun := time.Now()
	if got := replyTo(t, d.nearPlan.ports[d.alice], host(t, d.web)); got != 4 {
		t.Errorf("reply %d, want 4", got)
	}
	checkPatience(t, begun, upstreamWithin)
	for _, n := range []*node{d.near, d.far} {
		if got := n.counter("connect_failures_total", "upstream-timeout", d.web.String()); got != 1 {
			t.Errorf("counted %v, want 1", got)
		}
	}
}

// deafService is the address of a TCP port whose queue is full.
func deafService(t *testing.T) string {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(fd) })
	if err := errors.Join(syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}), syscall.Listen(fd, 0)); err != nil {
		t.Fatal(err)
	}
	name, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	at := (&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: name.(*syscall.SockaddrInet4).Port}).String()
	for range 16 {
		c, err := net.DialTimeout("tcp", at, 500*time.Millisecond)
		if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
			return at
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
	}
	t.Skip("this kernel takes every connection to a full queue")
	return ""
}
