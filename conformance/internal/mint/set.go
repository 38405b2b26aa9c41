package mint

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/florete/flor/envelope"
	"github.com/florete/flor/envelope/schema"
)

// world is what the vectors of sets have in common: the CA of rete-lovers, its
// signers, and the node alpha.
type world struct {
	ca              *Authority
	primary, second *Identity // signers of mgmt
	ctrl            *Identity
}

// node is the node that the sets are for, and version their version.
const (
	domain  = "rete-lovers"
	node    = "alpha"
	version = 42
)

func newWorld() *world {
	ca := NewAuthority(domain, Key("ca"))
	return &world{
		ca:      ca,
		primary: ca.Issue("/management-plane/primary", "primary"),
		second:  ca.Issue("/management-plane/second", "second"),
		ctrl:    ca.Issue("/control-plane/mesh", "ctrl"),
	}
}

// set is a set document with what a node knows when it is offered. Its zero
// value is not useful: see newSet.
type set struct {
	w       *world
	trust   trust
	node    string
	mark    uint64
	payload schema.Agent
	root    *Artifact
	edge    *Artifact   // the one workload
	more    []*Artifact // after root and edge
	reads   func(payload string) string
	doc     edit // of the whole document
}

// trust is trust.json: what a node holds of a rete's trust, and the time.
type trust struct {
	TrustDomain string          `json:"trust_domain"`
	CA          string          `json:"ca"` // DER, standard base64
	Held        *envelope.Block `json:"held,omitempty"`
	Retired     []string        `json:"retired"`
	Now         string          `json:"now"`
}

// newSet is a good set of alpha at version 42, signed by primary, whom alpha
// holds. Alpha's mark is 41.
func (w *world) newSet() *set {
	held := block(w.primary)
	return &set{
		w: w, node: node, mark: version - 1,
		trust: trust{
			TrustDomain: domain, CA: base64.StdEncoding.EncodeToString(w.ca.Cert.Raw),
			Held: &held, Retired: []string{}, Now: Now,
		},
		payload: agentPayload(node, held, "edge"),
		root:    newArtifact(node, "agent", version, "", w.primary),
		edge:    newArtifact(node, "edge", version, `{"schema_version": "1.0"}`, w.primary),
	}
}

func block(mgmt ...*Identity) envelope.Block {
	var b envelope.Block
	for _, i := range mgmt {
		b.Mgmt = append(b.Mgmt, i.Entry())
	}
	return b
}

// agentPayload is the payload of a root with an inventory of workloads.
func agentPayload(node string, b envelope.Block, workloads ...string) schema.Agent {
	principal := "spiffe://" + domain + "/node/" + node
	p := schema.Agent{
		SchemaVersion: "1.0", Trust: b, Workloads: []schema.Workload{},
		Inbounds: []schema.Inbound{{Principal: principal, Via: schema.InboundVia{Kind: "socks5", Addr: "127.0.0.1:1081"}}},
		Sync:     schema.Sync{Principal: principal, Coordinator: "spiffe://" + domain + "/service/coordinator"},
	}
	for _, name := range workloads {
		p.Workloads = append(p.Workloads, schema.Workload{Name: name, Run: []string{"flor-edge"}})
	}
	return p
}

// signedBy has root and edge signed by somebody.
func (s *set) signedBy(by *Identity) *set {
	for _, a := range []*Artifact{s.root, s.edge} {
		a.By, a.KeyID = by, quote(by.ID)
	}
	return s
}

// lists makes the root's own block one of these signers.
func (s *set) lists(mgmt ...*Identity) *set {
	s.payload.Trust = block(mgmt...)
	return s
}

// holds makes the block that the node holds one of these signers.
func (s *set) holds(mgmt ...*Identity) *set {
	held := block(mgmt...)
	s.trust.Held = &held
	return s
}

// retires has the node remember keys as retired.
func (s *set) retires(who ...*Identity) {
	for _, i := range who {
		s.trust.Retired = append(s.trust.Retired, i.pubkey())
	}
}

// files are those of the vector's directory.
func (s *set) files() map[string][]byte {
	return map[string][]byte{
		"trust.json": []byte(must(marshal(s.trust)) + "\n"),
		"node":       []byte(s.node + "\n"),
		"mark":       []byte(strconv.FormatUint(s.mark, 10) + "\n"),
		"set.json":   []byte(s.text()),
	}
}

func marshal(value any) (string, error) {
	text, err := json.MarshalIndent(value, "", "  ")
	return string(text), err
}

// text is the set document.
func (s *set) text() string {
	if s.root != nil && s.root.Payload == "" {
		s.root.Payload = object(s.payload)
		if s.reads != nil {
			s.root.Payload = s.reads(s.root.Payload)
		}
	}
	var texts []string
	for _, a := range append([]*Artifact{s.root, s.edge}, s.more...) {
		if a != nil {
			texts = append(texts, a.Text())
		}
	}
	doc := "{\"artifacts\":[\n" + strings.Join(texts, ",\n") + "\n]}\n"
	if s.doc != nil {
		doc = s.doc(doc)
	}
	return doc
}

// setRow is a vector of a set, as a change of a good one.
type setRow struct {
	name, title string
	refuse      string
	rules       string
	change      func(*set)
}

func (w *world) setRows(group string, rows []setRow) []Vector {
	var all []Vector
	for _, r := range rows {
		s := w.newSet()
		if r.change != nil {
			r.change(s)
		}
		all = append(all, Vector{
			Name: group + "/" + r.name, Title: r.title, Refuse: r.refuse,
			Requirements: rules(r.rules), Files: s.files(),
		})
	}
	return all
}

// edges makes vectors that differ in the one workload's artifact.
func edge(change func(*Artifact)) func(*set) {
	return func(s *set) { change(s.edge) }
}

// edgeText makes a change of the workload's text before it is signed.
func edgeText(change edit) func(*set) {
	return edge(func(a *Artifact) { a.before(change) })
}

// edgePayload makes a change of the workload's payload.
func edgePayload(text string) func(*set) {
	return edge(func(a *Artifact) { a.Payload = text })
}

func flipped(signature []byte, at int) []byte {
	signature[at] ^= 1
	return signature
}

// ed25519Order is the order of the base point, little-endian (RFC 8032 §5.1).
var ed25519Order = [32]byte{
	0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14,
	31: 0x10,
}

// withOrderAdded is the second spelling of a signature that a verifier accepts
// which does not bound S (RFC 8032 §5.1.7).
func withOrderAdded(signature []byte) []byte {
	carry := 0
	for i := range ed25519Order {
		sum := int(signature[ed25519.SignatureSize/2+i]) + int(ed25519Order[i]) + carry
		signature[ed25519.SignatureSize/2+i], carry = byte(sum), sum>>8
	}
	return signature
}

// respell rewrites the signature's value in an artifact's text.
func respell(change func(value string) string) edit {
	return func(text string) string {
		const before = `"value": "`
		at := strings.LastIndex(text, before) + len(before)
		end := at + strings.IndexByte(text[at:], '"')
		return text[:at] + change(text[at:end]) + text[end:]
	}
}

// rebytes rewrites the bytes of the signature.
func rebytes(change func([]byte) []byte) edit {
	return respell(func(value string) string {
		return base64.StdEncoding.EncodeToString(change(must(base64.StdEncoding.DecodeString(value))))
	})
}
