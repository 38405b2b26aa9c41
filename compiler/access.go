package compiler

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/florete/flor/compiler/diag"
)

// Targets are the services that the principal may reach, ordered by ID
// (CMP-11). The slice is shared with principals of the same roles: read only.
func (p *Principal) Targets() []*Service { return p.targets }

// Initiators are the principals that may reach the service, ordered by ID
// (CMP-11). Read only.
func (s *Service) Initiators() []*Principal { return s.initiators }

// Principals lists every node, service and user of the rete, ordered by ID.
func (v *View) Principals() []*Principal {
	all := make([]*Principal, 0, len(v.Nodes)+len(v.Services)+len(v.Users))
	for _, n := range v.Nodes {
		all = append(all, &n.Principal)
	}
	for _, s := range v.Services {
		all = append(all, &s.Principal)
	}
	for _, u := range v.Users {
		all = append(all, &u.Principal)
	}
	slices.SortStableFunc(all, func(a, b *Principal) int { return strings.Compare(a.ID.String(), b.ID.String()) })
	return all
}

// Grant is one way in which a principal comes to reach a service.
type Grant struct {
	Role  *Role
	Group *Group
	// Given is where the principal has the role (for a node, where the role
	// is declared), Allowed where the role allows the group, Joined where the
	// service joins it.
	Given, Allowed, Joined diag.Place
}

// Grants tells every way in which the principal may reach the service, in the
// order of the source; none when it may not.
func (p *Principal) Grants(s *Service) []Grant {
	joined := make(map[*Group]diag.Place, len(s.Groups))
	for _, g := range s.Groups {
		joined[g.Group] = g.At
	}
	var grants []Grant
	for _, r := range p.Roles {
		for _, allowed := range r.Role.Allow {
			if at, ok := joined[allowed.Group]; ok {
				grants = append(grants, Grant{Role: r.Role, Group: allowed.Group, Given: r.At, Allowed: allowed.At, Joined: at})
			}
		}
	}
	return grants
}

func (p *Principal) mayReach(s *Service) bool {
	i, found := slices.BinarySearchFunc(p.targets, s, func(a, b *Service) int { return cmp.Compare(a.order, b.order) })
	return found && p.targets[i] == s
}

// computeAccess works out who reaches what (CMP-11): a principal reaches a
// service when one of its roles allows one of the service's groups. What a
// set of roles reaches is computed once; after that the cost is the size of the
// answer.
func (v *View) computeAccess() {
	for i, s := range v.Services {
		s.order = i
	}
	index := accessIndex{position: map[*Role]int{}, reached: map[string][]*Service{}}
	for i, r := range v.Roles {
		index.position[r] = i
	}
	for _, p := range v.Principals() {
		p.targets = index.targets(p.Roles)
		for _, s := range p.targets {
			s.initiators = append(s.initiators, p)
		}
	}
}

// accessIndex has what each set of roles reaches.
type accessIndex struct {
	position map[*Role]int
	reached  map[string][]*Service
}

func (x accessIndex) targets(roles []RoleRef) []*Service {
	if len(roles) == 0 {
		return nil
	}
	key := x.key(roles)
	targets, known := x.reached[key]
	if !known {
		targets = reachedBy(roles)
		x.reached[key] = targets
	}
	return targets
}

// key identifies a set of roles.
func (x accessIndex) key(roles []RoleRef) string {
	positions := make([]int, 0, len(roles))
	for _, r := range roles {
		positions = append(positions, x.position[r.Role])
	}
	slices.Sort(positions)
	var key []byte
	for _, p := range positions {
		key = append(strconv.AppendInt(key, int64(p), 36), ',')
	}
	return string(key)
}

func reachedBy(roles []RoleRef) []*Service {
	seen := map[*Service]bool{}
	var targets []*Service
	for _, r := range roles {
		for _, g := range r.Role.Allow {
			for _, s := range g.Group.Members {
				if !seen[s] {
					seen[s] = true
					targets = append(targets, s)
				}
			}
		}
	}
	slices.SortFunc(targets, func(a, b *Service) int { return cmp.Compare(a.order, b.order) })
	return targets
}

func (v *validator) eachPrincipal(do func(*Principal)) {
	for _, p := range v.view.Principals() {
		do(p)
	}
}
