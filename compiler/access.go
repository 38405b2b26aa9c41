package compiler

import "github.com/florete/flor/compiler/diag"

// Targets are the services that the principal may reach, ordered by ID
// (CMP-11). The slice is shared with principals of the same roles: read only.
func (p *Principal) Targets() []*Service { return p.targets }

// Initiators are the principals that may reach the service, ordered by ID
// (CMP-11). Read only.
func (s *Service) Initiators() []*Principal { return s.initiators }

// Grant is one way in which a principal comes to reach a service.
type Grant struct {
	Role  *Role
	Group *Group
	// Given is where the principal has the role, Allowed where the role allows
	// the group, Joined where the service joins it.
	Given, Allowed, Joined diag.Place
}
