package schema_test

import (
	"testing"
	"time"

	"github.com/florete/flor/envelope"
	"github.com/florete/flor/envelope/envelopetest"
	"github.com/florete/flor/envelope/schema"
	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
)

const agentText = `{
  "schema_version": "1.0",
  "trust": {"authorized_mgmt_signers": [
    {"spiffe_id": "spiffe://rete-lovers/management-plane/primary", "pubkey": "AAAA", "cert": "BBBB"}
  ]},
  "workloads": [{"name": "wire", "run": ["flor-vertex"]}, {"name": "relay", "run": ["flor-coordinator"]}],
  "inbounds": [{"principal": "spiffe://rete-lovers/node/alpha", "via": {"kind": "socks5", "addr": "127.0.0.1:1080"}}],
  "sync": {"principal": "spiffe://rete-lovers/node/alpha", "coordinator": "spiffe://rete-lovers/service/coordinator", "poll_interval": "5m"}
}`

func TestParseAgentReadsEveryMember(t *testing.T) {
	t.Parallel()
	got, err := schema.ParseAgent([]byte(agentText))
	if err != nil {
		t.Fatal(err)
	}
	want := &schema.Agent{
		SchemaVersion: "1.0",
		Trust: envelope.Block{Mgmt: []envelope.Entry{
			{SPIFFEID: "spiffe://rete-lovers/management-plane/primary", Pubkey: "AAAA", Cert: "BBBB"},
		}},
		Workloads: []schema.Workload{{Name: "wire", Run: []string{"flor-vertex"}}, {Name: "relay", Run: []string{"flor-coordinator"}}},
		Inbounds:  []schema.Inbound{{Principal: "spiffe://rete-lovers/node/alpha", Via: schema.InboundVia{Kind: "socks5", Addr: "127.0.0.1:1080"}}},
		Sync:      schema.Sync{Principal: "spiffe://rete-lovers/node/alpha", Coordinator: "spiffe://rete-lovers/service/coordinator", PollInterval: "5m"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAgentsThatAreValid(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string][2]string{
		"an inventory that is empty":       {`[{"name": "wire", "run": ["flor-vertex"]}, {"name": "relay", "run": ["flor-coordinator"]}]`, `[]`},
		"no poll interval":                 {`, "poll_interval": "5m"`, ``},
		"the shortest poll interval":       {`"5m"`, `"1s"`},
		"the longest poll interval":        {`"5m"`, `"24h"`},
		"an IPv6 inbound":                  {`"127.0.0.1:1080"`, `"[::1]:1080"`},
		"ctrl signers":                     {`"BBBB"}`, `"BBBB"}], "authorized_ctrl_signers": [{"spiffe_id": "spiffe://rete-lovers/control-plane/mesh", "pubkey": "CCCC", "cert": "DDDD"}`},
		"an inbound of a user":             {`"inbounds": [`, `"inbounds": [{"principal": "spiffe://rete-lovers/user/eve", "via": {"kind": "socks5", "addr": "127.0.0.1:1081"}}, `},
		"a program run by two workloads":   {`["flor-coordinator"]`, `["flor-vertex"]`},
		"a signer of another trust domain": {`spiffe://rete-lovers/management-plane`, `spiffe://rete-haters/management-plane`}, // CheckSet's business
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := schema.ParseAgent(replaceOnce(t, agentText, edit[0], edit[1]))
			wantFaults(t, err)
		})
	}
}

