package vertex

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/spiffe/go-spiffe/v2/bundle/x509bundle"
	"github.com/spiffe/go-spiffe/v2/spiffeid"
	"github.com/spiffe/go-spiffe/v2/svid/x509svid"

	"github.com/florete/flor/envelope/schema"
)

// empty has nothing to give and says so to nobody.
type empty struct{}

func (empty) SVID(spiffeid.ID) (*x509svid.SVID, error) { return nil, nil }

func (empty) Bundle() (*x509bundle.Bundle, error) { return nil, nil }

// VTX-17: what a program that embeds a vertex forgot is told, and not a panic.
func TestWhatIsMissingIsTold(t *testing.T) {
	t.Parallel()
	p := &plan{serve: []spiffeid.ID{service("web")}}
	for _, tt := range []struct {
		name    string
		payload *schema.Vertex
		ids     Identities
		want    string
	}{
		{"no payload", nil, newWallet(), "no payload"},
		{"no identities", p.payload(t), nil, "no identities"},
		{"identities without a bundle", p.payload(t), empty{}, "neither a bundle nor an error"},
	} {
		if v, err := New(tt.payload, tt.ids, Options{}); err == nil || v != nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
	v, err := New(p.payload(t), newWallet(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{v.Apply(nil), v.CanApply(nil)} {
		if _, ok := errors.AsType[*PayloadError](err); !ok {
			t.Errorf("Apply of no payload: %v, want a *PayloadError", err)
		}
	}
	if _, err := v.Dial(t.Context(), user("alice"), service("web")); !isReason(err, NoTransport) || !errors.Is(err, errNotRunning) {
		t.Errorf("Dial before Run: %v", err)
	}
}

// VTX-14: a negative limit is refused by its name, and not taken for the default.
func TestANegativeLimitIsRefused(t *testing.T) {
	t.Parallel()
	p := &plan{serve: []spiffeid.ID{service("web")}}
	for want, l := range map[string]Limits{
		"the limit Handshakes is -1":          {Handshakes: -1},
		"zero for the default of 64":          {HandshakesPerPrefix: -5},
		"the limit StreamsPerInitiator is -2": {Connections: 3, StreamsPerInitiator: -2},
	} {
		if v, err := New(p.payload(t), newWallet(), Options{Limits: l}); err == nil || v != nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", l, err, want)
		}
	}
}

// VTX-17: errors of a dial name those ends that are known.
func TestErrorsNameWhoIsKnown(t *testing.T) {
	t.Parallel()
	alice, web := user("alice"), service("web")
	for want, e := range map[string]*Error{
		"FL4113 too-many: from " + alice.String() + " to " + web.String() + ": a limit": {Reason: TooMany, From: alice, To: web},
		"FL4113 too-many: from " + alice.String() + ": a limit":                         {Reason: TooMany, From: alice},
		"FL4113 too-many: to " + web.String() + ": a limit":                             {Reason: TooMany, To: web},
		"FL4113 too-many: a limit":                                                      {Reason: TooMany},
	} {
		if !strings.HasPrefix(e.Error(), want) {
			t.Errorf("printed %q, want %q", e, want)
		}
	}
}

// VTX-16: the payload that a vertex was given stays the caller's, who may change
// it and apply it again.
func TestAPayloadIsCopied(t *testing.T) {
	t.Parallel()
	alice, web := user("alice"), service("web")
	p := &plan{listen: "127.0.0.1:4432", serve: []spiffeid.ID{web}, ingress: map[spiffeid.ID][]spiffeid.ID{web: {alice}}}
	payload := p.payload(t)
	ids := newWallet()
	ids.put(authority.Issue(web))
	v, err := New(payload, ids, Options{})
	if err != nil {
		t.Fatal(err)
	}
	payload.Ingress[0].Allow[0] = user("bob").String()
	if err := v.Apply(payload); err != nil {
		t.Errorf("applying a payload with another list: %v", err)
	}
	payload.ConnectionManager.Adapters[0].Listen = "127.0.0.1:4433"
	if err := v.Apply(payload); !errors.Is(err, ErrRestart) {
		t.Errorf("applying a payload with another address: %v, want %v", err, ErrRestart)
	}
	var coded interface{ Code() string }
	if !errors.As(ErrRestart, &coded) || coded.Code() != codeRestart {
		t.Errorf("%v has no code", ErrRestart)
	}
}

// embeddedPairs checks a connection from alice to web, across and on one vertex.
func embeddedPairs(t *testing.T, check func(t *testing.T, near *Vertex, a, b *Conn)) {
	t.Run("across", func(t *testing.T) {
		t.Parallel()
		d := newDuo(t, "", func(d *duo) { d.farPlan.tcp, d.farPlan.serve = map[spiffeid.ID]string{}, []spiffeid.ID{d.web} })
		dialAndCheck(t, d.near.Vertex, d.far.Vertex, check)
	})
	t.Run("on one vertex", func(t *testing.T) {
		t.Parallel()
		p := &plan{socks: []spiffeid.ID{user("alice")}, serve: []spiffeid.ID{service("web")}}
		lists(p, []spiffeid.ID{user("alice")}, []spiffeid.ID{user("alice")})
		n := alone(t, p, Options{})
		dialAndCheck(t, n.Vertex, n.Vertex, check)
	})
}

func dialAndCheck(t *testing.T, near, far *Vertex, check func(t *testing.T, near *Vertex, a, b *Conn)) {
	l, err := far.Listen(service("web"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	a, b := connectEmbedded(t, near, l)
	defer a.Close()
	defer b.Close()
	check(t, near, a, b)
}

// VTX-7, VTX-17: a deadline is no end, and an end of one's own is not blamed on
// the peer, whose reader it wakes.
func TestADeadlineIsNoEnd(t *testing.T) {
	t.Parallel()
	embeddedPairs(t, func(t *testing.T, _ *Vertex, a, b *Conn) {
		_ = a.SetReadDeadline(time.Now().Add(time.Millisecond))
		if _, err := a.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) || a.Reason() != 0 {
			t.Fatalf("a read over its deadline: %v, reason %q, want none", err, a.Reason())
		}
		_ = a.SetReadDeadline(time.Time{})
		if _, err := b.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(a, make([]byte, 1)); err != nil {
			t.Fatalf("after a deadline that was over: %v", err)
		}
		woken := make(chan error, 1)
		go func() {
			_, err := a.Read(make([]byte, 1))
			woken <- err
		}()
		_ = a.Close()
		if err := <-woken; err == nil || a.Reason() != Completed {
			t.Errorf("a read while the connection is closed here: %v, reason %q, want %q", err, a.Reason(), Completed)
		}
	})
}

// VTX-17: whoever has given up is not connected, and hears of the own context.
func TestDialWithAContextThatIsDone(t *testing.T) {
	t.Parallel()
	embeddedPairs(t, func(t *testing.T, near *Vertex, _, _ *Conn) {
		cancelled, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := near.Dial(cancelled, user("alice"), service("web")); !isReason(err, ClientLeft) || !errors.Is(err, context.Canceled) {
			t.Errorf("Dial with a context that is cancelled: %v", err)
		}
		over, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
		defer cancel()
		if _, err := near.Dial(over, user("alice"), service("web")); !isReason(err, NoAnswer) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Dial with a context whose deadline is over: %v", err)
		}
	})
}
