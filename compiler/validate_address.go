package compiler

import (
	"net/netip"
	"strings"

	"github.com/florete/flor/compiler/diag"
	"github.com/florete/flor/compiler/facade"
)

// listener parses an address on which something of ours will listen.
func (v *validator) listener(t facade.Text, what string) netip.AddrPort {
	addr, ok := v.address(t, what)
	if ok && addr.Addr().IsMulticast() {
		v.found.Add(badAddress.At(t.At, "%s is %s, a multicast address", what, t.V))
		return netip.AddrPort{}
	}
	return addr
}

// broadcast is the address of everybody on a link, which no connection has.
var broadcast = netip.AddrFrom4([4]byte{255, 255, 255, 255})

// destination parses an address that something of ours will dial. The
// unspecified address leads to this machine, which some places allow.
func (v *validator) destination(t facade.Text, what string, allowUnspecified bool) netip.AddrPort {
	addr, ok := v.address(t, what)
	if !ok {
		return netip.AddrPort{}
	}
	if ip := addr.Addr(); ip.IsMulticast() || ip.Unmap() == broadcast || ip.IsUnspecified() && !allowUnspecified {
		v.found.Add(undialable.At(t.At, "%s is %s, which nobody can dial", what, t.V).Suggest("write the address under which others reach it"))
		return netip.AddrPort{}
	}
	return addr
}

func (v *validator) address(t facade.Text, what string) (netip.AddrPort, bool) {
	addr, err := netip.ParseAddrPort(t.V)
	switch {
	case err != nil:
		v.found.Add(badAddress.At(t.At, "%s is %q, which is not an IP address with a port", what, t.V).Suggest("%s", addressHint(t.V)))
	case addr.Port() == 0:
		v.found.Add(badAddress.At(t.At, "%s has port 0", what).Suggest("choose a port from 1 to 65535"))
	case addr.Addr().Zone() != "":
		v.found.Add(badAddress.At(t.At, "%s has a zone, which means something on one machine only", what).Suggest("leave out %%%s", addr.Addr().Zone()))
	case addr.Addr().Is4In6():
		plain := netip.AddrPortFrom(addr.Addr().Unmap(), addr.Port())
		v.found.Add(badAddress.At(t.At, "%s is an IPv4 address in IPv6 clothes", what).Suggest("write %s", plain))
	default:
		return addr, true
	}
	return netip.AddrPort{}, false
}

func addressHint(s string) string {
	if addr, err := netip.ParseAddr(s); err == nil {
		return "add a port: " + netip.AddrPortFrom(addr, 8000).String()
	}
	host, port, _ := strings.Cut(s, ":")
	switch {
	case host == "localhost":
		return "write 127.0.0.1:" + port
	case host == "" && !strings.Contains(port, ":"):
		return "write 0.0.0.0" + s + " for all interfaces, or 127.0.0.1" + s
	case strings.Contains(port, ":") && !strings.HasPrefix(s, "["):
		return "put the IPv6 address into brackets: [::1]:8000"
	}
	return "write it like 127.0.0.1:8000 or [::1]:8000"
}

// listening is one listener on a node.
type listening struct {
	addr netip.AddrPort
	what string
	at   diag.Place
	udp  bool
	// risk is what somebody gains who reaches it from the network.
	risk string
}

// What an open listener gives away.
const (
	riskProxy       = "acts with the rights of its owner"
	riskCoordinator = "goes around the access list"
)

// ports checks the listeners of each node against each other, and the services
// there against the listeners (CMP-9). What a coordinator serves is a listener
// of ours as well.
func (v *validator) ports() {
	for _, n := range v.view.Nodes {
		open := newOpenPorts()
		for _, l := range v.listeners(n) {
			v.warnOpen(l)
			if first, taken := open.add(l); taken {
				v.found.Add(portTaken.At(l.at, "%s on node %q listens on %s, which overlaps %s", l.what, n.Name, l.addr, first.what).
					Also(first.at, "%s listens on %s", first.what, first.addr).Suggest("choose another port"))
			}
		}
		for _, s := range n.Services {
			v.checkUpstream(s, open)
		}
	}
}

