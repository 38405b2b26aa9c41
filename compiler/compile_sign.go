package compiler

import (
	"context"
	"crypto"
	"errors"
	"time"

	"github.com/spiffe/go-spiffe/v2/spiffeid"
	"golang.org/x/sync/errgroup"

	"github.com/florete/flor/compiler/ca"
	"github.com/florete/flor/envelope"
	"github.com/florete/flor/envelope/schema"
	"github.com/florete/flor/store/durable"
)

// carryOut signs the touched nodes, stages each as soon as it is signed, and
// commits the tree and the ledger.
func (p *plan) carryOut(ctx context.Context, fsys durable.FS, opts CompileOptions) (err error) {
	c := newCommit(fsys)
	defer func() { err = errors.Join(err, c.close()) }()
	if err := p.stage(ctx, c, opts); err != nil {
		return errors.Join(err, c.giveUp())
	}
	ledger := p.newLedger(c.digests)
	switch {
	case len(c.nodes) > 0:
		return c.commit(ledger)
	case ledger.same(p.ledger):
		return nil
	}
	return writeLedger(fsys, ledger)
}

// stage makes the new sets. No key is opened when nothing is to be signed.
func (p *plan) stage(ctx context.Context, c *commit, opts CompileOptions) error {
	var work []nodePlan
	for _, n := range p.nodes {
		switch {
		case n.touched() && n.leaves:
			c.drop(n.node)
		case n.touched():
			work = append(work, n)
		}
	}
	if len(work) == 0 {
		return nil
	}
	s, err := p.newSigner(opts)
	if err != nil {
		return err
	}
	if err := c.open(len(work)); err != nil {
		return err
	}
	return p.signEach(ctx, work, s, c)
}

// signEach signs and stages, more nodes at once than there are processors,
// because half of it waits for the disk.
func (p *plan) signEach(ctx context.Context, work []nodePlan, s *signer, c *commit) error {
	group, running := errgroup.WithContext(ctx)
	group.SetLimit(treeWriters)
	for _, n := range work {
		if running.Err() != nil {
			break
		}
		group.Go(func() error {
			files, err := s.sign(n, p.payloads(n.node))
			if err != nil {
				return err
			}
			return c.put(n.node, n.before.digests, files)
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return ctx.Err()
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
	chosen, key, err := opts.Signer.choose(p.view.Signers)
	if err != nil {
		return nil, err
	}
	if opts.Resign != "" && chosen.Name != opts.Resign {
		return nil, refuse(ReasonNoSigner, "the sets are to be signed by %s, and the key that was chosen is that of %s", opts.Resign, chosen.Name)
	}
	if err := ca.CheckKey(chosen.Cert, key.Public()); err != nil {
		return nil, err
	}
	trust, err := p.view.anchor().TrustSet(p.trust)
	if err != nil {
		return nil, projectionInvalid("every node", envelope.AgentName, err)
	}
	generatedAt := opts.GeneratedAt
	if generatedAt.IsZero() {
		generatedAt = opts.Now
	}
	return &signer{id: chosen.ID, key: key, trust: trust, trustDomain: p.view.TrustDomain, generatedAt: generatedAt}, nil
}

// sign makes the set of one node, once each payload has passed its consumer's
// schema, and reads it back as a node would (CMP-16).
func (s *signer) sign(n nodePlan, payloads NodePayloads) (setFiles, error) {
	if err := payloads.validate(); err != nil {
		return nil, err
	}
	files := setFiles{}
	var members []envelope.Verified
	for _, p := range payloads.Payloads() {
		member, err := s.trust.Sign(envelope.Draft{
			Plane:       envelope.Mgmt,
			Version:     n.before.last + 1,
			Node:        n.node,
			Name:        p.Name,
			GeneratedAt: s.generatedAt,
			Payload:     p.Value,
		}, s.id, s.key)
		if err != nil {
			return nil, projectionInvalid(n.node, p.Name, err)
		}
		files[p.Name+fileSuffix] = append(member.Raw(), '\n')
		members = append(members, member)
	}
	return files, s.check(n.node, members, files)
}

// check judges the set as a whole (ENV-18), and that it can be fetched.
func (s *signer) check(node string, members []envelope.Verified, files setFiles) error {
	if _, err := schema.CheckSet(s.trustDomain, node, members); err != nil {
		return refuse(ReasonProjectionInvalid, "%w", err)
	}
	if size := len(envelope.AppendSet(nil, files.members()...)); size > envelope.MaxSetFetch {
		return refuse(ReasonTooLarge, "the set of node %s has %d bytes, the limit is %d: split what its principals may reach", node, size, envelope.MaxSetFetch)
	}
	return nil
}

// newLedger is the ledger after the plan: touched nodes at their new version,
// departed ones remembered, and those that it did not know taken in.
func (p *plan) newLedger(digests map[string]map[string]string) *Ledger {
	l := p.ledger.clone()
	for _, n := range p.nodes {
		entry := l.Nodes[n.node]
		switch {
		case !n.touched():
			entry.Version, entry.Files = n.before.current, n.before.digests
		case n.leaves:
			entry.Version, entry.Files = max(n.before.current, n.before.last), map[string]string{}
		default:
			entry.Version, entry.Files = n.before.last+1, digests[n.node]
		}
		l.Nodes[n.node] = entry
		l.retire(n.retired)
	}
	return l
}

// choose asks for signer and key, and refuses to go on without one of them.
func (c ChooseSigner) choose(listed []*Signer) (*Signer, crypto.Signer, error) {
	if c == nil {
		return nil, nil, refuse(ReasonNoSigner, "nothing says who signs")
	}
	chosen, key, err := c(listed)
	if err == nil && (chosen == nil || key == nil) {
		err = refuse(ReasonNoSigner, "no signer was chosen, or one without a key")
	}
	return chosen, key, err
}

// PickSigner chooses, of the signers that a source lists, the one of that name,
// or without a name the first whose key is at hand (PKI-2); without hasKey none
// is. That there is no such signer is ReasonNoSigner.
func PickSigner(listed []*Signer, name string, hasKey func(name string) bool) (*Signer, error) {
	for _, s := range listed {
		if s.Name == name || name == "" && hasKey != nil && hasKey(s.Name) {
			return s, nil
		}
	}
	if name != "" {
		return nil, refuse(ReasonNoSigner, "the YAML lists no management signer %q", name)
	}
	return nil, refuse(ReasonNoSigner, "the key of none of the %d listed management signers is here", len(listed))
}
