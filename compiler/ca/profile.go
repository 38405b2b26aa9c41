package ca

import (
	"crypto/x509"
	"fmt"

	"github.com/spiffe/go-spiffe/v2/spiffeid"

	"github.com/florete/flor/envelope/schema"
)

// profile is what the kind of a principal decides about its certificate
// (PKI-3). All leaves have digitalSignature and nothing else.
type profile struct {
	extended []x509.ExtKeyUsage
}

var (
	clientOnly      = profile{extended: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	serverAndClient = profile{extended: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	signing         = profile{}
)

var profiles = map[schema.Kind]profile{
	schema.KindUser:            clientOnly,
	schema.KindNode:            clientOnly,
	schema.KindService:         serverAndClient,
	schema.KindVertex:          serverAndClient,
	schema.KindManagementPlane: signing,
	schema.KindControlPlane:    signing,
}

// profileOf finds the profile of id, which must be of the trust domain td.
func profileOf(id spiffeid.ID, td spiffeid.TrustDomain) (profile, error) {
	if id.TrustDomain() != td {
		return profile{}, &Refusal{ReasonIDUnsuitable, fmt.Errorf("%s is not of the trust domain %s", id, td)}
	}
	kind, err := schema.KindOf(id)
	if err != nil {
		return profile{}, &Refusal{ReasonIDUnsuitable, err}
	}
	p, ok := profiles[kind]
	if !ok {
		return profile{}, &Refusal{ReasonIDUnsuitable, fmt.Errorf("%s: no profile for the kind %s", id, kind)}
	}
	return p, nil
}
