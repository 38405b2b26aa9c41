package coordinatorsuite

import (
	"bytes"
	"fmt"
)

// member is an artifact as a coordinator reads it: nothing but the routing core
// means anything, and nothing is signed (ENV-16).
type member struct {
	node, name string
	version    uint64
	payload    string
}

// text writes the artifact with the formatting of a producer (ENV-9).
func (m member) text() []byte {
	return fmt.Appendf(nil, `{
  "schema_version": "1.0",
  "plane": "mgmt",
  "version": %d,
  "node": %q,
  "name": %q,
  "generated_at": "2026-04-20T12:00:00Z",
  "payload": {"schema_version": "1.0", "text": %q},
  "signature": {"alg": "ed25519", "key_id": "spiffe://rete-lovers/management-plane/alice", "value": "AA=="}
}`, m.version, m.node, m.name, m.payload)
}

// root is the agent's artifact of a node.
func (r *Relay) root(node string, version uint64, payload string) []byte {
	return r.member(node, "agent", version, payload)
}

// member is an artifact of a node.
func (r *Relay) member(node, name string, version uint64, payload string) []byte {
	return member{r.name(node), name, version, payload}.text()
}

// document is the set document of members (ENV-17).
func document(members ...[]byte) []byte {
	return append(append([]byte(`{"artifacts":[`), bytes.Join(members, []byte(",\n"))...), "]}\n"...)
}
