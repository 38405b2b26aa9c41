package envelope_test

import (
	"strings"
	"testing"

	"github.com/florete/flor/envelope"
	"github.com/google/go-cmp/cmp"
)

// TestProbeIgnoresTheRest is ENV-16: whatever does not route is not looked at.
func TestProbeIgnoresTheRest(t *testing.T) {
	t.Parallel()
	signature := `{"alg": "ed25519", "key_id": "spiffe://rete-lovers/management-plane/primary", "value": "c2ln"}`
	tests := map[string]struct {
		text []byte
		want envelope.Core
	}{
		"an artifact":      {[]byte(plain), envelope.Core{SchemaVersion: "1.0", Plane: envelope.Mgmt, Version: 42, Node: "alpha", Name: "wire"}},
		"an unknown major": {edited(t, "{\n  \"schema_version\": \"1.0\"", "{\n  \"schema_version\": \"7.3\""), envelope.Core{SchemaVersion: "7.3", Plane: envelope.Mgmt, Version: 42, Node: "alpha", Name: "wire"}},
		"unknown members":  {edited(t, `"payload"`, `"pay"`), envelope.Core{SchemaVersion: "1.0", Plane: envelope.Mgmt, Version: 42, Node: "alpha", Name: "wire"}},
		"no signature": {edited(t, `,
  "signature": `+signature, ``), envelope.Core{SchemaVersion: "1.0", Plane: envelope.Mgmt, Version: 42, Node: "alpha", Name: "wire"}},
		"a signature array":       {edited(t, signature, `[null]`), envelope.Core{SchemaVersion: "1.0", Plane: envelope.Mgmt, Version: 42, Node: "alpha", Name: "wire"}},
		"a date of another shape": {edited(t, `"2026-04-20T12:00:00Z"`, `null`), envelope.Core{SchemaVersion: "1.0", Plane: envelope.Mgmt, Version: 42, Node: "alpha", Name: "wire"}},
		"an inexact number":       {edited(t, `1e2`, `1e400`), envelope.Core{SchemaVersion: "1.0", Plane: envelope.Mgmt, Version: 42, Node: "alpha", Name: "wire"}},
		"duplicates in a payload": {edited(t, `1e2`, `{"a":1,"a":1}`), envelope.Core{SchemaVersion: "1.0", Plane: envelope.Mgmt, Version: 42, Node: "alpha", Name: "wire"}},
		"a ctrl plane to be":      {edited(t, `"mgmt"`, `{"ctrl":["later"]}`), envelope.Core{SchemaVersion: "1.0", Plane: envelope.Ctrl, Version: 42, Node: "alpha", Name: "wire"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := envelope.Probe(tc.text)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestProbeRefuses(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text []byte
		want envelope.Reason
	}{
		"what is not JSON":             {[]byte(plain[:100]), envelope.NotJSON},
		"nothing":                      {nil, envelope.NotJSON},
		"invalid UTF-8 in a payload":   {edited(t, `1e2`, "\"\xff\""), envelope.NotJSON},
		"a lone surrogate":             {edited(t, `1e2`, `"\ud800"`), envelope.NotJSON},
		"a second document":            {[]byte(plain + plain), envelope.NotJSON},
		"an array":                     {[]byte(`[]`), envelope.NotObject},
		"65 nested":                    {edited(t, `1e2`, strings.Repeat("[", 62)+strings.Repeat("]", 62)), envelope.TooDeep},
		"a byte over the limit":        {padded(envelope.MaxEnvelope + 1), envelope.TooLarge},
		"a duplicate routing name":     {edited(t, `"node": "alpha",`, `"node": "alpha", "n\u006fde": "beta",`), envelope.DuplicateName},
		"a duplicate of any name":      {edited(t, `"payload"`, `"x": 1, "x": 1, "payload"`), envelope.DuplicateName},
		"a routing name in capitals":   {edited(t, `"payload"`, `"NODE": "beta", "payload"`), envelope.NameCase},
		"no routing name but capitals": {edited(t, `"version"`, `"Version"`), envelope.NameCase},
		"a routing member missing":     {edited(t, `"node": "alpha",`, ``), envelope.MissingMember},
		"a routing member null":        {edited(t, `"alpha"`, `null`), envelope.NullMember},
		"a node number":                {edited(t, `"alpha"`, `1`), envelope.WrongType},
		"a version as text":            {edited(t, `42`, `"42"`), envelope.WrongType},
		"a version with exponent":      {edited(t, `42`, `4.2e1`), envelope.BadVersion},
		"a node that climbs":           {edited(t, `"alpha"`, `"../beta"`), envelope.UnsafeName},
		"the name manifest":            {edited(t, `"wire"`, `"manifest"`), envelope.UnsafeName},
		"an unknown plane":             {edited(t, `"mgmt"`, `"data"`), envelope.BadPlane},
		"two planes":                   {edited(t, `"mgmt"`, `{"ctrl":1,"ctrl":2}`), envelope.BadPlane},
		"a malformed version":          {edited(t, "{\n  \"schema_version\": \"1.0\"", "{\n  \"schema_version\": \"1\""), envelope.BadSchemaVersion},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := envelope.Probe(tc.text)
			wantReason(t, err, tc.want)
		})
	}
}
