package mint

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/florete/flor/envelope/schema"
)

// setVectors are about set documents and coherence: ENV-17 and ENV-18.
func (w *world) setVectors() []Vector {
	return w.setRows("set", slices.Concat(w.setAccepted(), setDocuments(), w.setMembers(), w.setInventory(), w.setRoots()))
}

// another is one more artifact of alpha.
func another(name string, version uint64, by *Identity) *Artifact {
	return newArtifact(node, name, version, `{"schema_version": "1.0"}`, by)
}

// listed is one more workload of an inventory.
func listed(name string) schema.Workload {
	return schema.Workload{Name: name, Run: []string{"flor-edge"}}
}

// doc makes a change of the whole document.
func doc(change edit) func(*set) { return func(s *set) { s.doc = change } }

func (w *world) setAccepted() []setRow {
	return []setRow{
		{"root-last", "the order of members does not matter", "", "ENV-17", func(s *set) { s.root, s.edge = s.edge, s.root; s.edge.Payload = object(s.payload) }},
		{"root-alone", "an empty inventory", "", "ENV-18", func(s *set) { s.edge, s.payload.Workloads = nil, []schema.Workload{} }},
		{"three-members", "an inventory of two", "", "ENV-18", func(s *set) {
			s.payload.Workloads = append(s.payload.Workloads, listed("flor"))
			s.more = []*Artifact{another("flor", version, w.primary)}
		}},
		{"a-new-node-name", "names of nodes and members may have capitals", "", "ENV-4 ENV-18", func(s *set) {
			s.payload.Workloads[0].Name = "Edge"
			s.edge.Name = `"Edge"`
		}},
	}
}

func setDocuments() []setRow {
	return []setRow{
		{"no-members", "a set document without members", "FL1019 empty-set", "ENV-17", doc(func(string) string { return "{\"artifacts\":[\n]}\n" })},
		{"no-artifacts", "a set document without artifacts", "FL1008 missing-member", "ENV-17", doc(func(string) string { return "{}\n" })},
		{"not-an-object", "a set document that is an array", "FL1010 wrong-type", "ENV-17", doc(func(d string) string {
			return strings.TrimSuffix(strings.TrimPrefix(d, `{"artifacts":`), "}\n")
		})},
		{"artifacts-an-object", "artifacts is an object", "FL1010 wrong-type", "ENV-17", doc(func(string) string { return `{"artifacts":{}}` })},
		{"artifacts-null", "artifacts is null", "FL1010 wrong-type", "ENV-17", doc(func(string) string { return `{"artifacts":null}` })},
		{"member-a-string", "a member is a string", "FL1010 wrong-type", "ENV-17", doc(replace("\n]}", ",\n\"edge\"\n]}"))},
		{"more-in-the-document", "a set document with another member after artifacts", "FL1007 unknown-member", "ENV-17", doc(replace("\n]}", "\n],\"more\":1}"))},
		{"more-before", "a set document with another member before artifacts", "FL1007 unknown-member", "ENV-17", doc(replace(`{"artifacts"`, `{"more":1,"artifacts"`))},
		{"artifacts-twice", "artifacts twice", "FL1003 duplicate-name", "ENV-1 ENV-17", doc(replace("\n]}", "\n],\"artifacts\":[]}"))},
		{"artifacts-in-capitals", "artifacts in another case", "FL1004 name-case", "ENV-1 ENV-17", doc(replace("artifacts", "Artifacts"))},
	}
}

