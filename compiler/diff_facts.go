package compiler

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/spiffe/go-spiffe/v2/spiffeid"

	"github.com/florete/flor/envelope"
	"github.com/florete/flor/envelope/schema"
)

// fact identifies one setting of a rete: on which node, of whom, and what.
type fact struct{ node, subject, setting string }

// facts are settings with their values, as an operator would call them.
type facts map[fact]string

const (
	vertexSubject  = "vertex"
	addressSetting = "address"
	ephemeralPort  = "any free port"
	// shortDigest is how many hex digits of a digest people are shown.
	shortDigest = 16
)

// factsOf collects what the sets of a rete say of addresses, ports and trust.
func factsOf(payloads []NodePayloads) facts {
	f := facts{}
	host := map[string]string{}
	for _, p := range payloads {
		f.addAgent(p.Agent)
		f.addVertex(p, host)
	}
	for _, p := range payloads {
		f.addLinks(p.Vertex, host)
	}
	return f
}

// addAgent takes what is the same on every node.
func (f facts) addAgent(a *schema.Agent) {
	if a.Sync.PollInterval != "" {
		f[fact{subject: "agents", setting: "poll_interval"}] = a.Sync.PollInterval
	}
	for _, signer := range a.Trust.Mgmt {
		f[fact{subject: Described(signer.SPIFFEID), setting: "certificate"}] = digestOf(signer)
	}
}

func digestOf(signer envelope.Entry) string {
	sum := sha256.Sum256([]byte(signer.Cert))
	return hex.EncodeToString(sum[:])[:shortDigest]
}

// addVertex takes listeners and services of a node, and notes in host where
// each service is.
func (f facts) addVertex(p NodePayloads, host map[string]string) {
	for _, adapter := range p.Vertex.ConnectionManager.Adapters {
		f[fact{p.Node, vertexSubject, "listen"}] = cmp.Or(adapter.Listen, ephemeralPort)
	}
	for _, certificate := range p.Vertex.Revoked {
		f[fact{subject: "certificate " + certificate[:min(len(certificate), shortDigest)], setting: "revoked"}] = "yes"
	}
	for _, w := range p.Vertex.Workloads {
		for _, io := range w.IO {
			f.addIO(p.Node, w.SPIFFEID, io, host)
		}
	}
}

func (f facts) addIO(node, id string, io schema.IO, host map[string]string) {
	subject := Described(id)
	switch io.Kind {
	case schema.TCP, schema.Embedded:
		host[id] = node
		f[fact{subject: subject, setting: "at"}] = node
		f[fact{subject: subject, setting: "addr"}] = cmp.Or(io.Upstream, embedded)
	case schema.SOCKS5:
		f[fact{node, subject, "socks5_proxy"}] = io.Listen
	case schema.Forward:
		f[fact{node, subject, "forward " + io.Listen}] = Described(io.Target)
	}
}

// addLinks takes the addresses at which others dial a node, from the links to
// its services.
func (f facts) addLinks(v *schema.Vertex, host map[string]string) {
	for _, list := range v.Links {
		for _, link := range list.Members {
			if node, known := host[link.Peer]; known {
				f[fact{node, vertexSubject, addressSetting}] = link.Via.Addr
			}
		}
	}
}

// staying leaves out what belongs to nodes that join or leave, and so needs no
// word of its own: it keeps what other, the other side, has the node of.
func (f facts) staying(other map[string]bool) facts {
	kept := make(facts, len(f))
	for k, value := range f {
		own := k.subject == vertexSubject || k.subject == "node "+k.node
		if !own || other[k.node] {
			kept[k] = value
		}
	}
	return kept
}

// movesOf compares facts, sorted by subject, node and setting. The address of a
// node is known as long as somebody reaches a service there; that it is not
// known any more, or not yet, is no move.
func movesOf(was, is facts) []Move {
	list := []Move{}
	add := func(k fact, from, to string) {
		if k.setting == addressSetting && (from == "" || to == "") {
			return
		}
		list = append(list, Move{Node: k.node, Subject: k.subject, Setting: k.setting, From: from, To: to})
	}
	for k, to := range is {
		if from := was[k]; from != to {
			add(k, from, to)
		}
	}
	for k, from := range was {
		if _, stays := is[k]; !stays {
			add(k, from, "")
		}
	}
	slices.SortFunc(list, func(a, b Move) int {
		return cmp.Or(strings.Compare(a.Subject, b.Subject), strings.Compare(a.Node, b.Node), strings.Compare(a.Setting, b.Setting))
	})
	return list
}

// Described is a SPIFFE ID as an operator would say it: "user alice", "service
// alpha/ssh". What is no SPIFFE ID stays as it is.
func Described(id string) string {
	parsed, err := spiffeid.FromString(id)
	if err != nil {
		return id
	}
	kind, name, _ := strings.Cut(strings.TrimPrefix(parsed.Path(), "/"), "/")
	return kind + " " + name
}
