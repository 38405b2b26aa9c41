package compiler

import (
	"slices"
	"strings"

	"github.com/florete/flor/compiler/diag"
)

// Names that every rete has (CMP-6).
const (
	ServiceCoordinator = "coordinator"
	ServicePublisher   = "coordinator-publisher"
	GroupSync          = "coordinator-sync"
	GroupPublish       = "coordinator-publish"
	RoleNode           = "node"
	RoleOperator       = "operator"
)

// reserved entities: each service is in its group, which its role allows.
var reservedEntities = []struct{ service, group, role string }{
	{ServiceCoordinator, GroupSync, RoleNode},
	{ServicePublisher, GroupPublish, RoleOperator},
}

func isReservedService(name string) bool {
	return name == ServiceCoordinator || name == ServicePublisher
}
func isReservedGroup(name string) bool { return name == GroupSync || name == GroupPublish }
func isReservedRole(name string) bool  { return name == RoleNode || name == RoleOperator }

// isReservedIn reports whether a collection must have a name.
func isReservedIn(what, name string) bool {
	return what == "group" && isReservedGroup(name) || what == "role" && isReservedRole(name)
}

// reserved checks what makes a rete manageable: two services, two groups and
// two roles that are exactly as they must be, and an operator (CMP-6).
func (v *validator) reserved() {
	for _, r := range reservedEntities {
		v.reservedGroup(r.group)
		v.reservedRole(r.role, r.group)
		v.reservedService(r.service, r.group)
	}
	v.management()
	v.operator()
	v.trespassers()
}

func (v *validator) reservedGroup(name string) {
	if v.groups.get(name) == nil {
		v.absent("group", name, "groups: {%s: }", name)
	}
}

func (v *validator) absent(what, name, format string, args ...any) {
	if v.excused(name) {
		return
	}
	d := reservedMissing.At(v.anchor(), "the rete has no %s %q", what, name)
	v.found.Add(d.Suggest("add `"+format+"`", args...))
}

func (v *validator) reservedRole(name, group string) {
	r := v.roles.get(name)
	switch {
	case r == nil:
		v.absent("role", name, "roles: {%s: {allow: [%s]}}", name, group)
	case r.unsure || len(r.Allow) == 1 && r.Allow[0].Group.Name == group:
	default:
		v.found.Add(reservedAltered.At(r.At, "the role %q allows %s", name, listOf(r.Allow)).Suggest("write `%s: {allow: [%s]}`", name, group))
	}
}

func listOf(groups []GroupRef) string {
	if len(groups) == 0 {
		return "no group"
	}
	names := make([]string, 0, len(groups))
	for _, g := range groups {
		names = append(names, g.Group.Name)
	}
	return strings.Join(names, ", ")
}

func (v *validator) reservedService(name, group string) {
	s := v.services.get(name)
	if s == nil {
		v.absent("service", name, "services: {%s: {at: <node>, addr: 127.0.0.1:<port>, groups: [%s]}}", name, group)
		return
	}
	if !s.unsureGroups && (len(s.Groups) != 1 || s.Groups[0].Group.Name != group) {
		v.found.Add(reservedAltered.At(s.At, "the service %q is in %s", name, listOf(s.Groups)).Suggest("write `groups: [%s]`", group))
	}
	if s.Embedded {
		v.found.Add(reservedAltered.At(s.addrAt, "the service %q is embedded, and flor-coordinator serves it on a port", name).Suggest("write `addr: 127.0.0.1:<port>`"))
	}
}

// management finds the management node. That it needs an address is said by
// the rule for every node with services.
func (v *validator) management() {
	coordinator, publisher := v.services.get(ServiceCoordinator), v.services.get(ServicePublisher)
	if coordinator == nil || publisher == nil || coordinator.Node == nil || publisher.Node == nil {
		return
	}
	if coordinator.Node != publisher.Node {
		v.found.Add(managementSplit.At(publisher.At, "%s is on node %q and %s on node %q", ServicePublisher, publisher.Node.Name, ServiceCoordinator, coordinator.Node.Name).
			Also(coordinator.At, "%s is here", ServiceCoordinator).Suggest("write `at: %s`", coordinator.Node.Name))
	}
	v.view.Management, v.view.Coordinator, v.view.Publisher = coordinator.Node, coordinator, publisher
}

func (v *validator) operator() {
	role := v.roles.get(RoleOperator)
	if role == nil || v.excused(RoleOperator) || !v.src.Whole("users") {
		return
	}
	isOperator := func(u *User) bool {
		return slices.ContainsFunc(u.Roles, func(r RoleRef) bool { return r.Role == role })
	}
	if !slices.ContainsFunc(v.view.Users, isOperator) {
		v.found.Add(noOperator.At(role.At, "no user has the role %q, so nobody could publish", RoleOperator).Suggest("write `users: {<name>: {roles: [%s]}}`", RoleOperator))
	}
}

// trespassers are roles and services of the operator's own that use reserved
// groups.
func (v *validator) trespassers() {
	for _, r := range v.view.Roles {
		if !isReservedRole(r.Name) {
			v.eachReserved(r.Allow, func(g GroupRef) diag.Diagnostic {
				return reservedAllowed.At(g.At, "the role %q allows the reserved group %q", r.Name, g.Group.Name)
			})
		}
	}
	for _, s := range v.view.Services {
		if !isReservedService(s.Name) {
			v.eachReserved(s.Groups, func(g GroupRef) diag.Diagnostic {
				return reservedJoined.At(g.At, "the service %q is in the reserved group %q", s.Name, g.Group.Name)
			})
		}
	}
}

func (v *validator) eachReserved(groups []GroupRef, fault func(GroupRef) diag.Diagnostic) {
	for _, g := range groups {
		if isReservedGroup(g.Group.Name) {
			v.found.Add(fault(g).Suggest("remove it, and use a group of your own"))
		}
	}
}

// addresses checks that a node which serves something can be dialled (CMP-8).
func (v *validator) addresses() {
	for _, n := range v.view.Nodes {
		if len(n.Services) == 0 || n.Vertex == nil || n.Vertex.unsure || n.Vertex.Address.IsValid() {
			continue
		}
		first := n.Services[0]
		v.found.Add(addressNeeded.At(n.Vertex.At, "node %q has services, and its vertex has no address under which others could dial it", n.Name).
			Also(first.At, "service %q is on it", first.Name).Suggest("add `address: <IP>:<port>` to the vertex"))
	}
}
