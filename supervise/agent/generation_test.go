package agent

import (
	"testing"

	"github.com/florete/flor/envelope/schema"
)

// AGT-2: the coordinator is dialled as the sync principal, whatever other inbounds
// the node has and in whatever order.
func TestSyncGoesThroughTheInboundOfItsPrincipal(t *testing.T) {
	t.Parallel()
	inbound := func(principal, addr string) (in schema.Inbound) {
		in.Principal, in.Via.Addr = principal, addr
		return in
	}
	others := []schema.Inbound{inbound("spiffe://demo/user/alice", "127.0.0.1:1"), inbound("spiffe://demo/service/shop", "127.0.0.1:3")}
	ours := inbound("spiffe://demo/node/alpha", "127.0.0.1:2")
	for _, tt := range []struct {
		name     string
		inbounds []schema.Inbound
		want     string
	}{
		{"first", []schema.Inbound{ours, others[0], others[1]}, "127.0.0.1:2"},
		{"in between", []schema.Inbound{others[0], ours, others[1]}, "127.0.0.1:2"},
		{"last", []schema.Inbound{others[0], others[1], ours}, "127.0.0.1:2"},
		{"none", others, ""},
	} {
		agent := &schema.Agent{Inbounds: tt.inbounds}
		agent.Sync.Principal = ours.Principal
		if got := (&generation{agent: agent}).inbound(); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
