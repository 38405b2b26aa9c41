package rete

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"

	"github.com/spiffe/go-spiffe/v2/spiffeid"

	"github.com/florete/flor/envelope"
	"github.com/florete/flor/envelope/envelopetest"
	"github.com/florete/flor/envelope/schema"
)

// Identity is a principal with its certificate and key.
type Identity = envelopetest.Identity

// Rete is a trust domain.
type Rete struct {
	Domain  string
	CA      *envelopetest.Authority
	Primary *Identity // the signer that enrolment lists
}

// New makes a trust domain.
func New(domain string) *Rete {
	ca := envelopetest.NewAuthority(domain)
	return &Rete{Domain: domain, CA: ca, Primary: ca.Signer("primary")}
}

// ID spells the SPIFFE ID of a path, such as /node/alpha.
func (r *Rete) ID(path string) string { return r.id(path).String() }

func (r *Rete) id(path string) spiffeid.ID { return spiffeid.RequireFromPath(r.CA.TrustDomain, path) }

// Issue issues a certificate for the ID of a path.
func (r *Rete) Issue(path string, changes ...envelopetest.Change) *Identity {
	return r.CA.Issue(r.id(path), changes...)
}

// Workload is one entry of an inventory with its artifact.
type Workload struct {
	Name    string
	Run     string // the executable
	Payload any
}

// Set is a set to be signed. The zero values of its members stand for what is
// usual: node alpha, signed by the primary, who alone is listed.
type Set struct {
	Version   uint64
	Node      string
	By        *Identity
	Lists     []*Identity
	Workloads []Workload
	Inbound   string // address of the inbound that sync uses
	Poll      string
	Root      func(*schema.Agent) // a last change of the root's payload
}

// Sign signs a set, the root first.
func (r *Rete) Sign(s Set) [][]byte {
	if s.Node == "" {
		s.Node = "alpha"
	}
	if s.By == nil {
		s.By = r.Primary
	}
	if s.Lists == nil {
		s.Lists = []*Identity{s.By}
	}
	texts := [][]byte{s.By.Sign(s.Node, envelope.AgentName, s.Version, r.root(s))}
	for _, w := range s.Workloads {
		texts = append(texts, s.By.Sign(s.Node, w.Name, s.Version, w.Payload))
	}
	return texts
}

func (r *Rete) root(s Set) *schema.Agent {
	root := r.CA.AgentPayload(s.Node, envelopetest.Block(s.Lists...))
	for _, w := range s.Workloads {
		root.Workloads = append(root.Workloads, schema.Workload{Name: w.Name, Run: []string{w.Run}})
	}
	root.Inbounds[0].Via.Addr = s.Inbound
	root.Sync.PollInterval = s.Poll
	if s.Root != nil {
		s.Root(root)
	}
	return root
}

// Document is the set document of members (ENV-17).
func Document(texts ...[]byte) []byte { return envelope.AppendSet(nil, texts...) }

// IssueECDSA is Issue with an ECDSA P-256 key.
func (r *Rete) IssueECDSA(path string) *Identity {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err) // no key ever came of it
	}
	return r.CA.IssueFor(r.id(path), key)
}
