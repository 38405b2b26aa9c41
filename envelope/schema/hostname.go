package schema

import (
	"errors"

	"github.com/spiffe/go-spiffe/v2/spiffeid"
)

func Hostname(id spiffeid.ID) (string, error) { return "", errors.ErrUnsupported }
func ParseHostname(host string, td spiffeid.TrustDomain) (spiffeid.ID, error) {
	return spiffeid.ID{}, errors.ErrUnsupported
}
