package main

import (
	"fmt"
	"strings"
)

const reteName = "quickstart"

// The nodes, and the user who operates the rete.
const (
	management = "mgmt01"
	alpha      = "alpha"
	beta       = "beta"
	laptop     = "laptop"
)

// addresses are the loopback addresses that stand for those of four machines.
type addresses struct {
	vertex             map[string]string // per node, UDP
	nodeProxy          map[string]string // per node: the node's own SOCKS5
	shopProxy          string            // SOCKS5 of the service shop on alpha
	fyodor, alice, bob string            // SOCKS5 of each user on the laptop
	coordinator        string
	publisher          string
	shop, stock        string // where the services listen
}

// probeAddresses finds a free port for everything that flor will open.
func probeAddresses(shop, stock string) (addresses, error) {
	a := addresses{vertex: map[string]string{}, nodeProxy: map[string]string{}, shop: shop, stock: stock}
	var prober portProber
	var failed error
	free := func() string {
		addr, err := prober.next()
		if err != nil {
			failed = err
		}
		return addr.String()
	}
	for _, name := range []string{management, alpha, beta, laptop} {
		a.vertex[name], a.nodeProxy[name] = free(), free()
	}
	a.shopProxy, a.fyodor, a.alice, a.bob = free(), free(), free(), free()
	a.coordinator, a.publisher = free(), free()
	return a, failed
}

// files are the operator's sources beside rete.yaml, which `retectl init`
// wrote with the authority.
func (a addresses) files(bobsRoles string) map[string]string {
	return map[string]string{
		"nodes.yaml":    a.nodes(),
		"services.yaml": a.services(),
		"access.yaml":   access,
		"users.yaml":    a.users(bobsRoles),
	}
}

func (a addresses) nodes() string {
	var text strings.Builder
	text.WriteString("nodes:\n")
	for _, name := range []string{management, alpha, beta, laptop} {
		fmt.Fprintf(&text, "  %s:\n    socks5_proxy: %s\n    vertices: [{name: wire, kind: link, type: quic, address: %s}]\n",
			name, a.nodeProxy[name], a.vertex[name])
	}
	return text.String()
}

func (a addresses) services() string {
	return fmt.Sprintf(`services:
  coordinator:           {at: %s, addr: %s, groups: [coordinator-sync]}
  coordinator-publisher: {at: %s, addr: %s, groups: [coordinator-publish]}
  shop:  {at: %s, addr: %s, socks5_proxy: %s, groups: [shop], roles: [shop-backend]}
  stock: {at: %s, addr: %s, groups: [stock]}
`, management, a.coordinator, management, a.publisher, alpha, a.shop, a.shopProxy, beta, a.stock)
}

const access = `groups: {coordinator-sync: , coordinator-publish: , shop: , stock: }
roles:
  node:         {allow: [coordinator-sync]}
  operator:     {allow: [coordinator-publish]}
  customer:     {allow: [shop]}
  clerk:        {allow: [stock]}
  shop-backend: {allow: [stock]}
`

func (a addresses) users(bobsRoles string) string {
	return fmt.Sprintf(`users:
  fyodor: {roles: [operator], nodes: [{at: laptop, socks5_proxy: %s}]}
  alice:  {roles: [customer], nodes: [{at: laptop, socks5_proxy: %s}]}
  bob:    {roles: [%s], nodes: [{at: laptop, socks5_proxy: %s}]}
`, a.fyodor, a.alice, bobsRoles, a.bob)
}
