package mint

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/florete/flor/envelope/schema"
)

// agentVectors are about the payload of a root, each with one fault.
func (w *world) agentVectors() []Vector {
	return payloadVectors("agent", "ENV-5 ENV-15", slices.Concat(
		w.agentAccepted(), w.agentShapes(), w.agentWorkloads(), w.agentInbounds()))
}

// agentText is a good payload with a change.
func (w *world) agentText(change func(*schema.Agent)) string {
	p := agentPayload(node, block(w.primary), "flor")
	change(&p)
	return object(p)
}

// agentEdit is a good payload with a change of its text.
func (w *world) agentEdit(change edit) string {
	return change(w.agentText(func(*schema.Agent) {}))
}

// workload replaces the one workload.
func workload(name string, run ...string) func(*schema.Agent) {
	return func(p *schema.Agent) { p.Workloads[0] = schema.Workload{Name: name, Run: run} }
}

func inbound(principal, addr string) schema.Inbound {
	return schema.Inbound{Principal: principal, Via: schema.InboundVia{Kind: "socks5", Addr: addr}}
}

func (w *world) agentAccepted() []textRow {
	return []textRow{
		{name: "plain", title: "a good payload", text: w.agentText(func(*schema.Agent) {})},
		{name: "poll-interval-1s", title: "the shortest poll interval", text: w.agentText(func(p *schema.Agent) { p.Sync.PollInterval = "1s" })},
		{name: "poll-interval-24h", title: "the longest poll interval", text: w.agentText(func(p *schema.Agent) { p.Sync.PollInterval = "24h" })},
		{name: "poll-interval-mixed", title: "a poll interval of several units", text: w.agentText(func(p *schema.Agent) { p.Sync.PollInterval = "1h30m0.5s" })},
		{name: "address-ipv6", title: "an IPv6 address", text: w.agentText(func(p *schema.Agent) { p.Inbounds[0].Via.Addr = "[::1]:1081" })},
		{name: "lists-empty", title: "an empty inventory", text: w.agentText(func(p *schema.Agent) { p.Workloads = []schema.Workload{} })},
	}
}

func (w *world) agentShapes() []textRow {
	const malformed, missing, empty = "FL1301 malformed-payload", "FL1303 missing", "FL1304 empty-member"
	return []textRow{
		{name: "unknown-member", title: "a member that the payload may not have", refuse: malformed, text: w.agentEdit(replace(`"sync":{`, `"sync":{"more":1,`)), more: "ENV-2"},
		{name: "member-in-another-case", title: "a member in another case", refuse: malformed, text: w.agentEdit(replace(`"inbounds"`, `"Inbounds"`)), more: "ENV-1"},
		{name: "wrong-type", title: "a list where an object is due", refuse: malformed, text: w.agentEdit(func(t string) string { return replace(`"sync":{`, `"sync":[{`)(strings.TrimSuffix(t, "}}") + "}]}") }), more: "ENV-2"},
		{name: "array", title: "a payload that is an array", refuse: malformed, text: `[]`},
		{name: "newer", title: "a newer version", refuse: "FL1017 schema-too-new", text: w.agentText(func(p *schema.Agent) { p.SchemaVersion = "1.1" }), more: "ENV-14"},
		{name: "older", title: "an older version", refuse: "FL1018 schema-too-old", text: w.agentText(func(p *schema.Agent) { p.SchemaVersion = "0.9" }), more: "ENV-14"},
		{name: "version-no-version", title: "a version that is none", refuse: "FL1016 bad-schema-version", text: w.agentText(func(p *schema.Agent) { p.SchemaVersion = "one" }), more: "ENV-14"},
		{name: "null", title: "a member that is null", refuse: empty, text: w.agentEdit(replace(`"run":["flor-edge"]`, `"run":["flor-edge",null]`))},
		{name: "empty-text", title: "an optional member that is empty", refuse: empty, text: w.agentEdit(replace(`"sync":{`, `"sync":{"poll_interval":"",`))},
		{name: "without-workloads", title: "no inventory", refuse: missing, text: w.agentEdit(replace(`"workloads":[{"name":"flor","run":["flor-edge"]}],`, ""))},
		{name: "without-addr", title: "an inbound without address", refuse: missing, text: w.agentEdit(replace(`,"addr":"127.0.0.1:1081"`, ""))},
		{name: "via-unknown", title: "an inbound of an unknown kind", refuse: "FL1306 unknown-word", text: w.agentText(func(p *schema.Agent) { p.Inbounds[0].Via.Kind = "http" })},
	}
}

