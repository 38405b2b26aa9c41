package envelope

import (
	"crypto"
	"errors"
	"time"

	"github.com/spiffe/go-spiffe/v2/spiffeid"
)

// Draft is an artifact before it is signed.
type Draft struct {
	Plane            PlaneKind
	ObeysMgmtVersion uint64 // of a ctrl artifact; must be 0 for mgmt
	Version          uint64
	Node, Name       string
	GeneratedAt      time.Time // cut to whole seconds, UTC
	Payload          any       // marshalled in field order; []byte and jsontext.Value are taken as JSON text
}

func Sign(d Draft, id spiffeid.ID, key crypto.Signer) ([]byte, error) {
	return nil, errors.ErrUnsupported
}
func SignObject(unsigned any, id spiffeid.ID, key crypto.Signer) ([]byte, error) {
	return nil, errors.ErrUnsupported
}
func VerifyObject(text []byte, t *TrustSet) (spiffeid.ID, error) {
	return spiffeid.ID{}, errors.ErrUnsupported
}
