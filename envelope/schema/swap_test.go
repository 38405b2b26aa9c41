package schema_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/florete/flor/envelope/schema"
)

// TestSwappable is VTX-16: which changes a running vertex takes in place.
func TestSwappable(t *testing.T) {
	t.Parallel()
	dialler := schema.VertexWorkload{SPIFFEID: "spiffe://rete-lovers/user/bob", IO: []schema.IO{{Kind: schema.SOCKS5, Listen: "127.0.0.1:1082"}}}
	service := schema.VertexWorkload{SPIFFEID: "spiffe://rete-lovers/service/x", IO: []schema.IO{{Kind: schema.TCP, Upstream: "127.0.0.1:1"}}}
	florio := schema.Adapter{Name: "inner", Type: schema.Florio, Vertex: "spiffe://rete-lovers/vertex/alpha/mesh"}
	tests := map[string]struct {
		change func(*schema.Vertex)
		want   bool
	}{
		"nothing":                    {func(*schema.Vertex) {}, true},
		"an access list":             {func(v *schema.Vertex) { v.Ingress[0].Allow = nil }, true},
		"an access list's target":    {func(v *schema.Vertex) { v.Egress = v.Egress[:1] }, true},
		"a peer's address":           {func(v *schema.Vertex) { v.Links[0].Members[0].Via.Addr = "192.0.2.3:4433" }, true},
		"the links":                  {func(v *schema.Vertex) { v.Links = nil }, true},
		"a revoked certificate":      {func(v *schema.Vertex) { v.Revoked = nil }, true},
		"a socks5 port":              {func(v *schema.Vertex) { v.Workloads[0].IO[0].Listen = "127.0.0.1:1089" }, true},
		"a forward's target":         {func(v *schema.Vertex) { v.Workloads[1].IO[1].Target = "spiffe://rete-lovers/service/x" }, true},
		"a forward less":             {func(v *schema.Vertex) { v.Workloads[1].IO = v.Workloads[1].IO[:1] }, true},
		"a dialler more":             {func(v *schema.Vertex) { v.Workloads = append(v.Workloads, dialler) }, true},
		"a dialler less":             {func(v *schema.Vertex) { v.Workloads = v.Workloads[1:] }, true},
		"a service that dials, too":  {func(v *schema.Vertex) { v.Workloads[3].IO = append(v.Workloads[3].IO, dialler.IO...) }, true},
		"the order of workloads":     {func(v *schema.Vertex) { slices.Reverse(v.Workloads) }, true},
		"the schema version":         {func(v *schema.Vertex) { v.SchemaVersion = "1.1" }, false},
		"the kind":                   {func(v *schema.Vertex) { v.Kind = schema.MeshVertex }, false},
		"the transport":              {func(v *schema.Vertex) { v.TransportEndpoint.Type = "tcp" }, false},
		"the adapter's address":      {func(v *schema.Vertex) { v.ConnectionManager.Adapters[0].Listen = "" }, false},
		"an adapter more":            {func(v *schema.Vertex) { v.ConnectionManager.Adapters = append(v.ConnectionManager.Adapters, florio) }, false},
		"an upstream":                {func(v *schema.Vertex) { v.Workloads[2].IO[0].Upstream = "127.0.0.1:8081" }, false},
		"a service more":             {func(v *schema.Vertex) { v.Workloads = append(v.Workloads, service) }, false},
		"a service less":             {func(v *schema.Vertex) { v.Workloads = v.Workloads[:3] }, false},
		"a service that is embedded": {func(v *schema.Vertex) { v.Workloads[2].IO[0] = schema.IO{Kind: schema.Embedded} }, false},
		"a service under another ID": {func(v *schema.Vertex) { v.Workloads[2].SPIFFEID = service.SPIFFEID }, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			old, next := parseVertex(t, []byte(vertexText)), parseVertex(t, []byte(vertexText))
			tc.change(next)
			if got := schema.Swappable(old, next); got != tc.want {
				t.Errorf("swappable is %v", got)
			}
			if got := schema.Swappable(next, old); got != tc.want {
				t.Errorf("swappable back is %v", got)
			}
		})
	}
}

func TestSwappableIgnoresTheOrderOfIO(t *testing.T) {
	t.Parallel()
	old, next := parseVertex(t, []byte(vertexText)), parseVertex(t, []byte(vertexText))
	second := schema.IO{Kind: schema.TCP, Upstream: "127.0.0.1:8081"}
	old.Workloads[2].IO = append(old.Workloads[2].IO, second)
	next.Workloads[2].IO = append([]schema.IO{second}, next.Workloads[2].IO...)
	if !schema.Swappable(old, next) {
		t.Error("not swappable")
	}
	next.Workloads[2].IO[0].Upstream = "127.0.0.1:8082"
	if schema.Swappable(old, next) {
		t.Error("swappable, though one of two upstreams changed")
	}
}

// TestNoVertexPayloadIsNoPanic: nil is no payload, and nothing to swap.
func TestNoVertexPayloadIsNoPanic(t *testing.T) {
	t.Parallel()
	var none *schema.Vertex
	if err := none.Validate(); !errors.As(err, new(*schema.PayloadError)) {
		t.Errorf("Validate: %v", err)
	}
	for _, pair := range [][2]*schema.Vertex{{nil, nil}, {nil, {}}, {{}, nil}} {
		if schema.Swappable(pair[0], pair[1]) {
			t.Errorf("%v is swappable for %v", pair[0], pair[1])
		}
	}
}