func (w *world) agentWorkloads() []textRow {
	const name, run, twice = "FL1307 bad-name", "FL1313 bad-run", "FL1315 duplicate"
	return []textRow{
		{name: "workload-unsafe", title: "a workload whose name is not safe", refuse: name, text: w.agentText(workload("../flor", "flor-edge")), more: "ENV-4"},
		{name: "workload-agent", title: "a workload named agent, in another case", refuse: name, text: w.agentText(workload("Agent", "flor-edge")), more: "ENV-4"},
		{name: "workload-manifest", title: "a workload named manifest", refuse: name, text: w.agentText(workload("manifest", "flor-edge")), more: "ENV-4"},
		{name: "workload-twice", title: "two workloads whose names differ by case only", refuse: twice, text: w.agentText(func(p *schema.Agent) {
			p.Workloads = append(p.Workloads, schema.Workload{Name: "FLOR", Run: []string{"flor-edge"}})
		}), more: "ENV-4"},
		{name: "run-empty", title: "a workload without a program", refuse: run, text: w.agentText(workload("flor", []string{}...))},
		{name: "run-with-arguments", title: "a program with an argument", refuse: run, text: w.agentText(workload("flor", "flor-edge", "--name=x"))},
		{name: "run-a-path", title: "a program by its path", refuse: run, text: w.agentText(workload("flor", "/bin/sh")), more: "SUP-2"},
	}
}

func (w *world) agentInbounds() []textRow {
	const id, kind, address, twice = "FL1308 bad-id", "FL1309 wrong-kind-of-principal", "FL1311 bad-address", "FL1315 duplicate"
	const interval, sync = "FL1312 bad-interval", "FL1316 sync-inbound"
	return []textRow{
		{name: "inbound-not-an-id", title: "a principal that is no SPIFFE ID", refuse: id, text: w.agentText(func(p *schema.Agent) {
			p.Inbounds = append(p.Inbounds, inbound("alice", "127.0.0.1:1082"))
		})},
		{name: "inbound-id-with-a-slash-at-its-end", title: "an ID that ends in a slash", refuse: id, text: w.agentText(func(p *schema.Agent) {
			p.Inbounds = append(p.Inbounds, inbound("spiffe://rete-lovers/user/alice/", "127.0.0.1:1082"))
		})},
		{name: "inbound-id-in-capitals", title: "an ID with a trust domain in capitals", refuse: id, text: w.agentText(func(p *schema.Agent) {
			p.Inbounds = append(p.Inbounds, inbound("spiffe://Rete-lovers/user/alice", "127.0.0.1:1082"))
		})},
		{name: "inbound-of-a-vertex", title: "a vertex opens no flows", refuse: kind, text: w.agentText(func(p *schema.Agent) {
			p.Inbounds = append(p.Inbounds, inbound("spiffe://rete-lovers/vertex/alpha/public", "127.0.0.1:1082"))
		})},
		{name: "coordinator-a-user", title: "a coordinator that is no service", refuse: kind, text: w.agentText(func(p *schema.Agent) { p.Sync.Coordinator = "spiffe://rete-lovers/user/eve" })},
		{name: "address-a-name", title: "an address by name", refuse: address, text: w.agentText(func(p *schema.Agent) { p.Inbounds[0].Via.Addr = "localhost:1081" })},
		{name: "address-port-0", title: "port 0", refuse: address, text: w.agentText(func(p *schema.Agent) { p.Inbounds[0].Via.Addr = "127.0.0.1:0" })},
		{name: "address-port-65536", title: "a port over 65535", refuse: address, text: w.agentText(func(p *schema.Agent) { p.Inbounds[0].Via.Addr = "127.0.0.1:65536" })},
		{name: "address-without-port", title: "an address without port", refuse: address, text: w.agentText(func(p *schema.Agent) { p.Inbounds[0].Via.Addr = "127.0.0.1" })},
		{name: "address-twice", title: "two inbounds at one address", refuse: twice, text: w.agentText(func(p *schema.Agent) {
			p.Inbounds = append(p.Inbounds, inbound("spiffe://rete-lovers/user/alice", "127.0.0.1:1081"))
		})},
		{name: "poll-interval-short", title: "a poll interval under 1s", refuse: interval, text: w.agentText(func(p *schema.Agent) { p.Sync.PollInterval = "999ms" })},
		{name: "poll-interval-long", title: "a poll interval over 24h", refuse: interval, text: w.agentText(func(p *schema.Agent) { p.Sync.PollInterval = "24h0m1s" })},
		{name: "poll-interval-no-unit", title: "a poll interval without unit", refuse: interval, text: w.agentText(func(p *schema.Agent) { p.Sync.PollInterval = "300" })},
		{name: "sync-without-inbound", title: "a sync principal without inbound", refuse: sync, text: w.agentText(func(p *schema.Agent) { p.Sync.Principal = "spiffe://rete-lovers/user/alice" })},
		{name: "sync-with-two-inbounds", title: "a sync principal with two inbounds", refuse: sync, text: w.agentText(func(p *schema.Agent) {
			p.Inbounds = append(p.Inbounds, inbound(p.Sync.Principal, "127.0.0.1:1082"))
		})},
		{name: "signer-a-service", title: "a signer that is a service", refuse: kind, text: w.agentText(func(p *schema.Agent) { p.Trust.Mgmt[0].SPIFFEID = "spiffe://rete-lovers/service/x" }), more: "ENV-10"},
	}
}

