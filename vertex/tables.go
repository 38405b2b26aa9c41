package vertex

import (
	"net/netip"
	"time"

	"github.com/spiffe/go-spiffe/v2/spiffeid"

	"github.com/florete/flor/envelope/schema"
)

// pair is who wants to reach whom.
type pair struct{ initiator, target spiffeid.ID }

// inbound is one local port: its port fixes the caller (VTX-11), and for a
// forward its one target too (VTX-19).
type inbound struct {
	principal spiffeid.ID
	target    spiffeid.ID // zero: the client names it (SOCKS5)
	listen    string
}

// upstream is where a local target is served.
type upstream struct {
	addr     string // empty: in process (VTX-17)
	embedded bool
}

// tables is what a payload allows and wires, looked up while serving. It is
// never changed after newTables; a new payload makes a new one (VTX-16).
type tables struct {
	payload  *schema.Vertex
	domain   spiffeid.TrustDomain
	known    map[spiffeid.ID]bool // every target that is linked, served or named in egress
	served   map[string]spiffeid.ID
	upstream map[spiffeid.ID]upstream
	peers    map[spiffeid.ID]netip.AddrPort
	ingress  map[pair]bool
	egress   map[pair]bool
	revoked  map[string]bool
	locals   []spiffeid.ID // workloads, in the payload's order
	inbounds []inbound
}

// newTables reads a payload that has been validated.
func newTables(v *schema.Vertex) (*tables, error) {
	t := &tables{
		payload:  v,
		known:    map[spiffeid.ID]bool{},
		served:   map[string]spiffeid.ID{},
		upstream: map[spiffeid.ID]upstream{},
		peers:    map[spiffeid.ID]netip.AddrPort{},
		ingress:  map[pair]bool{},
		egress:   map[pair]bool{},
		revoked:  map[string]bool{},
	}
	for _, print := range v.Revoked {
		t.revoked[print] = true
	}
	return t, t.read()
}

func (t *tables) read() error {
	if err := t.readWorkloads(); err != nil {
		return err
	}
	if err := t.readLinks(); err != nil {
		return err
	}
	if err := t.readRules(t.payload.Ingress, t.ingress); err != nil {
		return err
	}
	if err := t.readRules(t.payload.Egress, t.egress); err != nil {
		return err
	}
	for p := range t.egress {
		t.known[p.target] = true
	}
	return nil
}

func (t *tables) readWorkloads() error {
	for _, w := range t.payload.Workloads {
		id, err := spiffeid.FromString(w.SPIFFEID)
		if err != nil {
			return err
		}
		t.domain = id.TrustDomain()
		t.locals = append(t.locals, id)
		for _, io := range w.IO {
			if err := t.readIO(id, io); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *tables) readIO(id spiffeid.ID, io schema.IO) error {
	switch io.Kind {
	case "socks5":
		t.inbounds = append(t.inbounds, inbound{principal: id, listen: io.Listen})
	case "forward":
		target, err := spiffeid.FromString(io.Target)
		if err != nil {
			return err
		}
		t.inbounds = append(t.inbounds, inbound{principal: id, target: target, listen: io.Listen})
	case "tcp", "embedded":
		t.serve(id, upstream{addr: io.Upstream, embedded: io.Kind == "embedded"})
	}
	return nil
}

// serve records a local target; of several wires to one workload the first
// counts. A user or a node has no hostname, so nobody can ask for it: its
// "embedded" wire is there to dial from.
func (t *tables) serve(id spiffeid.ID, u upstream) {
	host, err := schema.Hostname(id)
	if _, taken := t.upstream[id]; taken || err != nil {
		return
	}
	t.upstream[id], t.served[host], t.known[id] = u, id, true
}

func (t *tables) readLinks() error {
	for _, list := range t.payload.Links {
		for _, link := range list.Members {
			if link.Via.Type != "udp" {
				continue
			}
			peer, err := spiffeid.FromString(link.Peer)
			if err != nil {
				return err
			}
			if t.peers[peer], err = netip.ParseAddrPort(link.Via.Addr); err != nil {
				return err
			}
			t.known[peer] = true
		}
	}
	return nil
}

func (t *tables) readRules(rules []schema.Rule, into map[pair]bool) error {
	for _, rule := range rules {
		target, err := spiffeid.FromString(rule.Target)
		if err != nil {
			return err
		}
		for _, allow := range rule.Allow {
			initiator, err := spiffeid.FromString(allow)
			if err != nil {
				return err
			}
			into[pair{initiator, target}] = true
		}
	}
	return nil
}

// listen is the address of the UDP adapter; empty means an ephemeral port.
func (t *tables) listen() string {
	for _, a := range t.payload.ConnectionManager.Adapters {
		if a.Type == "udp" {
			return a.Listen
		}
	}
	return ""
}

// refuse tells an initiator at once what is not worth a dial (VTX-4, VTX-10);
// zero means that the request may go on.
func (t *tables) refuse(p pair) Reason {
	_, local := t.upstream[p.target]
	_, linked := t.peers[p.target]
	switch {
	case !t.known[p.target]:
		return UnknownTarget
	case !t.egress[p]:
		return DeniedEgress
	case !local && !linked:
		return NoLink
	case local && !t.ingress[p]:
		return DeniedIngress
	}
	return 0
}

// side is on which side of a connection this vertex stands.
type side uint8

const (
	accepting side = 1 << iota // its ingress list is the gate
	dialling                   // its egress list is the courtesy
	inProcess = accepting | dialling
)

// bound is what limits the life of a connection (VTX-8).
type bound struct {
	pair
	side     side
	notAfter time.Time
	prints   [2]string // SHA-256 of the two certificates, lower-case hex
	peer     netip.AddrPort
}

// verdict says why a connection must end now; zero means that it may live on.
// now is the wall clock.
func (t *tables) verdict(b bound, now time.Time) Reason {
	switch {
	case !now.Before(b.notAfter):
		return Expired
	case t.revoked[b.prints[0]] || t.revoked[b.prints[1]]:
		return Revoked
	case b.side&accepting != 0 && !t.ingress[b.pair]:
		return Denied
	case b.side&dialling != 0 && !t.egress[b.pair]:
		return Denied
	}
	return 0
}

// moved tells whether a dialled connection no longer leads to where its link points.
func (t *tables) moved(b bound) bool {
	return b.side == dialling && t.peers[b.target] != b.peer
}
