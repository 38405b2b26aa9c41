package agent

import (
	"cmp"
	"slices"

	"github.com/florete/flor/store/identity"
	"github.com/florete/flor/supervise/control"
)

// identities tells of the certificates in the scope's identity store. The agent
// reads no key (AGT-2).
type identities struct{ dir string }

// certificates lists what the store holds now; a store that cannot be read has
// none, and health tells of the vertex that misses them.
func (i *identities) certificates() []control.Certificate {
	list := []control.Certificate{}
	opened, err := identity.Open(i.dir)
	if err != nil {
		return list
	}
	certificates, err := opened.Certificates()
	if err != nil {
		return list
	}
	for _, c := range certificates {
		if c.Err != nil {
			continue
		}
		list = append(list, control.Certificate{ID: c.ID.String(), NotAfter: c.NotAfter.UTC()})
	}
	slices.SortFunc(list, func(a, b control.Certificate) int { return cmp.Compare(a.ID, b.ID) })
	return list
}
