package compiler

import (
	"strings"

	"github.com/florete/flor/compiler/diag"
	"github.com/florete/flor/compiler/facade"
)

// embedded marks a service that a program serves with a vertex of its own.
const embedded = "embedded"

// The scopes of a service's name.
const (
	scopeRete = "rete"
	scopeNode = "node"
)

// declareService works out the name of a service from its key, `at` and
// `scope`, so that both spellings of a node-scoped service are one name.
func (v *validator) declareService(w *facade.Service) {
	node, leaf, short := strings.Cut(w.Key.V, "/")
	if !short {
		leaf = w.Key.V
	}
	v.checkPrincipal(w.Key, leaf, "service", v.checkLabel)
	s := &Service{Principal: Principal{Name: w.Key.V, At: w.Key.At, unsure: w.Faulty}, NodeScoped: short}
	switch {
	case short:
		v.checkShortForm(w, node)
	case v.scope(w.Scope) == scopeNode:
		s.NodeScoped = true
		s.Name = w.Node.V + "/" + leaf
	}
	v.services.declare(v, facade.Text{V: s.Name, At: w.Key.At}, w.Again, w, s)
}

func (v *validator) checkShortForm(w *facade.Service, node string) {
	if w.Node.Given() && w.Node.V != node {
		v.found.Add(scopeConflict.At(w.Node.At, "the key says that the service is on node %q, `at` says %q", node, w.Node.V).Also(w.Key.At, "the key is here"))
	}
	if w.Scope.Given() && v.scope(w.Scope) == scopeRete {
		v.found.Add(scopeConflict.At(w.Scope.At, "the key says that the name belongs to node %q, `scope` says that it belongs to the rete", node).Also(w.Key.At, "the key is here"))
	}
}

// scope reads the scope of a name; a wrong one is reported and counts as none.
func (v *validator) scope(t facade.Text) string {
	switch {
	case !t.Given():
		return scopeRete
	case t.V == scopeRete || t.V == scopeNode:
		return t.V
	}
	fix := badScope.At(t.At, "%q is no scope", t.V).Suggest("write `scope: %s`, or leave it out for a name of the whole rete", scopeNode)
	v.found.Add(v.suggest(fix, t.V, []string{scopeRete, scopeNode}))
	return ""
}

func (v *validator) resolveService(e entry[facade.Service, Service]) {
	w, s := e.written, e.view
	where := "service " + shown(s.Name)
	s.Node = v.serviceNode(w, s)
	v.checkVia(w.Via, s.Node)
	v.upstream(w, s)
	if w.SOCKS5.Given() {
		s.SOCKS5 = v.listener(w.SOCKS5, "the socks5_proxy of "+where)
		s.proxyAt = w.SOCKS5.At
	}
	s.Groups = v.groupRefs(w.Groups, where, &s.unsureGroups)
	s.unsureGroups = s.unsureGroups || w.Faulty
	s.Roles = v.roleRefs(w.Roles, where, &s.unsure)
	s.Forwards = v.forwards(w.Forwards, where)
}

// serviceNode finds the node of a service, by the short form of its key or by
// `at`.
func (v *validator) serviceNode(w *facade.Service, s *Service) *Node {
	at := w.Node
	if node, _, short := strings.Cut(w.Key.V, "/"); short {
		at = facade.Text{V: node, At: w.Key.At}
	}
	if !at.Given() && !w.Faulty {
		v.missing(w.Key.At, "`at`, the node of service "+w.Key.V+",", "`at: <node>`")
	}
	return resolve(v, v.nodes, at, "service "+s.Name)
}

func (v *validator) upstream(w *facade.Service, s *Service) {
	s.addrAt = firstGiven(w.Addr.At, w.Key.At)
	switch {
	case w.Addr.V == embedded:
		s.Embedded = true
	case w.Addr.Given():
		s.Upstream = v.destination(w.Addr, "the addr of service "+s.Name, true)
	case !w.Faulty:
		v.missing(w.Key.At, "`addr`, where service "+s.Name+" listens,", "`addr: 127.0.0.1:8000`")
	}
}

// forwards resolves the fixed local ports of a service or a device.
func (v *validator) forwards(written []*facade.Forward, where string) []Forward {
	var list []Forward
	for _, f := range written {
		target := resolve(v, v.services, f.Target, "a forward of "+where)
		listen := v.listener(f.Listen, "a forward of "+where)
		if target != nil && listen.IsValid() {
			list = append(list, Forward{Listen: listen, Target: target, At: f.Listen.At})
		}
	}
	return list
}

func (v *validator) resolveUser(e entry[facade.User, User]) {
	w, u := e.written, e.view
	where := "user " + shown(u.Name)
	u.Roles = v.roleRefs(w.Roles, where, &u.unsure)
	places := map[*Node]diag.Place{}
	for _, d := range w.Devices {
		device := v.device(d, u, where)
		if device == nil {
			continue
		}
		if first, twice := places[device.Node]; twice {
			v.found.Add(deviceTwice.At(device.At, "%s has the node %q twice", where, device.Node.Name).Also(first, "the first is here"))
			continue
		}
		places[device.Node] = device.At
		u.Devices = append(u.Devices, device)
	}
	sortDevices(u.Devices)
}

