package vertex

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/spiffe/go-spiffe/v2/spiffeid"

	"github.com/florete/flor/envelope/envelopetest"
	"github.com/florete/flor/envelope/schema"
)

// VTX-8: compared with the wall clock, on either side.
func TestExpiryCutsLiveConnections(t *testing.T) {
	t.Parallel()
	soon := envelopetest.Valid(time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
	for _, tt := range []struct {
		name  string
		setUp func(*duo, Options)
		near  string
	}{
		{"the initiator's vertex sees it first", func(d *duo, o Options) { d.nearOpts = o }, "expired"},
		{"the target's vertex sees it first", func(d *duo, o Options) { d.farOpts = o }, "peer-expired"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var wallClock clock
			d := newDuo(t, backend(t, echo), func(d *duo) {
				d.webID = authority.Issue(d.web, soon)
				tt.setUp(d, Options{Now: wallClock.now})
			})
			c := d.dial(t)
			wallClock.forward(time.Hour)
			expectReset(t, c)
			d.near.await("the reason "+tt.near, func() bool {
				return d.near.counter("connections_closed_total", tt.near, d.alice.String(), d.web.String()) == 1
			})
		})
	}
}

// crowd is a far vertex that serves web to alice and bob, each on a vertex of
// their own.
func crowd(t *testing.T, options ...duoOption) (*duo, spiffeid.ID) {
	bob := user("bob")
	d := newDuo(t, backend(t, echo), append(options, func(d *duo) {
		both := map[spiffeid.ID][]spiffeid.ID{d.web: {d.alice, bob}}
		d.farPlan.ingress, d.nearPlan.egress = both, both
		d.nearPlan.socks = append(d.nearPlan.socks, bob)
	})...)
	return d, bob
}

// VTX-8, VTX-16: what a table no longer allows is cut when Apply returns, which is
// within a second, and nothing else is.
func TestTakenPermissionCutsThatPairAlone(t *testing.T) {
	t.Parallel()
	revoke := func(d *duo, _ spiffeid.ID) *plan {
		p := *d.farPlan
		p.revoked = []string{fingerprint(d.aliceID.Cert)}
		return &p
	}
	takeRule := func(d *duo, bob spiffeid.ID) *plan {
		p := *d.farPlan
		p.ingress = map[spiffeid.ID][]spiffeid.ID{d.web: {bob}}
		return &p
	}
	for name, change := range map[string]func(*duo, spiffeid.ID) *plan{
		"by a certificate that is revoked": revoke,
		"by the ingress list":              takeRule,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, bob := crowd(t)
			cut := d.dial(t)
			other, err := viaSOCKS(t, d.nearPlan.ports[bob], host(t, d.web)+":80")
			if err != nil {
				t.Fatal(err)
			}
			if err := d.far.Apply(change(d, bob).payload(t)); err != nil {
				t.Fatal(err)
			}
			expectCutBy(t, d, d.alice)
			expectReset(t, cut)
			send(t, other, "still here")
			expect(t, other, "still here")
			if got := replyTo(t, d.nearPlan.ports[d.alice], host(t, d.web)); got != 2 {
				t.Errorf("reply %d to a new request, want 2", got)
			}
		})
	}
}

// expectCutBy checks that the far vertex has closed its connections with an
// initiator. It takes no time by the clock, which on a busy machine runs on.
func expectCutBy(t *testing.T, d *duo, initiator spiffeid.ID) {
	t.Helper()
	for _, s := range d.far.live.sessions() {
		if s.limits.initiator == initiator && !s.closed() {
			t.Error("a connection that is no longer allowed was not cut")
		}
	}
}

// VTX-3, VTX-8: the initiator's side looks at the list too.
func TestRevokedTargetIsCutByItsInitiator(t *testing.T) {
	t.Parallel()
	d := newDuo(t, backend(t, echo))
	c := d.dial(t)
	p := *d.nearPlan
	p.revoked = []string{fingerprint(d.webID.Cert)}
	if err := d.near.Apply(p.payload(t)); err != nil {
		t.Fatal(err)
	}
	expectReset(t, c)
	if got := replyTo(t, d.nearPlan.ports[d.alice], host(t, d.web)); got != 2 {
		t.Errorf("reply %d, want 2", got)
	}
}