func payloadVectors(family, requirements string, rows []textRow) []Vector {
	all := textVectors(family+"-payload", "payload.json", requirements, rows)
	for i := range all {
		all[i].Files["family"] = []byte(family + "\n")
	}
	return all
}

// vertexVectors are about the payload of a vertex, each with one fault.
func vertexVectors() []Vector {
	return payloadVectors("vertex", "ENV-15", slices.Concat(vertexAccepted(), vertexShapes(), vertexParts(), vertexIDs()))
}

// vertexText is a good payload with a change.
func vertexText(change func(*schema.Vertex)) string {
	v := goodVertex()
	change(v)
	return object(v)
}

// vertexEdit is a good payload with a change of its text.
func vertexEdit(change edit) string { return change(vertexText(func(*schema.Vertex) {})) }

// linked adds a link.
func linked(v *schema.Vertex, name, peer string) {
	via := schema.LinkVia{Type: "udp", Adapter: "wire", Addr: "192.0.2.9:4433"}
	v.Links[0].Members = append(v.Links[0].Members, schema.Link{Name: name, Peer: peer, Via: via})
}

func vertexAccepted() []textRow {
	return []textRow{
		{name: "plain", title: "a good payload", text: vertexText(func(*schema.Vertex) {})},
		{name: "tables-absent", title: "links, ingress, egress and revoked may be absent", text: `{"schema_version":"1.0","kind":"link","transport_endpoint":{"type":"quic"},"connection_manager":{"adapters":[{"name":"wire","type":"udp"}]},"workloads":[]}`},
		{name: "embedded", title: "a target that a program serves itself", text: vertexText(func(v *schema.Vertex) { v.Workloads[1].IO = []schema.IO{{Kind: "embedded"}} })},
		{name: "mesh", title: "a mesh vertex over another vertex", text: vertexText(func(v *schema.Vertex) {
			v.Kind = "mesh"
			v.ConnectionManager.Adapters = []schema.Adapter{{Name: "wire", Type: "florio", Vertex: "spiffe://rete-lovers/vertex/alpha/public"}}
			v.Links[0].Members[0].Via = schema.LinkVia{Type: "florio", Adapter: "wire"}
		}), more: "VTX-18"},
	}
}

