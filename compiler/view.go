package compiler

import (
	"crypto/x509"
	"errors"
	"net/netip"
	"time"

	"github.com/spiffe/go-spiffe/v2/spiffeid"

	"github.com/florete/flor/compiler/diag"
)

// View is a rete that has been validated: every name resolved, every default
// applied, every value in its own type. It is what projection works from, and
// it is read-only once [Validate] has returned it.
//
// Every list is ordered by name, whatever order the source was written in.
type View struct {
	TrustDomain spiffeid.TrustDomain
	// CA is the certificate that enrolment pins.
	CA *x509.Certificate
	// Signers keep the order of the source: the first whose key is at hand signs.
	Signers []*Signer
	// Validity has how long new certificates live.
	Validity Validity
	// PollInterval is zero where the operator leaves it to the agent.
	PollInterval time.Duration
	// Revoked are the certificates, by SHA-256 in lower-case hex, that no vertex
	// of the rete believes any more (PKI-6), sorted. Load fills them in.
	Revoked []string

	Nodes    []*Node
	Services []*Service
	Users    []*User
	Groups   []*Group
	Roles    []*Role

	// Management is the node of Coordinator and Publisher, the two reserved services.
	Management             *Node
	Coordinator, Publisher *Service
}

// errNoView is what a function says that was given a view of another make.
var errNoView = errors.New("there is no view of a rete: it is what Validate makes of a source without errors")

// usable refuses what Validate did not make.
func (v *View) usable() error {
	if v == nil || v.CA == nil || v.Management == nil || v.Coordinator == nil || v.Publisher == nil {
		return errNoView
	}
	return nil
}

// PublisherAddress is where a program on the management node itself dials what
// takes new trees.
func (v *View) PublisherAddress() netip.AddrPort { return dialable(v.Publisher.Upstream) }

// Validity has how long newly issued certificates live, by what they are for.
type Validity struct{ CA, Signers, Principals time.Duration }

// Signer is an authorised management signer.
type Signer struct {
	Name string
	ID   spiffeid.ID
	Cert *x509.Certificate
	// File is the path of the certificate as the source gives it.
	File string
	At   diag.Place
}

// Principal is what a node, a service and a user have in common: an identity,
// and what it may reach.
type Principal struct {
	// Name is the name in the source: `<node>/<name>` for a service of node scope.
	Name string
	ID   spiffeid.ID
	// Roles are those given in the source; for a node, the role `node`.
	Roles []RoleRef
	At    diag.Place

	targets []*Service
	// unsure says that a part of what gives it roles was refused.
	unsure bool
}

// RoleRef is a role together with the place where somebody was given it.
type RoleRef struct {
	Role *Role
	At   diag.Place
}

// GroupRef is a group together with the place where it was named.
type GroupRef struct {
	Group *Group
	At    diag.Place
}

// Node is a machine with its agent and its vertex.
type Node struct {
	Principal
	Vertex *Vertex
	// SOCKS5 is where the vertex listens for the node's own principal.
	SOCKS5 netip.AddrPort
	// Services are served here, ordered by ID; Devices are ordered by user.
	Services []*Service
	Devices  []*Device

	proxyAt diag.Place
}

// Vertex is the data-plane forwarder of a node, of kind link.
type Vertex struct {
	Name string
	ID   spiffeid.ID
	// Address is where other vertices dial it; invalid when nobody can.
	Address netip.AddrPort
	// Listen is the UDP address of its adapter; invalid means an ephemeral port.
	Listen netip.AddrPort
	At     diag.Place

	addressAt, listenAt diag.Place
	unsure              bool // a part of it was refused
}

// Service is a principal that others reach through the vertex of its node.
type Service struct {
	Principal
	Node *Node
	// NodeScoped says that the name belongs to the node alone.
	NodeScoped bool
	// Upstream is where the vertex connects to the service; invalid when Embedded.
	Upstream netip.AddrPort
	// Embedded says that a program serves it with a vertex of its own.
	Embedded bool
	// SOCKS5 is where the vertex listens for the service as a client; invalid when it is none.
	SOCKS5   netip.AddrPort
	Forwards []Forward
	Groups   []GroupRef

	initiators      []*Principal
	order           int // position in View.Services
	addrAt, proxyAt diag.Place
	unsureGroups    bool
}

// User is a person, with the nodes on which they work.
type User struct {
	Principal
	// Devices are ordered by the name of their node.
	Devices []*Device
}

// Device is a user on a node.
type Device struct {
	User *User
	Node *Node
	// SOCKS5 is where the vertex listens for the user; invalid when the user
	// has forwards alone here.
	SOCKS5   netip.AddrPort
	Forwards []Forward
	At       diag.Place

	proxyAt diag.Place
	unsure  bool
}

// Forward gives a local address to one service, for clients that cannot speak SOCKS5.
type Forward struct {
	Listen netip.AddrPort
	Target *Service
	At     diag.Place
}

// Group is a set of services that a role allows together.
type Group struct {
	Name string
	// Members are ordered by ID.
	Members []*Service
	At      diag.Place
}

// Role is a set of groups that its bearers may reach.
type Role struct {
	Name  string
	Allow []GroupRef
	At    diag.Place

	unsure bool
}
