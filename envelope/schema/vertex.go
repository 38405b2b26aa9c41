package schema

// VertexVersion is the version of the vertex payload that is written here, and
// the newest that is read (ENV-15).
const VertexVersion = "1.0"

// Words of the vertex payload.
const (
	LinkVertex = "link" // Vertex.Kind
	MeshVertex = "mesh"

	QUIC = "quic" // TransportEndpoint.Type

	UDP    = "udp"    // Adapter.Type, LinkVia.Type
	Florio = "florio" // Adapter.Type, LinkVia.Type, IO.Kind

	SOCKS5   = "socks5"   // IO.Kind, InboundVia.Kind
	Forward  = "forward"  // IO.Kind
	TCP      = "tcp"      // IO.Kind
	Embedded = "embedded" // IO.Kind

	List = "list" // LinkList.Type
)

// Vertex is the payload of a vertex (vertex 1.0). Its fields are in the order
// in which they are written (ENV-9). In a text, links, ingress, egress and
// revoked may be absent, which means empty.
type Vertex struct {
	SchemaVersion     string            `json:"schema_version"`
	Kind              string            `json:"kind"` // link or mesh
	TransportEndpoint TransportEndpoint `json:"transport_endpoint"`
	ConnectionManager ConnectionManager `json:"connection_manager"`
	Workloads         []VertexWorkload  `json:"workloads"`
	Links             []LinkList        `json:"links"`
	Ingress           []Rule            `json:"ingress"`
	Egress            []Rule            `json:"egress"`
	Revoked           []string          `json:"revoked"` // SHA-256 of certificates, lower-case hex
}

// TransportEndpoint names the transport between vertices.
type TransportEndpoint struct {
	Type string `json:"type"` // quic
}

// ConnectionManager has the vertex's adapters to the network.
type ConnectionManager struct {
	Adapters []Adapter `json:"adapters"`
}

// Adapter is one way to the network.
type Adapter struct {
	Name   string `json:"name"`
	Type   string `json:"type"`             // udp or florio
	Listen string `json:"listen,omitempty"` // udp: IP literal with port; absent means an ephemeral port
	Vertex string `json:"vertex,omitempty"` // florio: SPIFFE ID of the vertex
}

// VertexWorkload is one local principal and how it is wired.
type VertexWorkload struct {
	SPIFFEID string `json:"spiffe_id"`
	IO       []IO   `json:"io"`
}

// IO is one wire between a local principal and the vertex.
type IO struct {
	Kind     string `json:"kind"`               // socks5, forward, tcp, embedded or florio
	Listen   string `json:"listen,omitempty"`   // socks5, forward: IP literal with port
	Target   string `json:"target,omitempty"`   // forward: SPIFFE ID
	Upstream string `json:"upstream,omitempty"` // tcp: IP literal with port
}

// LinkList is a list of links.
type LinkList struct {
	Type    string `json:"type"` // list
	Members []Link `json:"members"`
}

// Link is a way to one peer.
type Link struct {
	Name string  `json:"name"`
	Peer string  `json:"peer"` // SPIFFE ID of a service or a vertex
	Via  LinkVia `json:"via"`
}

// LinkVia is the adapter and the address by which a peer is reached.
type LinkVia struct {
	Type    string `json:"type"` // udp or florio
	Adapter string `json:"adapter"`
	Addr    string `json:"addr,omitempty"` // udp: IP literal with port
}

// Rule is one row of an access list.
type Rule struct {
	Target string   `json:"target"`
	Allow  []string `json:"allow"` // SPIFFE IDs of initiators
}

// ParseVertex reads a vertex payload: closed, gated and valid. The error is an
// [*envelope.Refusal] where the version is the matter (ENV-14), else a
// [*PayloadError].
func ParseVertex(payload []byte) (*Vertex, error) {
	v := new(Vertex)
	if err := decode(payload, "vertex", VertexVersion, v); err != nil {
		return nil, err
	}
	var c checker
	v.checkListed(&c)
	v.check(&c)
	if err := c.result("vertex"); err != nil {
		return nil, err
	}
	return v, nil
}

// Validate reports every fault of the payload in one [*PayloadError]. A nil one
// is no payload.
func (v *Vertex) Validate() error {
	var c checker
	if v == nil {
		c.fault(Malformed, "payload", "there is none: it is nil")
		return c.result("vertex")
	}
	v.check(&c)
	return c.result("vertex")
}
