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

// destination parses an address that something of ours will dial. The
// unspecified address leads to this machine, which some places allow.
func (v *validator) destination(t facade.Text, what string, allowUnspecified bool) netip.AddrPort {
	addr, ok := v.address(t, what)
	if !ok {
		return netip.AddrPort{}
	}
	if addr.Addr().IsMulticast() || addr.Addr().IsUnspecified() && !allowUnspecified {
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
}

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
	var all []listening
	add := func(addr netip.AddrPort, what string, at diag.Place) {
		if addr.IsValid() {
			all = append(all, listening{addr: addr, what: what, at: firstGiven(at, n.At)})
		}
	}
	forwards := func(list []Forward, owner string) {
		for _, f := range list {
			add(f.Listen, "a forward of "+owner, f.At)
		}
	}
	if n.Vertex != nil && n.Vertex.Listen.IsValid() {
		all = append(all, listening{addr: n.Vertex.Listen, what: "the vertex", at: firstGiven(n.Vertex.listenAt, n.At), udp: true})
	}
	add(n.SOCKS5, "the socks5_proxy of the node", n.proxyAt)
	for _, d := range n.Devices {
		add(d.SOCKS5, "the socks5_proxy of user "+d.User.Name, firstGiven(d.proxyAt, d.At))
		forwards(d.Forwards, "user "+d.User.Name)
	}
	for _, s := range n.Services {
		if isReservedService(s.Name) {
			add(s.Upstream, "service "+s.Name, s.addrAt)
		}
		add(s.SOCKS5, "the socks5_proxy of service "+s.Name, s.proxyAt)
		forwards(s.Forwards, "service "+s.Name)
	}
	return all
}

// warnOpen warns of a listener that needs no password and is not on loopback.
func (v *validator) warnOpen(l listening) {
	if l.udp || l.addr.Addr().IsLoopback() || strings.HasPrefix(l.what, "service ") {
		return
	}
	v.found.Add(openProxy.At(l.at, "%s listens on %s: whoever reaches it acts with its rights", l.what, l.addr).Suggest("use 127.0.0.1:%d", l.addr.Port()))
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
