package compiler

import (
	"context"
	"crypto"
	"time"

	"github.com/spiffe/go-spiffe/v2/spiffeid"

	"github.com/florete/flor/compiler/ca"
	"github.com/florete/flor/envelope"
	"github.com/florete/flor/envelope/schema"
	"github.com/florete/flor/store/durable"
)

// carryOut signs the touched nodes and commits the tree and the ledger.
func (p *plan) carryOut(ctx context.Context, fsys durable.FS, opts CompileOptions) error {
	sets, err := p.sign(ctx, opts)
	if err != nil {
		return err
	}
	return commitTree(fsys, sets, p.newLedger(sets))
}

// sign makes the new sets, nil for nodes that leave. No key is opened when
// nothing is to be signed.
func (p *plan) sign(ctx context.Context, opts CompileOptions) (map[string]setFiles, error) {
	var work []nodePlan
	sets := map[string]setFiles{}
	for _, n := range p.nodes {
		if n.touched() {
			sets[n.node] = nil
		}
		if n.touched() && !n.leaves() {
			work = append(work, n)
		}
	}
	if len(work) == 0 {
		return sets, nil
	}
	s, err := p.newSigner(opts)
	if err != nil {
		return nil, err
	}
	signed := make([]setFiles, len(work))
	err = eachNode(ctx, len(work), func(i int) (err error) {
		signed[i], err = s.sign(work[i])
		return err
	})
	for i, n := range work {
		sets[n.node] = signed[i]
	}
	return sets, err
}

// signer stamps and signs sets.
type signer struct {
	id          spiffeid.ID
	key         crypto.Signer
	trust       *envelope.TrustSet
	trustDomain spiffeid.TrustDomain
	generatedAt time.Time
}

func (p *plan) newSigner(opts CompileOptions) (*signer, error) {
	chosen, key, err := opts.Signer(p.view.Signers)
	if err != nil {
		return nil, err
	}
	if err := ca.CheckKey(chosen.Cert, key.Public()); err != nil {
		return nil, err
	}
	block, err := trustBlock(p.view.Signers)
	if err != nil {
		return nil, err
	}
	trust, err := p.view.anchor().TrustSet(block)
	if err != nil {
		return nil, projectionInvalid("every node", envelope.AgentName, err)
	}
	generatedAt := opts.GeneratedAt
	if generatedAt.IsZero() {
		generatedAt = opts.Now
	}
	return &signer{id: chosen.ID, key: key, trust: trust, trustDomain: p.view.TrustDomain, generatedAt: generatedAt}, nil
}

// sign makes the set of one node and reads it back as a node would (CMP-16).
func (s *signer) sign(n nodePlan) (setFiles, error) {
	files := setFiles{}
	version := n.before.last + 1
	for _, p := range n.payloads {
		text, err := envelope.Sign(envelope.Draft{
			Plane:       envelope.Mgmt,
			Version:     version,
			Node:        n.node,
			Name:        p.name,
			GeneratedAt: s.generatedAt,
			Payload:     p.text,
		}, s.id, s.key)
		if err != nil {
			return nil, projectionInvalid(n.node, p.name, err)
		}
		files[p.name+fileSuffix] = append(text, '\n')
	}
	return files, s.check(n.node, files)
}

func (s *signer) check(node string, files setFiles) error {
	members := files.members()
	verified, err := verifyAll(s.trust, members)
	if err != nil {
		return refuse(ReasonProjectionInvalid, "%w", err)
	}
	if _, err := schema.CheckSet(s.trustDomain, node, verified); err != nil {
		return refuse(ReasonProjectionInvalid, "%w", err)
	}
	if size := len(envelope.AppendSet(nil, members...)); size > envelope.MaxSetFetch {
		return refuse(ReasonTooLarge, "the set of node %s has %d bytes, the limit is %d: split what its principals may reach", node, size, envelope.MaxSetFetch)
	}
	return nil
}

// newLedger is the ledger after the plan: touched nodes at their new version,
// departed ones remembered, and those that it did not know taken in.
func (p *plan) newLedger(sets map[string]setFiles) *Ledger {
	l := p.ledger.clone()
	for _, n := range p.nodes {
		entry := l.Nodes[n.node]
		switch {
		case !n.touched():
			entry.Version, entry.Files = n.before.current, n.before.digests
		case n.leaves():
			entry.Version, entry.Files = max(n.before.current, n.before.last), map[string]string{}
		default:
			entry.Version, entry.Files = n.before.last+1, sets[n.node].digests()
		}
		l.Nodes[n.node] = entry
	}
	return l
}

// PickSigner chooses, of the signers that a source lists, the one of that name,
// or without a name the first whose key is at hand (PKI-2).
func PickSigner(listed []*Signer, name string, hasKey func(name string) bool) (*Signer, error) {
	for _, s := range listed {
		if s.Name == name || name == "" && hasKey(s.Name) {
			return s, nil
		}
	}
	if name != "" {
		return nil, refuse(ReasonNoSigner, "the YAML lists no management signer %q", name)
	}
	return nil, refuse(ReasonNoSigner, "the key of none of the %d listed management signers is here", len(listed))
}