func vertexShapes() []textRow {
	const missing, stray, word = "FL1303 missing", "FL1305 stray-member", "FL1306 unknown-word"
	return []textRow{
		{name: "unknown-member", title: "a member that the payload may not have", refuse: "FL1301 malformed-payload", text: vertexEdit(replace(`{"schema_version"`, `{"more":1,"schema_version"`)), more: "ENV-2"},
		{name: "newer", title: "a newer version", refuse: "FL1017 schema-too-new", text: vertexText(func(v *schema.Vertex) { v.SchemaVersion = "2.0" }), more: "ENV-14"},
		{name: "kind-unknown", title: "an unknown kind of vertex", refuse: word, text: vertexText(func(v *schema.Vertex) { v.Kind = "star" })},
		{name: "transport-unknown", title: "an unknown transport", refuse: word, text: vertexText(func(v *schema.Vertex) { v.TransportEndpoint.Type = "tcp" })},
		{name: "io-unknown", title: "an unknown io", refuse: word, text: vertexText(func(v *schema.Vertex) { v.Workloads[0].IO = append(v.Workloads[0].IO, schema.IO{Kind: "http"}) })},
		{name: "workloads-absent", title: "no workloads", refuse: missing, text: `{"schema_version":"1.0","kind":"link","transport_endpoint":{"type":"quic"},"connection_manager":{"adapters":[{"name":"wire","type":"udp"}]}}`},
		{name: "allow-absent", title: "a rule without its allow list", refuse: missing, text: vertexEdit(replace(`,"allow":["spiffe://rete-lovers/user/alice","spiffe://rete-lovers/user/bob"]`, ""))},
		{name: "io-stray", title: "a socks5 io with an upstream", refuse: stray, text: vertexText(func(v *schema.Vertex) { v.Workloads[0].IO[0].Upstream = "127.0.0.1:80" })},
		{name: "adapter-stray", title: "a udp adapter with a vertex", refuse: stray, text: vertexText(func(v *schema.Vertex) {
			v.ConnectionManager.Adapters[0].Vertex = "spiffe://rete-lovers/vertex/alpha/public"
		})},
	}
}

func vertexParts() []textRow {
	const clash = "FL1323 hostname-clash"
	return []textRow{
		{name: "no-io", title: "a workload without io", refuse: "FL1317 no-io", text: vertexText(func(v *schema.Vertex) { v.Workloads[2].IO = []schema.IO{} })},
		{name: "link-adapter-undeclared", title: "a link over an adapter that is not there", refuse: "FL1318 bad-adapter", text: vertexText(func(v *schema.Vertex) { v.Links[0].Members[0].Via.Adapter = "other" })},
		{name: "two-udp-adapters", title: "a link vertex with two udp adapters", refuse: "FL1319 udp-adapters", text: vertexText(func(v *schema.Vertex) {
			v.ConnectionManager.Adapters = append(v.ConnectionManager.Adapters, schema.Adapter{Name: "second", Type: "udp"})
		})},
		{name: "egress-unreached", title: "an egress target without a link", refuse: "FL1320 unreached-target", text: vertexText(func(v *schema.Vertex) {
			v.Egress = append(v.Egress, schema.Rule{Target: "spiffe://rete-lovers/service/far", Allow: []string{"spiffe://rete-lovers/user/alice"}})
		}), more: "VTX-4"},
		{name: "ingress-unserved", title: "an ingress target that nobody serves", refuse: "FL1321 unserved-target", text: vertexText(func(v *schema.Vertex) {
			v.Ingress = append(v.Ingress, schema.Rule{Target: "spiffe://rete-lovers/service/far", Allow: []string{"spiffe://rete-lovers/user/alice"}})
		}), more: "VTX-4"},
		{name: "forward-denied", title: "a forward to a target that its principal may not reach", refuse: "FL1322 forward-without-egress", text: vertexText(func(v *schema.Vertex) {
			v.Workloads[2].IO = append(v.Workloads[2].IO, schema.IO{Kind: "forward", Listen: "127.0.0.1:15001", Target: "spiffe://rete-lovers/service/web"})
		}), more: "VTX-19"},
		{name: "hostname-clash", title: "two targets of one hostname", refuse: clash, text: vertexText(func(v *schema.Vertex) {
			linked(v, "clash", "spiffe://rete-lovers/vertex/alpha/ssh")
		}), more: "VTX-2"},
		{name: "hostname-clash-by-case", title: "two targets whose names differ by case only", refuse: clash, text: vertexText(func(v *schema.Vertex) {
			linked(v, "clash", "spiffe://rete-lovers/service/WEB")
		}), more: "VTX-2"},
	}
}

