package schema

import (
	"fmt"
	"strings"

	"github.com/spiffe/go-spiffe/v2/spiffeid"
)

// Kind is the kind of a principal: the first segment of its SPIFFE ID's path.
type Kind string

// The kinds of principals.
const (
	KindUser            Kind = "user"
	KindService         Kind = "service"
	KindNode            Kind = "node"
	KindVertex          Kind = "vertex"
	KindManagementPlane Kind = "management-plane"
	KindControlPlane    Kind = "control-plane"
)

// initiators are the kinds that open flows.
var initiators = []Kind{KindUser, KindService, KindNode}

// KindOf tells the kind of a principal, and refuses an ID whose path is not
// of one of the shapes that the functions below make.
func KindOf(id spiffeid.ID) (Kind, error) {
	path := strings.TrimPrefix(id.Path(), "/")
	first, _, _ := strings.Cut(path, "/")
	kind, n := Kind(first), 1+strings.Count(path, "/")
	switch kind {
	case KindUser, KindNode, KindManagementPlane, KindControlPlane:
		if n == 2 {
			return kind, nil
		}
	case KindService:
		if n == 2 || n == 3 {
			return kind, nil
		}
	case KindVertex:
		if n == 3 {
			return kind, nil
		}
	}
	return "", fmt.Errorf("%q is not the SPIFFE ID of a user, service, node, vertex, management plane or control plane", id)
}

// UserID returns spiffe://td/user/name.
func UserID(td spiffeid.TrustDomain, name string) (spiffeid.ID, error) {
	return spiffeid.FromSegments(td, string(KindUser), name)
}

// ServiceID returns spiffe://td/service/name.
func ServiceID(td spiffeid.TrustDomain, name string) (spiffeid.ID, error) {
	return spiffeid.FromSegments(td, string(KindService), name)
}

// NodeServiceID returns spiffe://td/service/node/name: a service that exists
// once on each of several nodes.
func NodeServiceID(td spiffeid.TrustDomain, node, name string) (spiffeid.ID, error) {
	return spiffeid.FromSegments(td, string(KindService), node, name)
}

// NodeID returns spiffe://td/node/name.
func NodeID(td spiffeid.TrustDomain, name string) (spiffeid.ID, error) {
	return spiffeid.FromSegments(td, string(KindNode), name)
}

// VertexID returns spiffe://td/vertex/node/name.
func VertexID(td spiffeid.TrustDomain, node, name string) (spiffeid.ID, error) {
	return spiffeid.FromSegments(td, string(KindVertex), node, name)
}

// ManagementPlaneID returns spiffe://td/management-plane/name.
func ManagementPlaneID(td spiffeid.TrustDomain, name string) (spiffeid.ID, error) {
	return spiffeid.FromSegments(td, string(KindManagementPlane), name)
}

// ControlPlaneID returns spiffe://td/control-plane/name.
func ControlPlaneID(td spiffeid.TrustDomain, name string) (spiffeid.ID, error) {
	return spiffeid.FromSegments(td, string(KindControlPlane), name)
}

// Leaf returns the last segment of the ID's path: the principal's own name,
// and the stem of its file names in the identity store.
func Leaf(id spiffeid.ID) string {
	return id.Path()[strings.LastIndexByte(id.Path(), '/')+1:]
}
