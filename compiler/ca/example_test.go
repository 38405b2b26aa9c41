package ca_test

import (
	"fmt"
	"time"

	"github.com/spiffe/go-spiffe/v2/spiffeid"

	"github.com/florete/flor/compiler/ca"
)

// A root, and a certificate for one service of it.
func Example() {
	trustDomain := spiffeid.RequireTrustDomainFromString("rete-lovers")
	rootKey, err := ca.NewKey()
	if err != nil {
		fmt.Println(err)
		return
	}
	now := time.Now()
	root, err := ca.NewAuthority(trustDomain, rootKey, ca.DefaultRootValidity, now)
	if err != nil {
		fmt.Println(err)
		return
	}
	key, err := ca.NewKey()
	if err != nil {
		fmt.Println(err)
		return
	}
	api := spiffeid.RequireFromPath(trustDomain, "/service/api")
	cert, err := root.Issue(api, key.Public(), 90*24*time.Hour, now)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(root.Certificate().Subject)
	fmt.Println(cert.URIs[0])
	// Output:
	// CN=rete-lovers Root CA
	// spiffe://rete-lovers/service/api
}
