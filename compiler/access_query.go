package compiler

import "slices"

// AccessQuery narrows an answer about access. A nil field narrows nothing.
type AccessQuery struct {
	Who *Principal
	To  *Service
}

// Reach is one line of the answer: a principal, a service that it may reach,
// and every way in which it comes to (never none).
type Reach struct {
	Principal *Principal
	Service   *Service
	Grants    []Grant
}

// Access answers who may reach what, and why (CMP-11, CLI-3), ordered by the ID
// of the principal, then of the service. The cost is that of the answer: the
// targets of one principal, or the initiators of one service.
func (v *View) Access(q AccessQuery) []Reach {
	var answer []Reach
	for _, p := range v.candidates(q) {
		for _, s := range p.targets {
			if q.To == nil || s == q.To {
				answer = append(answer, Reach{Principal: p, Service: s, Grants: p.Grants(s)})
			}
		}
	}
	return answer
}

func (v *View) candidates(q AccessQuery) []*Principal {
	switch {
	case q.Who != nil:
		return []*Principal{q.Who}
	case q.To != nil:
		return q.To.initiators
	}
	return v.Principals()
}

// Principal finds a node, service or user by its name in the source or by its
// SPIFFE ID; nil when there is none.
func (v *View) Principal(name string) *Principal {
	all := v.Principals()
	i := slices.IndexFunc(all, func(p *Principal) bool { return p.isCalled(name) })
	if i < 0 {
		return nil
	}
	return all[i]
}

// Service finds a service by its name in the source or by its SPIFFE ID; nil
// when there is none.
func (v *View) Service(name string) *Service {
	i := slices.IndexFunc(v.Services, func(s *Service) bool { return s.isCalled(name) })
	if i < 0 {
		return nil
	}
	return v.Services[i]
}

func (p *Principal) isCalled(name string) bool { return p.Name == name || p.ID.String() == name }
