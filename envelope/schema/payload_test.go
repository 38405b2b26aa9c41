package schema_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/florete/flor/envelope"
	"github.com/florete/flor/envelope/schema"
	"github.com/google/go-cmp/cmp"
)

// wantFaults fails unless err is a PayloadError with exactly these faults, each
// written "reason path".
func wantFaults(t testing.TB, err error, want ...string) {
	t.Helper()
	var got []string
	if err != nil {
		var payload *schema.PayloadError
		if !errors.As(err, &payload) {
			t.Fatalf("error is %v, not a PayloadError", err)
		}
		for _, f := range payload.Faults {
			got = append(got, string(f.Reason)+" "+f.Path)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("faults of %v: %s", err, diff)
	}
}

// replaceOnce replaces one passage of a text, and fails when it has none.
func replaceOnce(t testing.TB, text, old, new string) []byte {
	t.Helper()
	if strings.Count(text, old) != 1 {
		t.Fatalf("%q is not exactly once in %s", old, text)
	}
	return []byte(strings.Replace(text, old, new, 1))
}

// TestPayloadVersions is ENV-14 for both families: the gate, and the lenient
// look where the shape is not understood.
func TestPayloadVersions(t *testing.T) {
	t.Parallel()
	parsers := map[string]struct {
		text  string
		parse func([]byte) error
	}{
		"agent":  {agentText, func(p []byte) error { _, err := schema.ParseAgent(p); return err }},
		"vertex": {vertexText, func(p []byte) error { _, err := schema.ParseVertex(p); return err }},
	}
	tests := map[string]struct {
		version string
		want    envelope.Reason
	}{
		"a newer minor":                   {`"1.1"`, envelope.SchemaTooNew},
		"a newer minor with a new member": {`"1.1", "later": []`, envelope.SchemaTooNew},
		"a newer major of another shape":  {`"2.0", "workloads": {}`, envelope.SchemaTooNew},
		"an older major":                  {`"0.9", "gone": 1`, envelope.SchemaTooOld},
		"a malformed version":             {`"1"`, envelope.BadSchemaVersion},
	}
	for family, p := range parsers {
		for name, tc := range tests {
			t.Run(family+"/"+name, func(t *testing.T) {
				t.Parallel()
				err := p.parse(replaceOnce(t, p.text, `"schema_version": "1.0"`, `"schema_version": `+tc.version))
				var refusal *envelope.Refusal
				if !errors.As(err, &refusal) || refusal.Reason != tc.want {
					t.Errorf("refused with %v, want %s", err, tc.want)
				}
			})
		}
	}
}

func TestPayloadErrorHasALinePerFault(t *testing.T) {
	t.Parallel()
	_, err := schema.ParseAgent(replaceOnce(t, agentText, `["flor-vertex"]`, `["flor-vertex", "--flag"]`))
	want := "agent payload: FL1313 bad-run: workloads[0].run: must be the program alone, without arguments: one element, not 2"
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Error(diff)
	}
	var payload *schema.PayloadError
	if !errors.As(err, &payload) || payload.Code() != "FL1313" {
		t.Errorf("code of %v", err)
	}
}

// TestShapesThatAreRefused: what both families refuse before they look at
// what the members say.
func TestShapesThatAreRefused(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ text, want string }{
		"nothing":                       {``, "malformed-payload payload"},
		"null":                          {`null`, "empty-member "},
		"an array":                      {`[]`, "malformed-payload payload"},
		"a second document":             {agentText + `{}`, "malformed-payload payload"},
		"an unknown member":             {strings.Replace(agentText, `"inbounds"`, `"more": 1, "inbounds"`, 1), "malformed-payload payload"},
		"an unknown member deep within": {strings.Replace(agentText, `"kind"`, `"more": 1, "kind"`, 1), "malformed-payload payload"},
		"a name in another case":        {strings.Replace(agentText, `"inbounds"`, `"Inbounds"`, 1), "malformed-payload payload"},
		"a duplicate name":              {strings.Replace(agentText, `"kind"`, `"kind": "socks5", "kind"`, 1), "malformed-payload payload"},
		"an array for an object":        {strings.Replace(agentText, `"sync": {`, `"sync": [], "x": {`, 1), "malformed-payload payload"},
		"an object for an array":        {strings.Replace(agentText, `"run": ["flor-vertex"]`, `"run": {}`, 1), "malformed-payload payload"},
		"a number for a string":         {strings.Replace(agentText, `"127.0.0.1:1080"`, `1080`, 1), "malformed-payload payload"},
		"a null list":                   {strings.Replace(agentText, `"run": ["flor-vertex"]`, `"run": null`, 1), "empty-member /workloads/0/run"},
		"a null in a list":              {strings.Replace(agentText, `["flor-vertex"]`, `["flor-vertex", null]`, 1), "empty-member /workloads/0/run/1"},
		"an empty string":               {strings.Replace(agentText, `"5m"`, `""`, 1), "empty-member /sync/poll_interval"},
		"too much":                      {strings.Repeat(" ", envelope.MaxEnvelope) + agentText, "malformed-payload payload"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := schema.ParseAgent([]byte(tc.text))
			wantFaults(t, err, tc.want)
		})
	}
}

// TestFaultsAreBounded: a hostile payload does not grow into a huge error.
func TestFaultsAreBounded(t *testing.T) {
	t.Parallel()
	a := &schema.Agent{Workloads: make([]schema.Workload, 10*schema.MaxFaults)}
	var payload *schema.PayloadError
	if !errors.As(a.Validate(), &payload) || len(payload.Faults) != schema.MaxFaults {
		t.Errorf("%d faults", len(payload.Faults))
	}
}
