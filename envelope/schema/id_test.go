package schema_test

import (
	"strings"
	"testing"

	"github.com/florete/flor/envelope/schema"
	"github.com/spiffe/go-spiffe/v2/spiffeid"
	"pgregory.net/rapid"
)

var td = spiffeid.RequireTrustDomainFromString("rete-lovers")

func TestKindsOfPrincipals(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]schema.Kind{
		"/user/eve":                 schema.KindUser,
		"/service/db":               schema.KindService,
		"/service/alpha/db":         schema.KindService,
		"/node/alpha":               schema.KindNode,
		"/vertex/alpha/wire":        schema.KindVertex,
		"/management-plane/primary": schema.KindManagementPlane,
		"/control-plane/mesh":       schema.KindControlPlane,
		"":                          "",
		"/user":                     "",
		"/user/eve/laptop":          "",
		"/vertex/wire":              "",
		"/vertex/a/b/c":             "",
		"/service/a/b/c":            "",
		"/User/eve":                 "",
		"/group/ops":                "",
	} {
		got, err := schema.KindOf(spiffeid.RequireFromPath(td, path))
		if got != want || (err == nil) != (want != "") {
			t.Errorf("kind of %q is %q, %v", path, got, err)
		}
	}
	if kind, err := schema.KindOf(spiffeid.ID{}); err == nil {
		t.Errorf("no ID is a %s", kind)
	}
}

func TestIDsByKind(t *testing.T) {
	t.Parallel()
	made := map[string]func() (spiffeid.ID, error){
		"/user/eve":           func() (spiffeid.ID, error) { return schema.UserID(td, "eve") },
		"/service/db":         func() (spiffeid.ID, error) { return schema.ServiceID(td, "db") },
		"/service/alpha/db":   func() (spiffeid.ID, error) { return schema.NodeServiceID(td, "alpha", "db") },
		"/node/alpha":         func() (spiffeid.ID, error) { return schema.NodeID(td, "alpha") },
		"/vertex/alpha/wire":  func() (spiffeid.ID, error) { return schema.VertexID(td, "alpha", "wire") },
		"/management-plane/p": func() (spiffeid.ID, error) { return schema.ManagementPlaneID(td, "p") },
		"/control-plane/mesh": func() (spiffeid.ID, error) { return schema.ControlPlaneID(td, "mesh") },
	}
	for path, make := range made {
		id, err := make()
		if err != nil || id.Path() != path {
			t.Errorf("%s is %s, %v", path, id, err)
		}
		if _, err := schema.KindOf(id); err != nil {
			t.Error(err)
		}
		if leaf := schema.Leaf(id); !strings.HasSuffix(path, "/"+leaf) || strings.Contains(leaf, "/") {
			t.Errorf("leaf of %s is %s", path, leaf)
		}
	}
	if id, err := schema.UserID(td, "a/b"); err == nil {
		t.Errorf("a user with a slash is %s", id)
	}
}

func TestHostnames(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 240)
	for path, want := range map[string]string{
		"/service/db":         "db.rete-lovers.rete",
		"/service/DB":         "db.rete-lovers.rete",
		"/service/alpha/db":   "db.alpha.rete-lovers.rete",
		"/vertex/alpha/wire":  "wire.alpha.rete-lovers.rete",
		"/user/eve":           "",
		"/node/alpha":         "",
		"/management-plane/p": "",
		"/service/" + long:    "",
	} {
		got, err := schema.Hostname(spiffeid.RequireFromPath(td, path))
		if got != want || (err == nil) != (want != "") {
			t.Errorf("hostname of %q is %q, %v", path, got, err)
		}
	}
}

func TestParseHostname(t *testing.T) {
	t.Parallel()
	dotted := spiffeid.RequireTrustDomainFromString("lovers.example.org")
	longest := strings.Repeat("x", schema.MaxHostname-len(".rete-lovers.rete"))
	tests := []struct {
		host string
		td   spiffeid.TrustDomain
		want string
	}{
		{"db.rete-lovers.rete", td, "spiffe://rete-lovers/service/db"},
		{"db.rete-lovers.rete.", td, "spiffe://rete-lovers/service/db"},
		{"DB.Rete-Lovers.RETE", td, "spiffe://rete-lovers/service/db"},
		{"db.alpha.rete-lovers.rete", td, "spiffe://rete-lovers/service/alpha/db"},
		{"db.lovers.example.org.rete", dotted, "spiffe://lovers.example.org/service/db"},
		{"db.alpha.lovers.example.org.rete", dotted, "spiffe://lovers.example.org/service/alpha/db"},
		{"db.rete-lovers.rete..", td, ""},
		{"db.rete-lovers", td, ""},
		{"rete-lovers.rete", td, ""},
		{".rete-lovers.rete", td, ""},
		{"a..rete-lovers.rete", td, ""},
		{".a.rete-lovers.rete", td, ""},
		{"a.b.c.rete-lovers.rete", td, ""},
		{"db.rete-haters.rete", td, ""},
		{"dbrete-lovers.rete", td, ""},
		{"d b.rete-lovers.rete", td, ""},
		{"a/b.rete-lovers.rete", td, ""},
		{"d\u212a.rete-lovers.rete", td, ""}, // the Kelvin sign lowers to k
		{"", td, ""},
		{".", td, ""},
		{"db.rete", spiffeid.TrustDomain{}, ""},
		{"db..rete", spiffeid.TrustDomain{}, ""},
		{longest + ".rete-lovers.rete", td, "spiffe://rete-lovers/service/" + longest},
		{longest + ".rete-lovers.rete.", td, "spiffe://rete-lovers/service/" + longest},
		{"x" + longest + ".rete-lovers.rete", td, ""},
		{"x" + longest + ".rete-lovers.rete.", td, ""},
		{strings.Repeat("x", 300) + ".rete-lovers.rete", td, ""},
		{"127.0.0.1", td, ""},
	}
	for _, tc := range tests {
		id, err := schema.ParseHostname(tc.host, tc.td)
		if id.String() != tc.want || (err == nil) != (tc.want != "") {
			t.Errorf("%q is %q, %v", tc.host, id, err)
		}
	}
}

// TestHostnamesRoundTrip: a service is found again by its hostname (VTX-2,
// VTX-10), in any case.
func TestHostnamesRoundTrip(t *testing.T) {
	t.Parallel()
	label := rapid.StringMatching(`[a-z0-9]([a-z0-9-]{0,20}[a-z0-9])?`)
	rapid.Check(t, func(t *rapid.T) {
		want, err := schema.ServiceID(td, label.Draw(t, "service"))
		if rapid.Bool().Draw(t, "on a node") {
			want, err = schema.NodeServiceID(td, label.Draw(t, "node"), schema.Leaf(want))
		}
		if err != nil {
			t.Fatal(err)
		}
		host, err := schema.Hostname(want)
		if err != nil {
			t.Fatal(err)
		}
		for _, spelled := range []string{host, strings.ToUpper(host) + "."} {
			if got, err := schema.ParseHostname(spelled, td); err != nil || got != want {
				t.Fatalf("%s became %s, %s, %v", want, spelled, got, err)
			}
		}
	})
}