func vertexIDs() []textRow {
	const kind, address, hash, twice = "FL1309 wrong-kind-of-principal", "FL1311 bad-address", "FL1314 bad-hash", "FL1315 duplicate"
	return []textRow{
		{name: "other-trust-domain", title: "IDs of two trust domains", refuse: "FL1310 other-trust-domain", text: vertexText(func(v *schema.Vertex) { v.Egress[0].Allow = append(v.Egress[0].Allow, "spiffe://elsewhere/user/eve") })},
		{name: "allow-of-a-vertex", title: "an allow list with a vertex", refuse: kind, text: vertexText(func(v *schema.Vertex) {
			v.Ingress[0].Allow = append(v.Ingress[0].Allow, "spiffe://rete-lovers/vertex/alpha/public")
		})},
		{name: "link-to-a-user", title: "a link to a user", refuse: kind, text: vertexText(func(v *schema.Vertex) {
			linked(v, "eve", "spiffe://rete-lovers/user/eve")
		})},
		{name: "upstream-a-name", title: "an upstream by name", refuse: address, text: vertexText(func(v *schema.Vertex) { v.Workloads[1].IO[0].Upstream = "db:22" })},
		{name: "listen-twice", title: "two io that listen at one address", refuse: twice, text: vertexText(func(v *schema.Vertex) { v.Workloads[2].IO[0].Listen = "127.0.0.1:1081" })},
		{name: "workload-twice", title: "a principal twice", refuse: twice, text: vertexText(func(v *schema.Vertex) {
			v.Workloads = append(v.Workloads, schema.VertexWorkload{SPIFFEID: v.Workloads[0].SPIFFEID, IO: []schema.IO{{Kind: "socks5", Listen: "127.0.0.1:1099"}}})
		})},
		{name: "rule-twice", title: "two rules for one target", refuse: twice, text: vertexText(func(v *schema.Vertex) { v.Egress = append(v.Egress, v.Egress[0]) })},
		{name: "revoked-in-capitals", title: "a revoked certificate in upper-case hex", refuse: hash, text: vertexText(func(v *schema.Vertex) { v.Revoked = []string{strings.Repeat("AB", 32)} }), more: "PKI-6"},
		{name: "revoked-short", title: "a revoked certificate by a shorter hash", refuse: hash, text: vertexText(func(v *schema.Vertex) { v.Revoked = []string{strings.Repeat("ab", 20)} }), more: "PKI-6"},
	}
}

// goodVertex has two users, one of them with a forward, a service of the node,
// and a link to a service elsewhere.
func goodVertex() *schema.Vertex {
	const text = `{
	"schema_version": "1.0", "kind": "link", "transport_endpoint": {"type": "quic"},
	"connection_manager": {"adapters": [{"name": "wire", "type": "udp", "listen": "0.0.0.0:4433"}]},
	"workloads": [
		{"spiffe_id": "spiffe://rete-lovers/user/alice", "io": [{"kind": "socks5", "listen": "127.0.0.1:1081"},
			{"kind": "forward", "listen": "127.0.0.1:15000", "target": "spiffe://rete-lovers/service/web"}]},
		{"spiffe_id": "spiffe://rete-lovers/service/alpha/ssh", "io": [{"kind": "tcp", "upstream": "127.0.0.1:22"}]},
		{"spiffe_id": "spiffe://rete-lovers/user/bob", "io": [{"kind": "socks5", "listen": "127.0.0.1:1082"}]}],
	"links": [{"type": "list", "members": [{"name": "web", "peer": "spiffe://rete-lovers/service/web",
		"via": {"type": "udp", "adapter": "wire", "addr": "192.0.2.7:4433"}}]}],
	"ingress": [{"target": "spiffe://rete-lovers/service/alpha/ssh", "allow": ["spiffe://rete-lovers/user/alice", "spiffe://rete-lovers/user/bob"]}],
	"egress": [{"target": "spiffe://rete-lovers/service/web", "allow": ["spiffe://rete-lovers/user/alice"]}],
	"revoked": []}`
	v := new(schema.Vertex)
	if err := json.Unmarshal([]byte(text), v); err != nil {
		panic(err)
	}
	return v
}
