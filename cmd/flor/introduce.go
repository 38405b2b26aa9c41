package main

import (
	"cmp"
	"fmt"

	"github.com/florete/flor/envelope"
	"github.com/florete/flor/envelope/schema"
	"github.com/florete/flor/relay/config"
	"github.com/florete/flor/store"
	"github.com/florete/flor/store/bundle"
	"github.com/florete/flor/store/identity"
)

// introduce tells what a bundle would make of this machine: who vouches for it,
// and every address that will listen or be dialled (BND-2).
func (c *console) introduce(b *bundle.Bundle) {
	c.tell("trust domain  %s", b.TrustDomain.Name())
	c.tell("node          %s", b.Node)
	c.tell("CA            SHA-256 %s", identity.Fingerprint(b.CA))
	for _, signer := range b.Signers {
		c.tell("signer        %s", signer)
	}
	c.tell("set           v%d", b.SetVersion)
	c.tell("coordinator   %s", b.Coordinator)
	for _, p := range placesOf(b.Set) {
		c.tell("%-13s %s", p.verb, p.what)
	}
	c.say("the bundle is whole; that it comes from your operator, only the CA's fingerprint tells: compare it")
}

// compare tells what an existing scope holds, where the bundle is another
// enrolment or is refused, so that a person sees old and new (BND-3).
func (c *console) compare(i *bundle.Installation, refused bool) {
	h := i.Before
	if h == nil {
		return
	}
	if i.Kind == bundle.Again && !refused {
		c.say("scope %s holds this node already, with mark %d: identity and set are replaced, the state of workloads stays", h.Scope, h.Mark)
		c.sayLost(h)
		return
	}
	c.tell("held domain   %s", h.Held.Anchor.TrustDomain.Name())
	c.tell("held node     %s", cmp.Or(h.Node, "cannot be told"))
	c.tell("held CA       SHA-256 %s", identity.Fingerprint(h.Held.Anchor.CA))
	for _, signer := range h.Held.Signers.Block().Mgmt {
		c.tell("held signer   %s", signer.SPIFFEID)
	}
	c.tell("held mark     v%d", h.Mark)
	c.sayLost(h)
}

// sayLost tells what a scope does not know any more.
func (c *console) sayLost(h *store.Holding) {
	if h.Lost != nil {
		c.say("the scope's record of trust is lost, with the keys that were retired: %v", h.Lost)
	}
}

// warnOfMark says what --reset-mark gives up, where it gives up anything.
func (c *console) warnOfMark(h *store.Holding, version uint64) {
	if h != nil && version < h.Mark {
		c.say("--reset-mark: the mark falls from %d to %d: whoever kept a set between the two can offer it again, "+
			"and with it permissions that were taken back since", h.Mark, version)
	}
}

// place is an address that a set listens on or dials.
type place struct{ verb, what string }

// placesOf lists the addresses in the payloads that flor's own programs read.
// Those of others are theirs to read; they are named.
func placesOf(set *schema.Set) []place {
	var places []place
	for _, member := range set.Members {
		if name := member.Core().Name; name != envelope.AgentName {
			places = append(places, payloadPlaces(name, member.Payload())...)
		}
	}
	return places
}

func payloadPlaces(name string, payload []byte) []place {
	if vertex, err := schema.ParseVertex(payload); err == nil {
		return vertexPlaces(vertex)
	}
	if coordinator, err := config.Parse(payload); err == nil {
		return []place{
			{"listens", coordinator.Listen.Sync + " (TCP, coordinator, for syncs)"},
			{"listens", coordinator.Listen.Publish + " (TCP, coordinator, for publishing)"},
		}
	}
	return []place{{"runs", name + ", whose payload tells its addresses to itself alone"}}
}

func vertexPlaces(v *schema.Vertex) []place {
	var places []place
	for _, adapter := range v.ConnectionManager.Adapters {
		if adapter.Listen != "" {
			places = append(places, place{"listens", adapter.Listen + " (UDP, from other vertices)"})
		}
	}
	for _, w := range v.Workloads {
		for _, io := range w.IO {
			places = append(places, ioPlaces(w.SPIFFEID, io)...)
		}
	}
	for _, list := range v.Links {
		for _, link := range list.Members {
			if link.Via.Addr != "" {
				places = append(places, place{"dials", fmt.Sprintf("%s (UDP, for %s)", link.Via.Addr, link.Peer)})
			}
		}
	}
	return places
}

func ioPlaces(principal string, io schema.IO) []place {
	switch {
	case io.Listen != "" && io.Target != "":
		return []place{{"listens", fmt.Sprintf("%s (TCP, to %s as %s)", io.Listen, io.Target, principal)}}
	case io.Listen != "":
		return []place{{"listens", fmt.Sprintf("%s (SOCKS5, as %s)", io.Listen, principal)}}
	case io.Upstream != "":
		return []place{{"dials", fmt.Sprintf("%s (TCP, for %s)", io.Upstream, principal)}}
	}
	return nil
}
