package schema

import "errors"

// VertexVersion is the vertex payload version written here, and the newest read.
const VertexVersion = "1.0"

// Vertex is the payload of a vertex (vertex 1.0).
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

func ParseVertex(payload []byte) (*Vertex, error) { return nil, errors.ErrUnsupported }
func (v *Vertex) Validate() error                 { return errors.ErrUnsupported }
func Swappable(old, new *Vertex) bool             { return false }