// VTX-16: local ports follow the payload, without disturbing what is open.
func TestApplyOpensAndClosesLocalPorts(t *testing.T) {
	t.Parallel()
	d := newDuo(t, backend(t, echo))
	c := d.dial(t)
	old := d.nearPlan.ports[d.alice]
	p := *d.nearPlan
	p.ports = nil
	if err := d.near.Apply(p.payload(t)); err != nil {
		t.Fatal(err)
	}
	if _, err := viaSOCKS(t, old, host(t, d.web)+":80"); err == nil {
		t.Error("the old port still serves")
	}
	fresh, err := viaSOCKS(t, p.ports[d.alice], host(t, d.web)+":80")
	if err != nil {
		t.Fatal(err)
	}
	send(t, fresh, "new")
	expect(t, fresh, "new")
	send(t, c, "old")
	expect(t, c, "old")
}

// VTX-16: a link that points elsewhere moves new connections; old ones run on.
func TestMovedLinkSupersedesTheConnection(t *testing.T) {
	t.Parallel()
	d := newDuo(t, backend(t, echo))
	c := d.dial(t)
	elsewhere := *d.farPlan
	elsewhere.listen = ""
	elsewhere.tcp = map[spiffeid.ID]string{d.web: "127.0.0.1:1"}
	raise(t, elsewhere.payload(t), d.farIDs, Options{})
	p := *d.nearPlan
	p.links = map[spiffeid.ID]string{d.web: elsewhere.listen}
	if err := d.near.Apply(p.payload(t)); err != nil {
		t.Fatal(err)
	}
	if got := replyTo(t, d.nearPlan.ports[d.alice], host(t, d.web)); got != 5 {
		t.Errorf("reply %d, want 5 from the new place", got)
	}
	send(t, c, "x")
	expect(t, c, "x")
	_ = c.CloseWrite()
	expectEOF(t, c)
	d.far.await("the old connection to close", func() bool { return d.accepted() == 0 })
}

// VTX-16
func TestApplyRefusesWhatNeedsARestart(t *testing.T) {
	t.Parallel()
	d := newDuo(t, backend(t, echo))
	p := *d.nearPlan
	p.listen = ""
	if err := d.near.Apply(p.payload(t)); !errors.Is(err, ErrRestart) {
		t.Errorf("Apply of another transport address: %v, want ErrRestart", err)
	}
	broken := d.nearPlan.payload(t)
	broken.SchemaVersion = "2.0"
	if _, ok := errors.AsType[*PayloadError](d.near.Apply(broken)); !ok {
		t.Error("Apply of a payload that breaks a rule is no *PayloadError")
	}
}

// VTX-12: one warning, no port, and everything else serves; then it is found.
func TestMissingIdentityDelaysNobodyElse(t *testing.T) {
	t.Parallel()
	d, bob := crowd(t)
	d.near.stop()
	d.nearIDs = newWallet(d.aliceID)
	log := newLogBook()
	d.near = raise(t, d.nearPlan.payload(t), d.nearIDs, Options{Log: log.logger()})
	send(t, d.dial(t), "alice is served")
	if _, err := viaSOCKS(t, d.nearPlan.ports[bob], host(t, d.web)+":80"); err == nil {
		t.Error("bob's port serves without an identity")
	}
	if err := d.near.Reload(); err != nil {
		t.Fatal(err)
	}
	if got := log.count("identity missing"); got != 1 {
		t.Errorf("%d warnings, want 1", got)
	}
	d.nearIDs.put(authority.Issue(bob))
	if err := d.near.Reload(); err != nil {
		t.Fatal(err)
	}
	if _, err := viaSOCKS(t, d.nearPlan.ports[bob], host(t, d.web)+":80"); err != nil {
		t.Errorf("after the identity came: %v", err)
	}
}

// VTX-12: nobody has to ask for it: it is looked for again by itself.
func TestMissingIdentityIsFoundWithinHalfAMinute(t *testing.T) {
	t.Parallel()
	alice := user("alice")
	p := &plan{socks: []spiffeid.ID{alice}}
	ids := newWallet()
	n := raise(t, p.payload(t), ids, Options{})
	ids.put(authority.Issue(alice))
	begun := time.Now()
	n.await("alice's port to open", func() bool { return slices.Contains(n.Ready().Listening, p.ports[alice]) })
	checkPatience(t, begun, identitiesEvery)
}

// VTX-8, VTX-12: identities are read again while the guard looks at the same
// connections; the race detector tells where they do not take turns.
func TestReloadAndGuardTakeTurns(t *testing.T) {
	t.Parallel()
	d := newDuo(t, backend(t, echo))
	c := d.dial(t)
	var work sync.WaitGroup
	for _, look := range []func(){d.near.sweep, func() { _ = d.near.Reload() }} {
		work.Go(func() {
			for range 2000 {
				look()
			}
		})
	}
	work.Wait()
	send(t, c, "x")
	expect(t, c, "x")
}