func (w *world) setMembers() []setRow {
	return []setRow{
		{"257-members", "more members than a node may have", "FL1201 too-many-members", "ENV-17 ENV-18", doc(func(string) string {
			return `{"artifacts":[` + strings.Repeat("{},", 256) + "{}]}\n"
		})},
		{"no-root", "no member is named agent", "FL1202 no-root", "ENV-18", func(s *set) { s.root = nil }},
		{"root-in-capitals", "a member named Agent is no root", "FL1202 no-root", "ENV-18", func(s *set) { s.root.Name = `"Agent"` }},
		{"two-roots", "two members are named agent", "FL1203 two-roots", "ENV-18", func(s *set) {
			s.more = []*Artifact{newArtifact(node, "agent", version, object(s.payload), w.primary)}
		}},
		{"member-of-ctrl", "a member is of plane ctrl", "FL1204 wrong-plane", "ENV-18", func(s *set) {
			s.payload.Trust.Ctrl = block(w.ctrl).Mgmt
			s.edge.Plane = `{"ctrl": {"obeys_mgmt_version": 42}}`
			s.edge.By, s.edge.KeyID = w.ctrl, quote(w.ctrl.ID)
		}},
		{"member-of-another-node", "a member is for another node", "FL1205 wrong-node", "ENV-18", edge(func(a *Artifact) { a.Node = `"beta"` })},
		{"member-of-the-node-in-capitals", "a member is for the node in another case", "FL1205 wrong-node", "ENV-18", edge(func(a *Artifact) { a.Node = `"Alpha"` })},
		{"set-of-another-node", "the whole set is for another node", "FL1205 wrong-node", "ENV-18 AGT-4", func(s *set) { s.node = "beta" }},
		{"member-older", "a member is of an older version than the root", "FL1206 wrong-version", "ENV-18", edge(func(a *Artifact) { a.Version = "41" })},
		{"member-newer", "a member is of a newer version than the root", "FL1206 wrong-version", "ENV-18", edge(func(a *Artifact) { a.Version = "43" })},
		{"member-twice", "a member is there twice", "FL1207 duplicate-member", "ENV-18", func(s *set) { s.more = []*Artifact{another("edge", version, w.primary)} }},
		{"member-twice-by-case", "two members differ by case only", "FL1207 duplicate-member", "ENV-4 ENV-18", func(s *set) { s.more = []*Artifact{another("EDGE", version, w.primary)} }},
		{"root-twice-by-case", "a member is named like the root in another case", "FL1207 duplicate-member", "ENV-4 ENV-18", func(s *set) { s.more = []*Artifact{another("AGENT", version, w.primary)} }},
	}
}

func (w *world) setInventory() []setRow {
	return []setRow{
		{"member-missing", "a workload of the inventory has no member", "FL1209 missing-member", "ENV-18", func(s *set) { s.payload.Workloads = append(s.payload.Workloads, listed("flor")) }},
		{"member-missing-by-case", "a workload of the inventory has a member in another case", "FL1209 missing-member", "ENV-18", func(s *set) { s.payload.Workloads[0] = listed("Edge") }},
		{"member-unlisted", "a member that the inventory does not name", "FL1210 unlisted-member", "ENV-18", func(s *set) { s.more = []*Artifact{another("flor", version, w.primary)} }},
		{"foreign-coordinator", "the coordinator is of another trust domain", "FL1211 foreign-id", "ENV-18", func(s *set) { s.payload.Sync.Coordinator = "spiffe://elsewhere/service/coordinator" }},
		{"foreign-principal", "a principal is of another trust domain", "FL1211 foreign-id", "ENV-18", func(s *set) {
			s.payload.Inbounds[0].Principal = "spiffe://elsewhere/node/alpha"
			s.payload.Sync.Principal = "spiffe://elsewhere/node/alpha"
		}},
		{"foreign-inbound", "an inbound is of another trust domain", "FL1211 foreign-id", "ENV-18", func(s *set) {
			s.payload.Inbounds = append(s.payload.Inbounds, schema.Inbound{
				Principal: "spiffe://elsewhere/user/eve", Via: schema.InboundVia{Kind: "socks5", Addr: "127.0.0.1:1082"}})
		}},
		{"mixed-signers", "a member is signed by another signer of the block", "FL1212 mixed-signers", "ENV-12 ENV-18", func(s *set) {
			s.lists(w.primary, w.second)
			s.edge.By, s.edge.KeyID = w.second, quote(w.second.ID)
		}},
	}
}

