package vertex

import (
	"crypto"
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/spiffe/go-spiffe/v2/spiffeid"
)

// alone is one vertex with alice and web on it.
func alone(t *testing.T, p *plan, opts Options) *node {
	t.Helper()
	ids := newWallet()
	for _, id := range []spiffeid.ID{user("alice"), user("bob"), service("web")} {
		ids.put(authority.Issue(id))
	}
	return raise(t, p.payload(t), ids, opts)
}

func lists(p *plan, ingress, egress []spiffeid.ID) {
	p.ingress = map[spiffeid.ID][]spiffeid.ID{service("web"): ingress}
	p.egress = map[spiffeid.ID][]spiffeid.ID{service("web"): egress}
}

// VTX-11: in process, through the same ingress gate.
func TestTargetOnTheSameVertexPassesTheSameGate(t *testing.T) {
	t.Parallel()
	alice, bob := user("alice"), user("bob")
	p := &plan{socks: []spiffeid.ID{alice, bob}, tcp: map[spiffeid.ID]string{service("web"): backend(t, echo)}}
	lists(p, []spiffeid.ID{alice}, []spiffeid.ID{alice, bob})
	n := alone(t, p, Options{})
	c, err := viaSOCKS(t, p.ports[alice], "web.demo.rete:80")
	if err != nil {
		t.Fatal(err)
	}
	send(t, c, "near")
	expect(t, c, "near")
	if got := replyTo(t, p.ports[bob], "web.demo.rete"); got != 2 {
		t.Errorf("reply %d to one that ingress does not list, want 2", got)
	}
	if got := n.counter("acl_denials_total", "ingress", bob.String()); got != 1 {
		t.Errorf("counted %v denials, want 1", got)
	}
	if got := len(n.live.sessions()); got != 0 {
		t.Errorf("%d QUIC connections for a local target", got)
	}
	t.Run("and is cut by a new list", func(t *testing.T) {
		next := *p
		lists(&next, []spiffeid.ID{bob}, []spiffeid.ID{alice, bob})
		if err := n.Apply(next.payload(t)); err != nil {
			t.Fatal(err)
		}
		expectReset(t, c)
	})
}

// VTX-19
func TestForwardConnectsToItsOneTarget(t *testing.T) {
	t.Parallel()
	alice := user("alice")
	d := newDuo(t, backend(t, echo), func(d *duo) {
		d.nearPlan.socks = nil
		d.nearPlan.forward = map[spiffeid.ID]spiffeid.ID{alice: d.web}
	})
	dial := func() (net.Conn, error) { return net.Dial("tcp", d.nearPlan.ports[alice]) }
	first, err := dial()
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	_ = first.SetDeadline(time.Now().Add(patience))
	c := first.(*net.TCPConn)
	send(t, c, "forward")
	expect(t, c, "forward")
	_ = c.CloseWrite()
	expectEOF(t, c)
	next := *d.farPlan
	next.ingress = map[spiffeid.ID][]spiffeid.ID{d.web: {user("bob")}}
	if err := d.far.Apply(next.payload(t)); err != nil {
		t.Fatal(err)
	}
	refused, err := dial()
	if err == nil {
		defer refused.Close()
		_ = refused.SetDeadline(time.Now().Add(patience))
		_, err = io.ReadAll(refused)
	}
	if !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("a client of a target that is denied: %v, want a reset", err)
	}
}

// VTX-17: Dial and Listen, on two vertices and on one.
func TestEmbeddedProgramsTalkWithoutTCP(t *testing.T) {
	t.Parallel()
	t.Run("across", func(t *testing.T) {
		t.Parallel()
		d := newDuo(t, "", func(d *duo) { d.farPlan.tcp, d.farPlan.serve = map[spiffeid.ID]string{}, []spiffeid.ID{d.web} })
		checkEmbedded(t, d.near.Vertex, d.far.Vertex)
		for _, n := range []*node{d.near, d.far} {
			up, down := n.counter("bytes_total", "up", d.alice.String(), d.web.String()), n.counter("bytes_total", "down", d.alice.String(), d.web.String())
			if up != 8 || down != 6 {
				t.Errorf("counted %v bytes up and %v down, want 8 and 6", up, down)
			}
		}
	})
	t.Run("on one vertex", func(t *testing.T) {
		t.Parallel()
		p := &plan{socks: []spiffeid.ID{user("alice")}, serve: []spiffeid.ID{service("web")}}
		lists(p, []spiffeid.ID{user("alice")}, []spiffeid.ID{user("alice")})
		n := alone(t, p, Options{})
		checkEmbedded(t, n.Vertex, n.Vertex)
	})
}

