package envelope_test

import (
	"bytes"
	"testing"

	"github.com/florete/flor/envelope"
)

// seeds are texts near every border of the format.
var seeds = []string{
	plain, "", "{}", "[]", "null", "\ufeff{}", `{"schema_version":"9.9"}`, "{\"a\":\"\xff\"}", `{"a":"\ud800"}`,
	`{"schema_version":"1.0","plane":{"ctrl":{"obeys_mgmt_version":1}},"version":1,"node":"a","name":"b","generated_at":"2026-04-20T12:00:00Z","payload":[-0,1e400,0.1],"signature":{"alg":"","key_id":"","value":""}}`,
	`{"Schema_version":"1.0","schema_version":"1.0","plane":"mgmt","version":1e0,"node":"a","name":"CON"}`,
	`{"artifacts":[{},{"a":[1]}]}`, `{"artifacts":[]}`, `{"artifacts":[{}],"artifacts":[{}]}`,
}

func addSeeds(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
}

// FuzzParse holds Parse against Probe (ENV-16: where both accept they agree,
// and what Parse accepts Probe accepts), and both canonical forms against each
// other.
func FuzzParse(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		before := bytes.Clone(text)
		a, err := envelope.Parse(text)
		if !bytes.Equal(before, text) {
			t.Fatal("Parse changed the text")
		}
		if err != nil {
			return
		}
		core, err := envelope.Probe(text)
		if err != nil || core != a.Core {
			t.Fatalf("Parse says %+v, Probe says %+v, %v", a.Core, core, err)
		}
		form, err := envelope.Canonical(text)
		if err != nil || !bytes.Equal(form, a.Canonical()) {
			t.Fatalf("canonical forms differ:\n%s\n%s\n%v", form, a.Canonical(), err)
		}
		again, err := envelope.Parse(form)
		if err != nil || !bytes.Equal(again.Canonical(), form) || !bytes.Equal(again.Signed(), a.Signed()) {
			t.Fatalf("the canonical form means something else: %s, %v", form, err)
		}
	})
}

func FuzzProbe(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		core, err := envelope.Probe(text)
		if err != nil {
			return
		}
		if envelope.SafeName(core.Node) != nil || envelope.SafeName(core.Name) != nil {
			t.Fatalf("unsafe route %s", core.Ref())
		}
		if core.Version < 1 || core.Version > envelope.MaxVersion || core.Plane != envelope.Mgmt && core.Plane != envelope.Ctrl {
			t.Fatalf("route %+v", core)
		}
	})
}

func FuzzParseSet(f *testing.F) {
	addSeeds(f)
	f.Add(envelope.AppendSet(nil, []byte(plain), []byte("{}")))
	f.Fuzz(func(t *testing.T, doc []byte) {
		members, err := envelope.ParseSet(doc)
		if err != nil {
			return
		}
		again, err := envelope.ParseSet(envelope.AppendSet(nil, members...))
		if err != nil || len(again) != len(members) {
			t.Fatalf("%d members became %d: %v", len(members), len(again), err)
		}
		for i := range members {
			if !bytes.Equal(members[i], again[i]) || !bytes.Contains(doc, members[i]) {
				t.Fatalf("member %d is not kept", i)
			}
		}
	})
}
