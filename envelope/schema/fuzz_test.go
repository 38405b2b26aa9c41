package schema_test

import (
	"strings"
	"testing"

	"github.com/florete/flor/envelope/schema"
	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
)

// FuzzParseAgent: what is read is valid, and reads the same once written.
func FuzzParseAgent(f *testing.F) {
	f.Add([]byte(agentText))
	f.Add([]byte(`{"schema_version":"1.0"}`))
	f.Add([]byte(`{"schema_version":"2.0","workloads":{}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		a, err := schema.ParseAgent(text)
		if err != nil {
			return
		}
		if err := a.Validate(); err != nil {
			t.Fatal(err)
		}
		again, err := schema.ParseAgent(written(t, a))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(written(t, a), written(t, again)); diff != "" {
			t.Fatal(diff)
		}
	})
}

// FuzzParseVertex is FuzzParseAgent for vertices, and a vertex can always be
// swapped for itself.
func FuzzParseVertex(f *testing.F) {
	f.Add([]byte(vertexText))
	f.Add([]byte(strings.Replace(vertexText, "link", "mesh", 1)))
	f.Add([]byte(`{"schema_version":"1.0","kind":"link","links":null}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		v, err := schema.ParseVertex(text)
		if err != nil {
			return
		}
		if err := v.Validate(); err != nil {
			t.Fatal(err)
		}
		again, err := schema.ParseVertex(written(t, v))
		if err != nil || !schema.Swappable(v, again) {
			t.Fatalf("%s reads as another vertex: %v", text, err)
		}
	})
}

// FuzzValidate feeds Validate values that no parser has let through.
func FuzzValidate(f *testing.F) {
	f.Add([]byte(agentText), []byte(vertexText))
	f.Add([]byte(`{"sync":{"principal":"spiffe://x/user/a"}}`), []byte(`{"kind":"link","workloads":[{"io":[{"kind":"forward"}]}]}`))
	f.Fuzz(func(t *testing.T, agentText, vertexText []byte) {
		var a schema.Agent
		if json.Unmarshal(agentText, &a) == nil && a.Validate() == nil {
			if _, err := schema.ParseAgent(written(t, &a)); err != nil {
				t.Fatalf("valid, but not readable: %v", err)
			}
		}
		var v schema.Vertex
		if json.Unmarshal(vertexText, &v) == nil && v.Validate() == nil {
			if _, err := schema.ParseVertex(written(t, &v)); err != nil {
				t.Fatalf("valid, but not readable: %v", err)
			}
		}
	})
}

func written(t *testing.T, value any) []byte {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// FuzzParseHostname: a name that is read is written as it was, but for case
// and a dot.
func FuzzParseHostname(f *testing.F) {
	for _, host := range []string{"db.rete-lovers.rete", "db.alpha.rete-lovers.rete.", "DB.rete-lovers.rete", "..", "K.rete-lovers.rete"} {
		f.Add(host)
	}
	f.Fuzz(func(t *testing.T, host string) {
		id, err := schema.ParseHostname(host, td)
		if err != nil {
			return
		}
		if again, err := schema.Hostname(id); err != nil || again != strings.ToLower(strings.TrimSuffix(host, ".")) {
			t.Fatalf("%q is %s, which is %q, %v", host, id, again, err)
		}
	})
}