func (v *validator) checkUpstream(s *Service, open *openPorts) {
	if isReservedService(s.Name) || !s.Upstream.IsValid() {
		return
	}
	if l, taken := open.overlapping(s.Upstream); taken && !l.udp {
		v.found.Add(addrTaken.At(s.addrAt, "service %q is at %s, where %s listens", s.Name, s.Upstream, l.what).
			Also(l.at, "%s listens on %s", l.what, l.addr).Suggest("choose another port"))
	}
}

// listeners are all of a node in a fixed order, without those whose address
// was refused.
func (v *validator) listeners(n *Node) []listening {
	var all roster
	if n.Vertex != nil {
		all.add(listening{addr: n.Vertex.Listen, what: "the vertex", at: firstGiven(n.Vertex.listenAt, n.At), udp: true})
	}
	all.proxy(n.SOCKS5, "the node", firstGiven(n.proxyAt, n.At))
	for _, d := range n.Devices {
		all.proxy(d.SOCKS5, "user "+d.User.Name, firstGiven(d.proxyAt, d.At))
		all.forwards(d.Forwards, "user "+d.User.Name)
	}
	for _, s := range n.Services {
		if isReservedService(s.Name) {
			all.add(listening{addr: s.Upstream, what: "service " + s.Name, at: s.addrAt, risk: riskCoordinator})
		}
		all.proxy(s.SOCKS5, "service "+s.Name, s.proxyAt)
		all.forwards(s.Forwards, "service "+s.Name)
	}
	return all
}

// roster collects listeners that have an address.
type roster []listening

func (r *roster) add(l listening) {
	if l.addr.IsValid() {
		*r = append(*r, l)
	}
}

func (r *roster) proxy(addr netip.AddrPort, owner string, at diag.Place) {
	r.add(listening{addr: addr, what: "the socks5_proxy of " + owner, at: at, risk: riskProxy})
}

func (r *roster) forwards(list []Forward, owner string) {
	for _, f := range list {
		r.add(listening{addr: f.Listen, what: "a forward of " + owner, at: f.At, risk: riskProxy})
	}
}

// warnOpen warns of a listener that asks for no password and is not on
// loopback.
func (v *validator) warnOpen(l listening) {
	if l.risk != "" && !l.addr.Addr().IsLoopback() {
		v.found.Add(openListener.At(l.at, "%s listens on %s: whoever reaches it %s", l.what, l.addr, l.risk).Suggest("use 127.0.0.1:%d", l.addr.Port()))
	}
}

// openPorts finds overlapping listeners in constant time each: by exact
// address, and by port for those that listen on all addresses.
type openPorts struct {
	exact     map[netip.AddrPort]listening
	wildcards map[netip.AddrPort]listening // by unspecified address and port
	firstOn   map[portFamily]listening
}

type portFamily struct {
	port uint16
	v6   bool
}

func newOpenPorts() *openPorts {
	return &openPorts{
		exact:     map[netip.AddrPort]listening{},
		wildcards: map[netip.AddrPort]listening{},
		firstOn:   map[portFamily]listening{},
	}
}

// add enters a listener, unless it overlaps an earlier one, which is returned.
func (o *openPorts) add(l listening) (listening, bool) {
	if first, taken := o.overlapping(l.addr); taken {
		return first, true
	}
	o.exact[l.addr] = l
	if l.addr.Addr().IsUnspecified() {
		o.wildcards[l.addr] = l
	}
	family := portFamily{l.addr.Port(), l.addr.Addr().Is6()}
	if _, ok := o.firstOn[family]; !ok {
		o.firstOn[family] = l
	}
	return listening{}, false
}

// overlapping finds a listener that an address would collide with. On most
// systems [::] takes IPv4 as well.
func (o *openPorts) overlapping(addr netip.AddrPort) (listening, bool) {
	if l, ok := o.exact[addr]; ok {
		return l, true
	}
	if l, ok := o.wildcards[netip.AddrPortFrom(netip.IPv6Unspecified(), addr.Port())]; ok {
		return l, true
	}
	if addr.Addr().Is4() {
		if l, ok := o.wildcards[netip.AddrPortFrom(netip.IPv4Unspecified(), addr.Port())]; ok {
			return l, true
		}
	}
	if !addr.Addr().IsUnspecified() {
		return listening{}, false
	}
	if l, ok := o.firstOn[portFamily{addr.Port(), addr.Addr().Is6()}]; ok {
		return l, true
	}
	l, ok := o.firstOn[portFamily{addr.Port(), false}]
	return l, ok && addr.Addr().Is6()
}