func (w *world) setRoots() []setRow {
	return []setRow{
		{"root-payload-a-string", "the root's payload is a string", "FL1109 bad-root-payload", "ENV-5 ENV-12", func(s *set) { s.reads = func(string) string { return `"words"` } }},
		{"root-payload-unknown-member", "the root's payload has a member that it may not have", "FL1109 bad-root-payload", "ENV-12", func(s *set) { s.reads = replace(`{"schema_version"`, `{"more":1,"schema_version"`) }},
		{"root-payload-without-trust", "the root's payload has no trust block", "FL1109 bad-root-payload", "ENV-12", func(s *set) { s.reads = withoutTrust }},
		{"root-payload-no-signer", "the root's trust block lists nobody", "FL1109 bad-root-payload", "ENV-10 ENV-12", func(s *set) { s.lists() }},
		{"root-payload-user-as-signer", "the root's trust block lists a user", "FL1109 bad-root-payload", "ENV-10", func(s *set) {
			s.payload.Trust.Mgmt = append(s.payload.Trust.Mgmt, w.ca.Issue("/user/eve", "eve", extUsages()).Entry())
		}},
	}
}

func withoutTrust(payload string) string {
	var members map[string]json.RawMessage
	if err := json.Unmarshal([]byte(payload), &members); err != nil {
		panic(err)
	}
	delete(members, "trust")
	return object(members)
}

// markVectors are about what a node has accepted before: AGT-4.
func (w *world) markVectors() []Vector {
	at := func(mark uint64) func(*set) { return func(s *set) { s.mark = mark } }
	const far = 1 << 20
	return w.setRows("mark", []setRow{
		{"equal", "the version that is the mark", "", "AGT-4", at(version)},
		{"far", "a version 2^20 above the mark", "", "AGT-4", func(s *set) { s.root.Version, s.edge.Version = sprintf("%d", far+7), sprintf("%d", far+7); s.mark = 7 }},
		{"below", "a version below the mark", "FL1401 replay", "AGT-4", at(version + 1)},
		{"far-below", "a version far below the mark", "FL1401 replay", "AGT-4", at(1<<53 - 1)},
		{"too-far", "a version more than 2^20 above the mark", "FL1402 version-jump", "AGT-4", func(s *set) { s.root.Version, s.edge.Version = sprintf("%d", far+8), sprintf("%d", far+8); s.mark = 7 }},
		{"forged-and-below", "what does not verify is no replay", "FL1104 bad-signature", "AGT-4 ENV-11", func(s *set) {
			s.mark = version + 1
			s.edge.after(replace(Now, "2026-04-20T12:00:01Z"))
		}},
	})
}

