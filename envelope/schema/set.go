package schema

import (
	"errors"
	"time"

	"github.com/florete/flor/envelope"
	"github.com/spiffe/go-spiffe/v2/spiffeid"
)

// Set is a verified, coherent mgmt set of one node.
type Set struct {
	Node    string
	Version uint64
	Agent   *Agent
	Members []envelope.Verified // root first, then in the order of the inventory
	Trust   *envelope.TrustSet
}

// Member returns the member of that name.
func (s *Set) Member(name string) (envelope.Verified, bool) {
	for _, m := range s.Members {
		if envelope.SameName(m.Core().Name, name) {
			return m, true
		}
	}
	return envelope.Verified{}, false
}

func CheckSet(td spiffeid.TrustDomain, node string, members []envelope.Verified) (*Agent, error) {
	return nil, errors.ErrUnsupported
}
func VerifySet(h envelope.Held, node string, members [][]byte, now time.Time) (*Set, error) {
	return nil, errors.ErrUnsupported
}