// VTX-13: a port that should be open and is not yet is waited for at every
// moment, also between finding its principal's identity and opening it.
func TestAPortIsNamedAsWaitingUntilItListens(t *testing.T) {
	t.Parallel()
	d, bob := crowd(t)
	d.near.stop()
	d.nearIDs = newWallet(d.aliceID)
	d.near = raise(t, d.nearPlan.payload(t), d.nearIDs, Options{})
	d.nearIDs.put(authority.Issue(bob))
	if err := d.near.keys.load(d.near.tables.Load().locals); err != nil {
		t.Fatal(err)
	}
	port := d.nearPlan.ports[bob]
	if got := d.near.Ready().Waiting; !slices.Contains(got, port) {
		t.Errorf("before it is opened: waiting for %q, want %s among them", got, port)
	}
	d.near.settle()
	if got := d.near.Ready(); len(got.Waiting) > 0 || !slices.Contains(got.Listening, port) {
		t.Errorf("once it is open: %+v", got)
	}
}

// VTX-12: new handshakes use a renewed certificate.
func TestRenewedCertificateIsUsedForNewConnections(t *testing.T) {
	t.Parallel()
	d := newDuo(t, backend(t, echo))
	c := d.dial(t)
	renewed := authority.Issue(d.alice)
	d.nearIDs.put(renewed)
	if err := d.near.Reload(); err != nil {
		t.Fatal(err)
	}
	d.dial(t)
	var prints []string
	for _, s := range d.far.live.sessions() {
		prints = append(prints, s.limits.prints[1])
	}
	if len(prints) != 2 || prints[0] == prints[1] {
		t.Errorf("the far side sees certificates %v, want the old and the renewed one", prints)
	}
	send(t, c, "x")
	expect(t, c, "x")
}

// VTX-13
func TestBusyPortIsTriedAgainWhileTheRestServes(t *testing.T) {
	t.Parallel()
	d, bob := crowd(t)
	d.near.stop()
	holder := hold(t, d.nearPlan.ports[bob])
	d.near = raise(t, d.nearPlan.payload(t), d.nearIDs, Options{})
	if got := d.near.Ready(); !got.Ready || len(got.Waiting) != 1 || got.Waiting[0] != d.nearPlan.ports[bob] {
		t.Errorf("readiness %+v, want ready and waiting for %s", got, d.nearPlan.ports[bob])
	}
	d.dial(t)
	holder.Close()
	d.near.await("the port to open", func() bool { return len(d.near.Ready().Waiting) == 0 })
	if _, err := viaSOCKS(t, d.nearPlan.ports[bob], host(t, d.web)+":80"); err != nil {
		t.Error(err)
	}
}

// VTX-13: a port that takes no client for a while, as with too many open files,
// says so, and serves when that is over.
func TestAPortThatTakesNoClientIsTold(t *testing.T) {
	t.Parallel()
	alice, book := user("alice"), newLogBook()
	p := &plan{socks: []spiffeid.ID{alice}, serve: []spiffeid.ID{service("web")}}
	n := alone(t, p, Options{Log: book.logger()})
	setDeadline := func(at time.Time) {
		n.inbounds.mu.Lock()
		defer n.inbounds.mu.Unlock()
		for _, open := range n.inbounds.ports {
			_ = open.listener.SetDeadline(at)
		}
	}
	setDeadline(time.Unix(1, 0))
	n.await("the word of it", func() bool { return book.count("local port takes no client") > 0 })
	setDeadline(time.Time{})
	if got := replyTo(t, p.ports[alice], "nobody.demo.rete"); got != 4 {
		t.Errorf("reply %d afterwards, want 4", got)
	}
}

// VTX-13, VTX-18
func TestPayloadsThatCannotBeServed(t *testing.T) {
	t.Parallel()
	good := func() *schema.Vertex { return (&plan{socks: []spiffeid.ID{user("alice")}}).payload(t) }
	mesh := good()
	mesh.Kind = "mesh"
	broken := good()
	broken.TransportEndpoint.Type = "pigeon"
	for _, tt := range []struct {
		name    string
		payload *schema.Vertex
		domain  string
		code    string
	}{
		{"one that is good is served", good(), domain, ""},
		{"mesh has no engine here", mesh, domain, "FL4401"},
		{"another trust domain", good(), "elsewhere", "FL4402"},
		{"a rule that is broken", broken, domain, "FL4403"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := Check(tt.payload, spiffeid.RequireTrustDomainFromString(tt.domain))
			refused, ok := errors.AsType[*PayloadError](err)
			if ok != (tt.code != "") || ok && refused.Code() != tt.code {
				t.Errorf("Check: %v, want code %q", err, tt.code)
			}
		})
	}
}