// routeVectors are about the routing core: ENV-16.
func (w *world) routeVectors() []Vector {
	good := func(change func(*Artifact)) string {
		a := newArtifact(node, "edge", version, `{"schema_version": "1.0"}`, w.primary)
		change(a)
		return a.Text()
	}
	text := func(change edit) string { return good(func(a *Artifact) { a.before(change) }) }
	const core = "mgmt alpha edge 42 1.0"
	return textVectors("route", "artifact.json", "ENV-16", []textRow{
		{name: "plain", title: "a good artifact", text: good(func(*Artifact) {}), output: core},
		{name: "ctrl", title: "an artifact of ctrl", text: good(func(a *Artifact) { a.Plane = `{"ctrl": {"obeys_mgmt_version": 1}}` }), output: "ctrl alpha edge 42 1.0"},
		{name: "core-alone", title: "nothing but the routing core", text: `{"schema_version":"1.0","plane":"mgmt","version":42,"node":"alpha","name":"edge"}`, output: core},
		{name: "newer-major", title: "an unknown major version passes", text: good(func(a *Artifact) { a.SchemaVersion = `"7.3"` }), output: "mgmt alpha edge 42 7.3"},
		{name: "unknown-member", title: "an unknown member passes", text: text(replace("{\n", "{\n  \"more\": 1,\n")), output: core},
		{name: "unknown-in-ctrl", title: "what is inside ctrl is not looked at", text: good(func(a *Artifact) { a.Plane = `{"ctrl": [7]}` }), output: "ctrl alpha edge 42 1.0"},
		{name: "duplicate-deep", title: "a name twice inside the payload passes", text: good(func(a *Artifact) { a.Payload = `{"a": 1, "a": 2}` }), output: core},
		{name: "inexact-number", title: "a number that no double holds passes", text: good(func(a *Artifact) { a.Payload = `1e400` }), output: core},
		{name: "payload-null", title: "a payload that is null passes", text: good(func(a *Artifact) { a.Payload = `null` }), output: core},
		{name: "case-of-payload", title: "a name in another case that does not route passes", text: text(replace(`"payload"`, `"PAYLOAD"`)), output: core},
		{name: "escaped-name", title: "names are compared after unescaping", text: text(replace(`"node"`, `"\u006eode"`)), output: core},
		{name: "refused-duplicate", title: "a name twice at the top", refuse: "FL1003 duplicate-name", text: text(replace("{\n", "{\n  \"node\": \"beta\",\n")), more: "ENV-1"},
		{name: "refused-duplicate-unknown", title: "an unknown name twice at the top", refuse: "FL1003 duplicate-name", text: text(replace("{\n", "{\n  \"x\": 1, \"x\": 1,\n"))},
		{name: "refused-case", title: "a routing name in another case", refuse: "FL1004 name-case", text: text(replace(`"version"`, `"Version"`))},
		{name: "refused-case-beside", title: "a routing name beside itself in another case", refuse: "FL1004 name-case", text: text(replace("{\n", "{\n  \"NAME\": 1,\n"))},
		{name: "refused-array", title: "an array", refuse: "FL1006 not-an-object", text: `[]`},
		{name: "refused-two", title: "two texts", refuse: "FL1002 not-json", text: `{} {}`},
		{name: "refused-missing", title: "a routing member is absent", refuse: "FL1008 missing-member", text: text(without("node"))},
		{name: "refused-null", title: "a routing member is null", refuse: "FL1009 null-member", text: text(nullify("version"))},
		{name: "refused-type", title: "a routing member of the wrong type", refuse: "FL1010 wrong-type", text: good(func(a *Artifact) { a.Version = `"42"` })},
		{name: "refused-plane", title: "a plane that is none", refuse: "FL1011 bad-plane", text: good(func(a *Artifact) { a.Plane = `"data"` })},
		{name: "refused-version", title: "a version that is none", refuse: "FL1012 bad-version", text: good(func(a *Artifact) { a.Version = `1.5` })},
		{name: "refused-name", title: "a name that is not safe", refuse: "FL1013 unsafe-name", text: good(func(a *Artifact) { a.Name = `"../edge"` }), more: "ENV-4"},
		{name: "refused-schema-version", title: "a schema_version that is none", refuse: "FL1016 bad-schema-version", text: good(func(a *Artifact) { a.SchemaVersion = `"one"` }), more: "ENV-14"},
		{name: "refused-deep", title: "65 levels", refuse: "FL1005 too-deep", text: good(func(a *Artifact) { a.Payload = nested(64) }), more: "ENV-1"},
	})
}

