package envelope_test

import (
	"testing"

	"github.com/florete/flor/envelope"
)

// TestPeekSchemaVersions is ENV-14's lenient look: it finds what it can, in
// texts that nothing else reads.
func TestPeekSchemaVersions(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ text, own, payload string }{
		"an artifact":               {plain, "1.0", "1.0"},
		"a payload before":          {`{"payload":{"schema_version":"2.0"},"schema_version":"1.1"}`, "1.1", "2.0"},
		"a payload of another type": {`{"payload":"2.0","schema_version":"1.1"}`, "1.1", ""},
		"a duplicate deep within":   {`{"schema_version":"1.1","payload":{"schema_version":"2.0","x":{"a":1,"a":1}}}`, "1.1", "2.0"},
		"invalid UTF-8":             {"{\"x\":\"\xff\",\"schema_version\":\"1.1\"}", "1.1", ""},
		"a cut text":                {`{"schema_version":"1.1","plane"`, "1.1", ""},
		"a version that is no text": {`{"schema_version":1.1}`, "", ""},
		"no object":                 {`["schema_version","1.1"]`, "", ""},
		"nothing":                   {``, "", ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if own, payload := envelope.PeekSchemaVersions([]byte(tc.text)); own != tc.own || payload != tc.payload {
				t.Errorf("found %q and %q", own, payload)
			}
		})
	}
}