func TestAgentFaults(t *testing.T) {
	t.Parallel()
	principal := `"sync": {"principal": "spiffe://rete-lovers/node/alpha"`
	tests := map[string]struct {
		old, new string
		want     []string
	}{
		"no signers":                   {`{"spiffe_id": "spiffe://rete-lovers/management-plane/primary", "pubkey": "AAAA", "cert": "BBBB"}`, ``, []string{"missing trust.authorized_mgmt_signers"}},
		"no trust block":               {`"trust"`, `"trust": {}, "trust_"`, []string{"malformed-payload payload"}},
		"a signer without a cert":      {`, "cert": "BBBB"`, ``, []string{"missing trust.authorized_mgmt_signers[0].cert"}},
		"a signer without a pubkey":    {`"pubkey": "AAAA", `, ``, []string{"missing trust.authorized_mgmt_signers[0].pubkey"}},
		"a signer that is a user":      {`management-plane/primary`, `user/eve`, []string{"wrong-kind-of-principal trust.authorized_mgmt_signers[0].spiffe_id"}},
		"no inventory":                 {`"workloads": [{"name": "wire", "run": ["flor-vertex"]}, {"name": "relay", "run": ["flor-coordinator"]}],`, ``, []string{"missing workloads"}},
		"no inbounds":                  {`"inbounds": [{"principal": "spiffe://rete-lovers/node/alpha", "via": {"kind": "socks5", "addr": "127.0.0.1:1080"}}],`, ``, []string{"missing inbounds", "sync-inbound sync.principal"}},
		"an unsafe workload name":      {`"relay"`, `"../relay"`, []string{"bad-name workloads[1].name"}},
		"a workload named agent":       {`"relay"`, `"Agent"`, []string{"bad-name workloads[1].name"}},
		"a workload named manifest":    {`"relay"`, `"MANIFEST"`, []string{"bad-name workloads[1].name"}},
		"two workloads of one name":    {`"relay"`, `"WIRE"`, []string{"duplicate workloads[1].name"}},
		"a workload without a name":    {`"name": "relay", `, ``, []string{"bad-name workloads[1].name"}},
		"a program with arguments":     {`["flor-vertex"]`, `["flor-vertex", "-v"]`, []string{"bad-run workloads[0].run"}},
		"no program":                   {`["flor-vertex"]`, `[]`, []string{"bad-run workloads[0].run"}},
		"a program by path":            {`["flor-vertex"]`, `["/bin/sh"]`, []string{"bad-run workloads[0].run[0]"}},
		"a program that is a flag":     {`["flor-vertex"]`, `["-c"]`, []string{"bad-run workloads[0].run[0]"}},
		"an inbound of another kind":   {`"socks5"`, `"http"`, []string{"unknown-word inbounds[0].via.kind"}},
		"an inbound without a kind":    {`"kind": "socks5", `, ``, []string{"missing inbounds[0].via.kind"}},
		"an inbound at a hostname":     {`"127.0.0.1:1080"`, `"localhost:1080"`, []string{"bad-address inbounds[0].via.addr"}},
		"an inbound without a port":    {`"127.0.0.1:1080"`, `"127.0.0.1"`, []string{"bad-address inbounds[0].via.addr"}},
		"an inbound at port 0":         {`"127.0.0.1:1080"`, `"127.0.0.1:0"`, []string{"bad-address inbounds[0].via.addr"}},
		"an inbound of a vertex":       {`[{"principal": "spiffe://rete-lovers/node/alpha"`, `[{"principal": "spiffe://rete-lovers/vertex/alpha/wire"`, []string{"wrong-kind-of-principal inbounds[0].principal", "sync-inbound sync.principal"}},
		"two inbounds at one address":  {`"inbounds": [`, `"inbounds": [{"principal": "spiffe://rete-lovers/user/eve", "via": {"kind": "socks5", "addr": "127.0.0.1:1080"}}, `, []string{"duplicate inbounds[1].via.addr"}},
		"two inbounds of the syncer":   {`"inbounds": [`, `"inbounds": [{"principal": "spiffe://rete-lovers/node/alpha", "via": {"kind": "socks5", "addr": "127.0.0.1:1081"}}, `, []string{"sync-inbound sync.principal"}},
		"a syncer without inbound":     {principal, `"sync": {"principal": "spiffe://rete-lovers/user/eve"`, []string{"sync-inbound sync.principal"}},
		"a syncer that is no ID":       {principal, `"sync": {"principal": "alpha"`, []string{"bad-id sync.principal"}},
		"no syncer":                    {principal + `, `, `"sync": {`, []string{"missing sync.principal"}},
		"a coordinator that is a node": {`service/coordinator`, `node/coordinator`, []string{"wrong-kind-of-principal sync.coordinator"}},
		"an interval too short":        {`"5m"`, `"999ms"`, []string{"bad-interval sync.poll_interval"}},
		"an interval too long":         {`"5m"`, `"24h1s"`, []string{"bad-interval sync.poll_interval"}},
		"an interval that is none":     {`"5m"`, `"five minutes"`, []string{"bad-interval sync.poll_interval"}},
		"a negative interval":          {`"5m"`, `"-5m"`, []string{"bad-interval sync.poll_interval"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := schema.ParseAgent(replaceOnce(t, agentText, tc.old, tc.new))
			wantFaults(t, err, tc.want...)
		})
	}
}

// TestAgentValidateReportsEveryFault: not the first alone.
func TestAgentValidateReportsEveryFault(t *testing.T) {
	t.Parallel()
	a := &schema.Agent{
		SchemaVersion: "1.1",
		Workloads:     []schema.Workload{{Name: "agent", Run: []string{"a", "b"}}, {Name: "", Run: []string{"/"}}},
		Inbounds:      []schema.Inbound{{Via: schema.InboundVia{Kind: "tcp", Addr: "x"}}},
		Sync:          schema.Sync{Principal: "x", PollInterval: "x"},
	}
	wantFaults(t, a.Validate(),
		"payload-version schema_version",
		"missing trust.authorized_mgmt_signers",
		"bad-name workloads[0].name",
		"bad-run workloads[0].run",
		"bad-name workloads[1].name",
		"bad-run workloads[1].run[0]",
		"missing inbounds[0].principal",
		"unknown-word inbounds[0].via.kind",
		"bad-address inbounds[0].via.addr",
		"missing sync.coordinator",
		"bad-interval sync.poll_interval",
		"bad-id sync.principal",
	)
}

// TestAgentsRoundTrip: what is written reads back the same, lists that are nil
// included.
func TestAgentsRoundTrip(t *testing.T) {
	t.Parallel()
	ca := envelopetest.NewAuthority("rete-lovers")
	want := ca.AgentPayload("alpha", envelopetest.Block(ca.Signer("primary")))
	want.Workloads = nil
	if err := want.Validate(); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	got, err := schema.ParseAgent(text)
	if err != nil {
		t.Fatal(err)
	}
	want.Workloads = []schema.Workload{}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A payload that is none is a fault, and no panic.
func TestNoPayloadIsAFault(t *testing.T) {
	t.Parallel()
	wantFaults(t, (*schema.Agent)(nil).Validate(), "malformed-payload payload")
	wantFaults(t, (*schema.Vertex)(nil).Validate(), "malformed-payload payload")
}

func TestPollInterval(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"": 5 * time.Minute, "90s": 90 * time.Second, "24h": 24 * time.Hour, "25h": 5 * time.Minute, "x": 5 * time.Minute,
	} {
		if got := (schema.Sync{PollInterval: text}).Interval(); got != want {
			t.Errorf("interval of %q is %v, want %v", text, got, want)
		}
	}
}