func checkEmbedded(t *testing.T, near, far *Vertex) {
	alice, web := user("alice"), service("web")
	if _, err := near.Dial(t.Context(), alice, web); !isReason(err, UpstreamRefused) {
		t.Errorf("Dial while nobody listens: %v, want %s", err, UpstreamRefused)
	}
	l, err := far.Listen(web)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	a, b := connectEmbedded(t, near, l)
	if a.Peer() != web || b.Peer() != alice {
		t.Errorf("peers are %s and %s", a.Peer(), b.Peer())
	}
	checkHalfClose(t, a, b)
	a, b = connectEmbedded(t, near, l)
	a.Abort()
	if _, err := io.ReadAll(b); err == nil {
		t.Error("an abort looks like a clean end")
	}
	_ = b.Close()
	_ = l.Close()
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Accept after Close: %v", err)
	}
	if l.offer(nil) {
		t.Error("a listener that is closed takes a connection that nobody will accept")
	}
}

// VTX-17: who waits in Accept is let go when the vertex ends, and a vertex that
// has ended takes no listener.
func TestListenersEndWithTheirVertex(t *testing.T) {
	t.Parallel()
	p := &plan{serve: []spiffeid.ID{service("web")}}
	n := alone(t, p, Options{})
	l, err := n.Listen(service("web"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := n.Listen(service("web")); !isReason(err, TooMany) {
		t.Errorf("a second Listen: %v, want %s", err, TooMany)
	}
	n.cancel()
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Accept of a vertex that ended: %v", err)
	}
	n.stop()
	if _, err := n.Listen(service("web")); !isReason(err, VertexStopping) {
		t.Errorf("Listen on a vertex that ended: %v, want %s", err, VertexStopping)
	}
}

// opaque is a key that can sign and not be read, as in a key store.
type opaque struct{ crypto.Signer }

// VTX-1, VTX-17: identities whose keys cannot be exported serve all the same.
func TestKeysThatCannotBeExportedServe(t *testing.T) {
	t.Parallel()
	d := newDuo(t, backend(t, echo), func(d *duo) {
		d.aliceID.Key, d.webID.Key = opaque{d.aliceID.Key}, opaque{d.webID.Key}
	})
	c := d.dial(t)
	send(t, c, "x")
	expect(t, c, "x")
}

func connectEmbedded(t *testing.T, near *Vertex, l *Listener) (a, b *Conn) {
	t.Helper()
	a, err := near.Dial(t.Context(), user("alice"), service("web"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	accepted, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { accepted.Close() })
	return a, accepted.(*Conn)
}

func checkHalfClose(t *testing.T, a, b *Conn) {
	t.Helper()
	if _, err := io.WriteString(a, "question"); err != nil {
		t.Fatal(err)
	}
	_ = a.CloseWrite()
	got, err := io.ReadAll(b)
	if err != nil || string(got) != "question" {
		t.Fatalf("read %q (%v)", got, err)
	}
	if _, err := io.WriteString(b, "answer"); err != nil {
		t.Fatal(err)
	}
	_ = b.CloseWrite()
	if got, err = io.ReadAll(a); err != nil || string(got) != "answer" {
		t.Fatalf("read %q (%v)", got, err)
	}
	_ = a.Close()
	if a.Reason() != Completed {
		t.Errorf("reason %s, want completed", a.Reason())
	}
}

func isReason(err error, want Reason) bool {
	got, ok := errors.AsType[*Error](err)
	return ok && got.Reason == want
}

// VTX-4, VTX-17
func TestDialIsBoundByTheListsToo(t *testing.T) {
	t.Parallel()
	d := newDuo(t, backend(t, echo))
	for _, tt := range []struct {
		name     string
		from, to spiffeid.ID
		want     Reason
	}{
		{"a target that nobody knows", d.alice, service("nobody"), UnknownTarget},
		{"an initiator that egress does not list", user("bob"), d.web, DeniedEgress},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := d.near.Dial(t.Context(), tt.from, tt.to); !isReason(err, tt.want) {
				t.Errorf("Dial: %v, want %s", err, tt.want)
			}
		})
	}
	if _, err := d.far.Listen(d.web); !isReason(err, UnknownTarget) {
		t.Errorf("Listen for a target that is not embedded: %v", err)
	}
	d.near.stop()
	if _, err := d.near.Dial(t.Context(), d.alice, d.web); !isReason(err, VertexStopping) {
		t.Errorf("Dial after the end: %v", err)
	}
}
