package agent

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/florete/flor/store/identity"
	"github.com/florete/flor/supervise/control"
)

// identities tells of the certificates in the scope's identity store. The agent
// reads no key (AGT-2).
type identities struct{ dir string }

// certificates lists what the store holds now. faults says what cannot be read.
func (i *identities) certificates() (list []control.Certificate, faults []error) {
	list = []control.Certificate{}
	opened, err := identity.Open(i.dir)
	if err != nil {
		return list, []error{err}
	}
	certificates, err := opened.Certificates()
	if err != nil {
		return list, []error{fmt.Errorf("list the certificates in %s: %w", i.dir, err)}
	}
	for _, c := range certificates {
		if c.Err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", c.File, c.Err))
			continue
		}
		list = append(list, control.Certificate{ID: c.ID.String(), NotBefore: c.NotBefore.UTC(), NotAfter: c.NotAfter.UTC()})
	}
	slices.SortFunc(list, func(a, b control.Certificate) int { return cmp.Compare(a.ID, b.ID) })
	return list, faults
}
