package envelopetest

import (
	"time"

	"github.com/florete/flor/envelope"
	"github.com/florete/flor/envelope/schema"
)

// Entry returns the identity's entry in a trust block.
func (i *Identity) Entry() envelope.Entry { return must(envelope.NewEntry(i.Cert)) }

// Block returns the trust block that authorises mgmt signers.
func Block(mgmt ...*Identity) envelope.Block {
	var b envelope.Block
	for _, i := range mgmt {
		b.Mgmt = append(b.Mgmt, i.Entry())
	}
	return b
}

// Sign signs a mgmt artifact, generated at a fixed time.
func (i *Identity) Sign(node, name string, version uint64, payload any) []byte {
	return i.SignDraft(envelope.Draft{
		Plane:       envelope.Mgmt,
		Version:     version,
		Node:        node,
		Name:        name,
		GeneratedAt: time.Date(2026, time.April, 20, 12, 0, 0, 0, time.UTC),
		Payload:     payload,
	})
}

// SignDraft signs any draft, and panics when it cannot be signed.
func (i *Identity) SignDraft(d envelope.Draft) []byte {
	return must(envelope.Sign(d, i.ID, i.Key))
}

// Held returns what a node holds that has admitted a root with the block.
func (a *Authority) Held(b envelope.Block) envelope.Held {
	return envelope.Held{Anchor: a.Anchor(), Signers: must(a.Anchor().TrustSet(b))}
}

// AgentPayload returns a valid agent payload for the node: the block, an
// inventory of the named workloads (each run by a program of its name), and
// sync as node/<node> with service/coordinator through 127.0.0.1:1080.
func (a *Authority) AgentPayload(node string, b envelope.Block, workloads ...string) *schema.Agent {
	principal := must(schema.NodeID(a.TrustDomain, node)).String()
	p := &schema.Agent{
		SchemaVersion: schema.AgentVersion,
		Trust:         b,
		Workloads:     []schema.Workload{},
		Inbounds:      []schema.Inbound{{Principal: principal, Via: schema.InboundVia{Kind: "socks5", Addr: "127.0.0.1:1080"}}},
		Sync:          schema.Sync{Principal: principal, Coordinator: must(schema.ServiceID(a.TrustDomain, "coordinator")).String()},
	}
	for _, name := range workloads {
		p.Workloads = append(p.Workloads, schema.Workload{Name: name, Run: []string{name}})
	}
	return p
}

// Member is one workload of a set and its payload.
type Member struct {
	Name    string
	Payload any
}

// Set signs a coherent set of a node with AgentPayload as its root, which is
// the first of the texts; the block authorises the signer alone.
func (a *Authority) Set(signer *Identity, node string, version uint64, members ...Member) [][]byte {
	var names []string
	texts := [][]byte{nil}
	for _, m := range members {
		names = append(names, m.Name)
		texts = append(texts, signer.Sign(node, m.Name, version, m.Payload))
	}
	root := a.AgentPayload(node, Block(signer), names...)
	texts[0] = signer.Sign(node, envelope.AgentName, version, root)
	return texts
}