// device resolves one device of a user; it is nil when its node is not known.
func (v *validator) device(w *facade.Device, u *User, where string) *Device {
	if !w.Node.Given() && !w.Faulty {
		v.missing(w.At, "`at`, the node of a device of "+where+",", "`at: <node>`")
	}
	forwards := v.forwards(w.Forwards, where)
	n := resolve(v, v.nodes, w.Node, where)
	v.checkVia(w.Via, n)
	d := &Device{User: u, Node: n, Forwards: forwards, At: w.Node.At, unsure: w.Faulty || len(forwards) < len(w.Forwards)}
	if w.SOCKS5.Given() {
		d.proxyAt = w.SOCKS5.At
		d.SOCKS5 = v.listener(w.SOCKS5, "the socks5_proxy of "+where)
	}
	if n == nil {
		return nil
	}
	return d
}

// proxyDefaults gives the only user of a node the usual port. Where there are
// several, each says what it needs: a port, or forwards.
func (v *validator) proxyDefaults() {
	for _, n := range v.view.Nodes {
		for _, d := range n.Devices {
			switch {
			case d.proxyAt.Known() || d.unsure:
			case len(n.Devices) == 1:
				d.SOCKS5 = loopback(defaultUserProxy)
			case len(d.Forwards) == 0:
				v.missing(d.At, "`socks5_proxy` of user "+d.User.Name+", one of several on node "+n.Name+",", "`socks5_proxy: 127.0.0.1:<port>`")
			}
		}
	}
}

// clients checks who can use what they are allowed (CMP-10), and that each
// forward leads somewhere.
func (v *validator) clients() {
	for _, s := range v.view.Services {
		v.checkClient(s)
		v.checkForwards(&s.Principal, s.Forwards, "service "+s.Name)
	}
	for _, u := range v.view.Users {
		for _, d := range u.Devices {
			v.checkForwards(&u.Principal, d.Forwards, "user "+u.Name)
		}
	}
	v.unused()
}

func (v *validator) checkClient(s *Service) {
	canDial := s.proxyAt.Known() || len(s.Forwards) > 0 || s.Embedded
	switch {
	case s.unsure:
	case s.proxyAt.Known() && len(s.Roles) == 0:
		v.found.Add(rolesNeeded.At(s.proxyAt, "service %q has a socks5_proxy and no role, so it may reach nothing", s.Name).Suggest("give it `roles`, or remove socks5_proxy"))
	case len(s.Roles) > 0 && !canDial:
		v.found.Add(rolesIdle.At(s.Roles[0].At, "service %q has roles and no socks5_proxy to use them", s.Name).Suggest("add `socks5_proxy: 127.0.0.1:<port>`, or remove the roles"))
	}
}

func (v *validator) checkForwards(p *Principal, forwards []Forward, owner string) {
	for _, f := range forwards {
		if p.mayReach(f.Target) || p.unsure || f.Target.unsureGroups || p.hasUnsureRole() {
			continue
		}
		v.found.Add(forwardDenied.At(f.At, "%s forwards to service %q and may not reach it", owner, f.Target.Name).
			Also(f.Target.At, "the service is here").Suggest("give %s a role that allows a group of %s", owner, f.Target.Name))
	}
}

func (p *Principal) hasUnsureRole() bool {
	for _, r := range p.Roles {
		if r.Role.unsure {
			return true
		}
	}
	return false
}

// unused warns of roles and groups without effect.
func (v *validator) unused() {
	given, allowed := map[*Role]bool{}, map[*Group]bool{}
	v.eachPrincipal(func(p *Principal) {
		for _, r := range p.Roles {
			given[r.Role] = true
		}
	})
	bearersKnown := v.src.Whole("users") && v.src.Whole("services")
	for _, r := range v.view.Roles {
		for _, g := range r.Allow {
			allowed[g.Group] = true
		}
		if bearersKnown && !given[r] && !v.excused(r.Name) && !isReservedRole(r.Name) {
			v.found.Add(roleUnused.At(r.At, "nobody has the role %q", r.Name))
		}
	}
	for _, g := range v.view.Groups {
		v.checkUse(g, allowed[g])
	}
}

func (v *validator) checkUse(g *Group, allowed bool) {
	switch {
	case v.excused(g.Name) || isReservedGroup(g.Name):
	case len(g.Members) == 0 && v.src.Whole("services"):
		v.found.Add(groupUnused.At(g.At, "no service is in the group %q", g.Name))
	case len(g.Members) > 0 && !allowed && v.src.Whole("roles"):
		v.found.Add(groupUnused.At(g.At, "no role allows the group %q", g.Name))
	}
}

// excused reports whether a name is perhaps used in what was refused.
func (v *validator) excused(name string) bool {
	return v.meant[name] || v.src.Unread() || v.src.Mentions(name)
}