// hostnameVectors are about the names of targets: VTX-2 and VTX-10.
func hostnameVectors() []Vector {
	const none = "FL1324 bad-hostname"
	asked := func(host string) string {
		return object(map[string]string{"trust_domain": domain, "hostname": host}) + "\n"
	}
	named := func(id string) string { return object(map[string]string{"spiffe_id": id}) + "\n" }
	to := textVectors("hostname", "hostname.json", "VTX-10", []textRow{
		{name: "service", title: "one label is a service of the rete", text: asked("api.rete-lovers.rete"), output: "spiffe://rete-lovers/service/api"},
		{name: "node-service", title: "two labels are a service of a node", text: asked("ssh.alpha.rete-lovers.rete"), output: "spiffe://rete-lovers/service/alpha/ssh"},
		{name: "any-case", title: "letters in any case", text: asked("API.Rete-Lovers.RETE"), output: "spiffe://rete-lovers/service/api"},
		{name: "trailing-dot", title: "one dot at the end is tolerated", text: asked("api.rete-lovers.rete."), output: "spiffe://rete-lovers/service/api"},
		{name: "two-trailing-dots", title: "two dots at the end are not", refuse: none, text: asked("api.rete-lovers.rete..")},
		{name: "another-trust-domain", title: "a name of another trust domain", refuse: none, text: asked("api.elsewhere.rete")},
		{name: "longer-trust-domain", title: "a trust domain that only ends like this one", refuse: none, text: asked("api.old-rete-lovers.rete")},
		{name: "trust-domain-alone", title: "the trust domain without a service", refuse: none, text: asked("rete-lovers.rete")},
		{name: "no-label", title: "an empty label", refuse: none, text: asked(".rete-lovers.rete")},
		{name: "empty-label-between", title: "an empty label between two dots", refuse: none, text: asked("ssh..rete-lovers.rete")},
		{name: "three-labels", title: "three labels", refuse: none, text: asked("a.b.c.rete-lovers.rete")},
		{name: "without-rete", title: "a name that does not end in .rete", refuse: none, text: asked("api.rete-lovers")},
		{name: "an-address", title: "an IP address", refuse: none, text: asked("127.0.0.1")},
		{name: "empty", title: "an empty name", refuse: none, text: asked("")},
		{name: "a-slash", title: "a label with a slash", refuse: none, text: asked("a/b.rete-lovers.rete")},
		{name: "an-umlaut", title: "a label with a letter beyond ASCII", refuse: none, text: asked("kühl.rete-lovers.rete")},
		{name: "of-255", title: "a name over 253 octets", refuse: none, text: asked(strings.Repeat("a", 239) + ".rete-lovers.rete")},
		{name: "of-253", title: "a name of 253 octets", text: asked(strings.Repeat("a", 236) + ".rete-lovers.rete"), output: "spiffe://rete-lovers/service/" + strings.Repeat("a", 236)},
	})
	from := textVectors("hostname", "id.json", "VTX-2", []textRow{
		{name: "of-a-service", title: "the name of a service", text: named("spiffe://rete-lovers/service/api"), output: "api.rete-lovers.rete"},
		{name: "of-a-node-service", title: "the name of a node's service", text: named("spiffe://rete-lovers/service/alpha/ssh"), output: "ssh.alpha.rete-lovers.rete"},
		{name: "of-a-vertex", title: "the name of a vertex", text: named("spiffe://rete-lovers/vertex/alpha/public"), output: "public.alpha.rete-lovers.rete"},
		{name: "in-lower-case", title: "names are in lower case", text: named("spiffe://rete-lovers/service/Api"), output: "api.rete-lovers.rete"},
		{name: "of-a-user", title: "a user is never a target", refuse: none, text: named("spiffe://rete-lovers/user/alice")},
		{name: "of-a-node", title: "a node is never a target", refuse: none, text: named("spiffe://rete-lovers/node/alpha")},
		{name: "of-a-vertex-without-node", title: "a vertex without its node", refuse: none, text: named("spiffe://rete-lovers/vertex/public")},
		{name: "of-too-many-segments", title: "a service with three segments", refuse: none, text: named("spiffe://rete-lovers/service/a/b/c")},
		{name: "of-an-unknown-kind", title: "an ID of no kind", refuse: none, text: named("spiffe://rete-lovers/printer/x")},
		{name: "of-254", title: "an ID whose name is over 253 octets", refuse: none, text: named("spiffe://rete-lovers/service/" + strings.Repeat("a", 237))},
	})
	return append(to, from...)
}
