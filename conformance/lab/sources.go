package lab

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// The nodes of a lab's rete, whose trust domain is "lab".
const (
	Rete = "lab"

	Management = "mgmt01" // the coordinator
	Alpha      = "alpha"  // the shop
	Beta       = "beta"   // the stock
	Laptop     = "laptop" // fyodor, who operates the rete, and alice
	Desk       = "desk"   // bob and dora
)

// Nodes are all of them.
func Nodes() []string { return []string{Management, Alpha, Beta, Laptop, Desk} }

// vertexPort is the one on which every vertex listens.
const vertexPort = 4433

// The addresses that stand in the sources. Each node has a loopback of its own.
var (
	shopAt    = netip.MustParseAddrPort("127.0.0.1:8000")
	shopProxy = netip.MustParseAddrPort("127.0.0.1:18000")
	stockAt   = netip.MustParseAddrPort("127.0.0.1:7000")
)

// proxies are the SOCKS5 ports of the users on their nodes.
var proxies = map[string]string{"fyodor": "127.0.0.1:1090", "alice": "127.0.0.1:1091", "bob": "127.0.0.1:1092", "dora": "127.0.0.1:1093"}

// Sources are what the operator of a lab's rete edits.
type Sources struct {
	// Vertex is where each node's vertex is dialled.
	Vertex map[string]netip.AddrPort
	// BobsRoles are customer, clerk, both or none.
	BobsRoles []string
	// Edits counts what the operator has thought of so far: each takes dora, at
	// the desk, from the shop to the stock or back, which is a change for alpha,
	// beta and the desk.
	Edits int
}

// Files are the sources, by file name, without rete.yaml.
func (s Sources) Files() map[string]string {
	return map[string]string{
		"nodes.yaml":    s.nodes(),
		"services.yaml": services,
		"access.yaml":   access,
		"users.yaml":    s.users(),
	}
}

func (s Sources) nodes() string {
	var text strings.Builder
	text.WriteString("nodes:\n")
	for _, name := range Nodes() {
		fmt.Fprintf(&text, "  %s:\n    vertices: [{name: wire, kind: link, type: quic, address: %q, listen: \"0.0.0.0:%d\"}]\n",
			name, s.Vertex[name], vertexPort)
	}
	return text.String()
}

var services = fmt.Sprintf(`services:
  coordinator:           {at: mgmt01, addr: "127.0.0.1:9000", groups: [coordinator-sync]}
  coordinator-publisher: {at: mgmt01, addr: "127.0.0.1:9001", groups: [coordinator-publish]}
  shop:  {at: alpha, addr: %q, socks5_proxy: %q, groups: [shop], roles: [shop-backend]}
  stock: {at: beta, addr: %q, groups: [stock]}
`, shopAt, shopProxy, stockAt)

const access = `groups: {coordinator-sync: , coordinator-publish: , shop: , stock: }
roles:
  node:         {allow: [coordinator-sync]}
  operator:     {allow: [coordinator-publish]}
  customer:     {allow: [shop]}
  clerk:        {allow: [stock]}
  shop-backend: {allow: [stock]}
`

func (s Sources) users() string {
	roles := "[" + strings.Join(s.BobsRoles, ", ") + "]"
	doras := []string{"customer", "clerk"}[s.Edits%2]
	return fmt.Sprintf(`users:
  fyodor: {roles: [operator], nodes: [{at: laptop, socks5_proxy: %q}]}
  alice:  {roles: [customer, clerk], nodes: [{at: laptop, socks5_proxy: %q}]}
  bob:    {roles: %s, nodes: [{at: desk, socks5_proxy: %q}]}
  dora:   {roles: [%s], nodes: [{at: desk, socks5_proxy: %q}]}
`, proxies["fyodor"], proxies["alice"], roles, proxies["bob"], doras, proxies["dora"])
}

// nodeOf is where a principal has its SOCKS5 port.
func nodeOf(user string) string {
	switch {
	case slices.Contains([]string{"fyodor", "alice"}, user):
		return Laptop
	case user == "shop":
		return Alpha
	default:
		return Desk
	}
}
