package schema

import (
	"bytes"

	"github.com/florete/flor/envelope"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// decode reads a payload of a family into value: closed, each name spelled as
// defined and once, gated by the family's ladder. Where the shape is not
// understood because the payload is of another version, that is what is said.
func decode(payload []byte, family, own string, value any) error {
	what := "the " + family + " payload"
	version, _ := envelope.PeekSchemaVersions(payload)
	if err := decodeClosed(payload, family, value); err != nil {
		return envelope.OrVersion(err, what, version, own)
	}
	return envelope.CheckSchemaVersion(what, version, own)
}

func decodeClosed(payload []byte, family string, value any) error {
	var c checker
	if len(payload) > envelope.MaxEnvelope {
		c.fault(Malformed, "payload", "%d bytes are over the limit of %d", len(payload), envelope.MaxEnvelope)
		return c.result(family)
	}
	if err := json.Unmarshal(payload, value, json.RejectUnknownMembers(true)); err != nil {
		c.fault(Malformed, "payload", "%.300s", err)
		return c.result(family)
	}
	c.noEmpty(payload)
	return c.result(family)
}

// noEmpty faults each null and each empty string: no member of these families
// may be one, and Go's zero values must not hide that one was written.
func (c *checker) noEmpty(payload []byte) {
	tokens := jsontext.NewDecoder(bytes.NewBuffer(payload))
	for {
		token, err := tokens.ReadToken()
		if err != nil {
			return
		}
		if token.Kind() == 'n' || token.Kind() == '"' && token.String() == "" {
			c.fault(Empty, string(tokens.StackPointer()), "is null or empty: leave it out, or give it a value")
		}
	}
}
