package schema_test

import (
	"strings"
	"testing"

	"github.com/florete/flor/envelope/schema"
	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
)

const vertexText = `{
  "schema_version": "1.0",
  "kind": "link",
  "transport_endpoint": {"type": "quic"},
  "connection_manager": {"adapters": [{"name": "wire", "type": "udp", "listen": "192.0.2.1:4433"}]},
  "workloads": [
    {"spiffe_id": "spiffe://rete-lovers/node/alpha", "io": [{"kind": "socks5", "listen": "127.0.0.1:1080"}]},
    {"spiffe_id": "spiffe://rete-lovers/user/eve", "io": [
      {"kind": "socks5", "listen": "127.0.0.1:1081"},
      {"kind": "forward", "listen": "127.0.0.1:5432", "target": "spiffe://rete-lovers/service/db"}
    ]},
    {"spiffe_id": "spiffe://rete-lovers/service/web", "io": [{"kind": "tcp", "upstream": "127.0.0.1:8080"}]},
    {"spiffe_id": "spiffe://rete-lovers/service/alpha/log", "io": [{"kind": "embedded"}]}
  ],
  "links": [{"type": "list", "members": [
    {"name": "db", "peer": "spiffe://rete-lovers/service/db", "via": {"type": "udp", "adapter": "wire", "addr": "192.0.2.2:4433"}}
  ]}],
  "ingress": [{"target": "spiffe://rete-lovers/service/web", "allow": ["spiffe://rete-lovers/user/eve"]}],
  "egress": [
    {"target": "spiffe://rete-lovers/service/db", "allow": ["spiffe://rete-lovers/user/eve"]},
    {"target": "spiffe://rete-lovers/service/web", "allow": ["spiffe://rete-lovers/node/alpha"]}
  ],
  "revoked": ["e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"]
}`

