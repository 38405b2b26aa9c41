package compiler

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spiffe/go-spiffe/v2/spiffeid"
	"github.com/spiffe/go-spiffe/v2/svid/x509svid"

	"github.com/florete/flor/compiler/ca"
	"github.com/florete/flor/compiler/diag"
	"github.com/florete/flor/envelope/schema"
	"github.com/florete/flor/store/bundle"
)

// IssueOptions says for which node a bundle is made. All but Validity are
// required.
type IssueOptions struct {
	SourceOptions
	Node string
	// Authority opens the root CA of the rete, once the source is known.
	Authority func(*View) (*ca.Authority, error)
	// Signer signs the manifest.
	Signer ChooseSigner
	// Validity is how long the certificates live; what the source says if zero. A
	// negative one is refused (ca.ReasonValidityUnsuitable).
	Validity time.Duration
}

// Enrolment is a bundle with what went into it.
type Enrolment struct {
	Node    string
	Version uint64
	// CA is what enrolment pins; its fingerprint is what people compare.
	CA *x509.Certificate
	// Bundle is the file for the node. It holds private keys: keep it to its
	// owner (0600), and hand it over in a way that nobody else reads (BND-4).
	Bundle []byte
	Issued []Issued
}

// Issue makes fresh keys and certificates for every principal of a node and
// packs them with the node's compiled set (PKI-4). It refuses while the
// compiled tree is not what the source gives (ReasonTreeStale), and a name that no
// node has (ReasonUnknownNode); faults of the source come as a *SourceError, those
// of the authority and its keys as a *ca.Refusal. Each certificate is in the
// issuance log before it returns; when the log cannot be written there is no
// bundle.
func Issue(ctx context.Context, opts IssueOptions) (*Enrolment, error) {
	source, err := Load(opts.SourceOptions)
	if err != nil {
		return nil, err
	}
	node, err := findNode(source.View, opts.Node)
	if err != nil {
		return nil, err
	}
	repo, err := openRepository(opts.Dir)
	if err != nil {
		return nil, err
	}
	defer repo.Close()
	plan, err := makePlan(ctx, source.View, repo.fsys, CompileOptions{})
	if err != nil {
		return nil, err
	}
	if err := plan.checkCurrent(); err != nil {
		return nil, err
	}
	files, err := readSet(repo.fsys, node.Name)
	if err != nil {
		return nil, err
	}
	e, err := enrol(source.View, node, files, opts)
	if err != nil {
		return nil, err
	}
	e.Version = plan.ledger.Nodes[node.Name].Version
	if err := repo.logIssued(e.Issued); err != nil {
		return nil, err
	}
	return e, nil
}

func findNode(v *View, name string) (*Node, error) {
	i := slices.IndexFunc(v.Nodes, func(n *Node) bool { return n.Name == name })
	if i < 0 {
		return nil, refuse(ReasonUnknownNode, "the rete %s has no node %q; %s", v.TrustDomain, name, otherNode(v, name))
	}
	return v.Nodes[i], nil
}

// otherNode tells which node was perhaps meant.
func otherNode(v *View, name string) string {
	names := make([]string, 0, len(v.Nodes))
	for _, n := range v.Nodes {
		names = append(names, n.Name)
	}
	if near, ok := diag.Nearest(name, names); ok {
		return fmt.Sprintf("did you mean %q?", near)
	}
	if few := diag.Few(names); few != "" {
		return "name " + few
	}
	return "declare it under `nodes`"
}

// checkCurrent refuses a tree that a compile would change.
func (p *plan) checkCurrent() error {
	var stale []string
	for _, n := range p.nodes {
		if n.touched() {
			stale = append(stale, n.node)
		}
	}
	if len(stale) == 0 {
		return nil
	}
	return refuse(ReasonTreeStale, "the compiled tree is not what the YAML gives for %s; run \"retectl compile\" first", strings.Join(stale, ", "))
}

// enrol issues the node's certificates and packs the bundle.
func enrol(v *View, node *Node, files setFiles, opts IssueOptions) (*Enrolment, error) {
	authority, err := opts.authority(v)
	if err != nil {
		return nil, err
	}
	chosen, key, err := opts.Signer.choose(v.Signers)
	if err != nil {
		return nil, err
	}
	e := &Enrolment{Node: node.Name, CA: v.CA}
	contents := bundle.Contents{CA: v.CA, Artifacts: files.members(), Now: opts.Now}
	for _, l := range localsOf(node) {
		svid, err := newSVID(authority, l.principal.ID, opts.validity(v), opts.Now)
		if err != nil {
			return nil, err
		}
		contents.Principals = append(contents.Principals, svid)
		e.Issued = append(e.Issued, NewIssued(svid.Certificates[0], node.Name, opts.Now))
	}
	var text bytes.Buffer
	if err := bundle.Write(&text, contents, chosen.ID, key); err != nil {
		return nil, fmt.Errorf("pack the bundle of node %s: %w", node.Name, err)
	}
	e.Bundle = text.Bytes()
	return e, nil
}

func (o IssueOptions) authority(v *View) (*ca.Authority, error) {
	if o.Authority == nil {
		return nil, errNoAuthority
	}
	authority, err := o.Authority(v)
	if err == nil && authority == nil {
		err = errNoAuthority
	}
	return authority, err
}

var errNoAuthority = errors.New("there is no authority to issue certificates: see IssueOptions.Authority")

func (o IssueOptions) validity(v *View) time.Duration {
	if o.Validity != 0 {
		return o.Validity
	}
	return v.Validity.Principals
}

func newSVID(authority *ca.Authority, id spiffeid.ID, validity time.Duration, now time.Time) (*x509svid.SVID, error) {
	key, err := ca.NewKey()
	if err != nil {
		return nil, err
	}
	cert, err := authority.Issue(id, key.Public(), validity, now)
	if err != nil {
		return nil, err
	}
	return &x509svid.SVID{ID: id, Certificates: []*x509.Certificate{cert}, PrivateKey: key}, nil
}

// PrincipalID is the SPIFFE ID of the principal that a kind and a name mean in
// a rete: "<node>/<name>" names a node's own service, and a vertex. A kind that is
// none, and a name that cannot be one, are errors.
func PrincipalID(td spiffeid.TrustDomain, kind schema.Kind, name string) (spiffeid.ID, error) {
	id, err := spiffeid.FromPath(td, "/"+string(kind)+"/"+name)
	if err != nil {
		return spiffeid.ID{}, err
	}
	if _, err := schema.KindOf(id); err != nil {
		return spiffeid.ID{}, err
	}
	return id, nil
}