// parseVertex parses and fails the test on an error.
func parseVertex(t testing.TB, text []byte) *schema.Vertex {
	t.Helper()
	v, err := schema.ParseVertex(text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestParseVertexReadsEveryMember(t *testing.T) {
	t.Parallel()
	const td = "spiffe://rete-lovers/"
	want := &schema.Vertex{
		SchemaVersion:     "1.0",
		Kind:              "link",
		TransportEndpoint: schema.TransportEndpoint{Type: "quic"},
		ConnectionManager: schema.ConnectionManager{Adapters: []schema.Adapter{{Name: "wire", Type: "udp", Listen: "192.0.2.1:4433"}}},
		Workloads: []schema.VertexWorkload{
			{SPIFFEID: td + "node/alpha", IO: []schema.IO{{Kind: "socks5", Listen: "127.0.0.1:1080"}}},
			{SPIFFEID: td + "user/eve", IO: []schema.IO{
				{Kind: "socks5", Listen: "127.0.0.1:1081"},
				{Kind: "forward", Listen: "127.0.0.1:5432", Target: td + "service/db"},
			}},
			{SPIFFEID: td + "service/web", IO: []schema.IO{{Kind: "tcp", Upstream: "127.0.0.1:8080"}}},
			{SPIFFEID: td + "service/alpha/log", IO: []schema.IO{{Kind: "embedded"}}},
		},
		Links: []schema.LinkList{{Type: "list", Members: []schema.Link{
			{Name: "db", Peer: td + "service/db", Via: schema.LinkVia{Type: "udp", Adapter: "wire", Addr: "192.0.2.2:4433"}},
		}}},
		Ingress: []schema.Rule{{Target: td + "service/web", Allow: []string{td + "user/eve"}}},
		Egress: []schema.Rule{
			{Target: td + "service/db", Allow: []string{td + "user/eve"}},
			{Target: td + "service/web", Allow: []string{td + "node/alpha"}},
		},
		Revoked: []string{"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
	}
	got := parseVertex(t, []byte(vertexText))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
	text, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, parseVertex(t, text)); diff != "" {
		t.Error(diff)
	}
}

// TestTheProducerWritesEveryList: absent lists are read as empty, and written.
func TestTheProducerWritesEveryList(t *testing.T) {
	t.Parallel()
	v := parseVertex(t, []byte(`{"schema_version":"1.0","kind":"link","transport_endpoint":{"type":"quic"},
		"connection_manager":{"adapters":[{"name":"wire","type":"udp"}]},"workloads":[]}`))
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"schema_version":"1.0","kind":"link","transport_endpoint":{"type":"quic"},` +
		`"connection_manager":{"adapters":[{"name":"wire","type":"udp"}]},"workloads":[],"links":[],"ingress":[],"egress":[],"revoked":[]}`
	if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Error(diff)
	}
}

func TestVerticesThatAreValid(t *testing.T) {
	t.Parallel()
	florio := `"adapters": [{"name": "inner", "type": "florio", "vertex": "spiffe://rete-lovers/vertex/alpha/mesh"}, `
	for name, edit := range map[string][2]string{
		"no listen address":                {`, "listen": "192.0.2.1:4433"`, ``},
		"an IPv6 adapter":                  {`192.0.2.1:4433`, `[2001:db8::1]:4433`},
		"a florio adapter beside":          {`"adapters": [`, florio},
		"a peer that is a vertex":          {`{"name": "db"`, `{"name": "v", "peer": "spiffe://rete-lovers/vertex/beta/wire", "via": {"type": "udp", "adapter": "wire", "addr": "192.0.2.2:4433"}}, {"name": "db"`},
		"a service that dials too":         {`{"kind": "embedded"}`, `{"kind": "embedded"}, {"kind": "socks5", "listen": "127.0.0.1:1082"}`},
		"nobody allowed":                   {`"allow": ["spiffe://rete-lovers/node/alpha"]`, `"allow": []`},
		"a target in both tables":          {`"target": "spiffe://rete-lovers/service/web", "allow": ["spiffe://rete-lovers/node/alpha"]`, `"target": "spiffe://rete-lovers/service/alpha/log", "allow": []`},
		"an embedded service with ingress": {`"ingress": [`, `"ingress": [{"target": "spiffe://rete-lovers/service/alpha/log", "allow": []}, `},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := schema.ParseVertex(replaceOnce(t, vertexText, edit[0], edit[1]))
			wantFaults(t, err)
		})
	}
}

// TestMeshVerticesNeedNotFit: that the parts fit is asked of link vertices.
func TestMeshVerticesNeedNotFit(t *testing.T) {
	t.Parallel()
	loose := `"egress": [{"target": "spiffe://rete-lovers/service/far", "allow": []}, `
	text := replaceOnce(t, vertexText, `"egress": [`, loose)
	_, err := schema.ParseVertex(text)
	wantFaults(t, err, "unreached-target egress[0].target")
	_, err = schema.ParseVertex(replaceOnce(t, string(text), `"kind": "link"`, `"kind": "mesh"`))
	wantFaults(t, err)
}

func TestVertexFaults(t *testing.T) {
	t.Parallel()
	const adapter = `{"name": "wire", "type": "udp", "listen": "192.0.2.1:4433"}`
	const via = `"via": {"type": "udp", "adapter": "wire", "addr": "192.0.2.2:4433"}`
	const db = `{"target": "spiffe://rete-lovers/service/db", "allow": ["spiffe://rete-lovers/user/eve"]}`
	const web = `{"target": "spiffe://rete-lovers/service/web", "allow": ["spiffe://rete-lovers/user/eve"]}`
	tests := map[string]struct {
		old, new string
		want     []string
	}{
		"another kind":                  {`"kind": "link"`, `"kind": "star"`, []string{"unknown-word kind"}},
		"no kind":                       {`"kind": "link",`, ``, []string{"missing kind"}},
		"another transport":             {`"quic"`, `"tcp"`, []string{"unknown-word transport_endpoint.type"}},
		"no connection manager":         {`"connection_manager": {"adapters": [` + adapter + `]},`, ``, []string{"missing connection_manager.adapters", "bad-adapter links[0].members[0].via.adapter", "udp-adapters connection_manager.adapters"}},
		"no udp adapter":                {adapter, ``, []string{"bad-adapter links[0].members[0].via.adapter", "udp-adapters connection_manager.adapters"}},
		"two udp adapters":              {adapter, adapter + `, {"name": "other", "type": "udp"}`, []string{"udp-adapters connection_manager.adapters"}},
		"two adapters of one name":      {adapter, `{"name": "wire", "type": "florio", "vertex": "spiffe://rete-lovers/vertex/a/b"}, ` + adapter, []string{"duplicate connection_manager.adapters[1].name"}},
		"an adapter without a name":     {`{"name": "wire", "type": "udp"`, `{"type": "udp"`, []string{"missing connection_manager.adapters[0].name", "bad-adapter links[0].members[0].via.adapter"}},
		"an adapter of another type":    {adapter, adapter + `, {"name": "x", "type": "tcp"}`, []string{"unknown-word connection_manager.adapters[1].type"}},
		"a udp adapter to a vertex":     {adapter, `{"name": "wire", "type": "udp", "vertex": "spiffe://rete-lovers/vertex/a/b"}`, []string{"stray-member connection_manager.adapters[0].vertex"}},
		"a florio adapter listening":    {adapter, adapter + `, {"name": "x", "type": "florio", "vertex": "spiffe://rete-lovers/vertex/a/b", "listen": "192.0.2.1:1"}`, []string{"stray-member connection_manager.adapters[1].listen"}},
		"a florio adapter to nobody":    {adapter, adapter + `, {"name": "x", "type": "florio"}`, []string{"missing connection_manager.adapters[1].vertex"}},
		"a florio adapter to a node":    {adapter, adapter + `, {"name": "x", "type": "florio", "vertex": "spiffe://rete-lovers/node/a"}`, []string{"wrong-kind-of-principal connection_manager.adapters[1].vertex"}},
		"no io":                         {`[{"kind": "embedded"}]`, `[]`, []string{"no-io workloads[3].io"}},
		"no io written":                 {`, "io": [{"kind": "embedded"}]`, ``, []string{"missing workloads[3].io", "no-io workloads[3].io"}},
		"another io":                    {`{"kind": "embedded"}`, `{"kind": "udp"}`, []string{"unknown-word workloads[3].io[0].kind"}},
		"an io without its members":     {`{"kind": "embedded"}`, `{"kind": "tcp"}, {"kind": "socks5"}, {"kind": "forward"}`, []string{"missing workloads[3].io[0].upstream", "missing workloads[3].io[1].listen", "missing workloads[3].io[2].listen", "missing workloads[3].io[2].target"}},
		"an io with another's":          {`{"kind": "embedded"}`, `{"kind": "embedded", "listen": "127.0.0.1:1", "target": "x", "upstream": "127.0.0.1:2"}`, []string{"stray-member workloads[3].io[0].listen", "stray-member workloads[3].io[0].target", "stray-member workloads[3].io[0].upstream"}},
		"an upstream by hostname":       {`127.0.0.1:8080`, `localhost:8080`, []string{"bad-address workloads[2].io[0].upstream"}},
		"a listen address in use":       {`127.0.0.1:1081`, `127.0.0.1:1080`, []string{"duplicate workloads[1].io[0].listen"}},
		"the same address mapped":       {`127.0.0.1:1081`, `[::ffff:127.0.0.1]:1080`, []string{"duplicate workloads[1].io[0].listen"}},
		"the adapter's address":         {`127.0.0.1:1081`, `192.0.2.1:4433`, []string{"duplicate workloads[1].io[0].listen"}},
		"a workload twice":              {`spiffe://rete-lovers/service/alpha/log`, `spiffe://rete-lovers/service/web`, []string{"duplicate workloads[3].spiffe_id"}},
		"a workload that signs":         {`"spiffe_id": "spiffe://rete-lovers/node/alpha"`, `"spiffe_id": "spiffe://rete-lovers/management-plane/primary"`, []string{"wrong-kind-of-principal workloads[0].spiffe_id"}},
		"another trust domain":          {`spiffe://rete-lovers/service/alpha/log`, `spiffe://rete-haters/service/alpha/log`, []string{"other-trust-domain workloads[3].spiffe_id"}},
		"another trust domain to allow": {`"allow": ["spiffe://rete-lovers/node/alpha"]`, `"allow": ["spiffe://rete-haters/node/alpha"]`, []string{"other-trust-domain egress[1].allow[0]"}},
		"links of another type":         {`"type": "list"`, `"type": "tree"`, []string{"unknown-word links[0].type"}},
		"links without members":         {`[{"type": "list", "members"`, `[{"type": "list"}, {"type": "list", "members"`, []string{"missing links[0].members"}},
		"two links of one name":         {`{"name": "db"`, `{"name": "db", "peer": "spiffe://rete-lovers/service/x", ` + via + `}, {"name": "db"`, []string{"duplicate links[0].members[1].name"}},
		"a link without a name":         {`{"name": "db", `, `{`, []string{"missing links[0].members[0].name"}},
		"a peer that is a user":         {`"peer": "spiffe://rete-lovers/service/db"`, `"peer": "spiffe://rete-lovers/user/db"`, []string{"wrong-kind-of-principal links[0].members[0].peer", "unreached-target egress[0].target"}},
		"an adapter not declared":       {via, strings.Replace(via, "wire", "air", 1), []string{"bad-adapter links[0].members[0].via.adapter"}},
		"an adapter of other type":      {via, `"via": {"type": "florio", "adapter": "wire"}`, []string{"bad-adapter links[0].members[0].via.adapter"}},
		"a link of another type":        {via, `"via": {"type": "tcp", "adapter": "wire"}`, []string{"unknown-word links[0].members[0].via.type", "bad-adapter links[0].members[0].via.adapter"}},
		"a link without an adapter":     {via, strings.Replace(via, `"adapter": "wire", `, "", 1), []string{"missing links[0].members[0].via.adapter"}},
		"a link to a hostname":          {via, strings.Replace(via, "192.0.2.2", "beta", 1), []string{"bad-address links[0].members[0].via.addr"}},
		"a link without an address":     {via, strings.Replace(via, `, "addr": "192.0.2.2:4433"`, "", 1), []string{"missing links[0].members[0].via.addr"}},
		"a target twice":                {web, web + ", " + web, []string{"duplicate ingress[1].target"}},
		"a rule without allow":          {web, `{"target": "spiffe://rete-lovers/service/web"}`, []string{"missing ingress[0].allow"}},
		"a rule without target":         {web, `{"allow": []}`, []string{"missing ingress[0].target"}},
		"a rule that allows a vertex":   {web, `{"target": "spiffe://rete-lovers/service/web", "allow": ["spiffe://rete-lovers/vertex/a/b"]}`, []string{"wrong-kind-of-principal ingress[0].allow[0]"}},
		"ingress to a peer's service":   {web, db, []string{"unserved-target ingress[0].target"}},
		"egress to nowhere":             {`"egress": [`, `"egress": [{"target": "spiffe://rete-lovers/service/far", "allow": []}, `, []string{"unreached-target egress[0].target"}},
		"a forward without egress":      {db, `{"target": "spiffe://rete-lovers/service/db", "allow": ["spiffe://rete-lovers/node/alpha"]}`, []string{"forward-without-egress workloads[1].io[1].target"}},
		"a hash in capitals":            {`e3b0c442`, `E3B0C442`, []string{"bad-hash revoked[0]"}},
		"a hash cut short":              {`e3b0c442`, `e3b0c4`, []string{"bad-hash revoked[0]"}},
		"two IDs of one hostname":       {`"peer": "spiffe://rete-lovers/service/db"`, `"peer": "spiffe://rete-lovers/vertex/alpha/log"`, []string{"unreached-target egress[0].target", "hostname-clash links[0].members[0].peer"}},
		"two IDs that differ by case":   {`{"name": "db"`, `{"name": "DB", "peer": "spiffe://rete-lovers/service/DB", ` + via + `}, {"name": "db"`, []string{"hostname-clash links[0].members[0].peer"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := schema.ParseVertex(replaceOnce(t, vertexText, tc.old, tc.new))
			wantFaults(t, err, tc.want...)
		})
	}
}

// TestHostnameTooLong: an ID may be longer than a hostname.
func TestHostnameTooLong(t *testing.T) {
	t.Parallel()
	long := "spiffe://rete-lovers/service/" + strings.Repeat("x", 250)
	_, err := schema.ParseVertex(replaceOnce(t, vertexText, `"egress": [`, `"egress": [{"target": "`+long+`", "allow": []}, {"target": "`+long+`2", "allow": []}, `))
	wantFaults(t, err, "unreached-target egress[0].target", "unreached-target egress[1].target", "bad-hostname egress[0].target", "bad-hostname egress[1].target")
}

func TestIngressToAWorkloadThatServesNothing(t *testing.T) {
	t.Parallel()
	_, err := schema.ParseVertex(replaceOnce(t, vertexText, `{"kind": "tcp", "upstream": "127.0.0.1:8080"}`, `{"kind": "florio"}`))
	wantFaults(t, err, "unserved-target ingress[0].target", "unreached-target egress[1].target")
}
