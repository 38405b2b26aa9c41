package bundle_test

import (
	"bytes"
	"crypto/x509"
	"fmt"
	"os"
	"time"

	"github.com/spiffe/go-spiffe/v2/spiffeid"
	"github.com/spiffe/go-spiffe/v2/svid/x509svid"

	"github.com/florete/flor/envelope/envelopetest"
	"github.com/florete/flor/store"
	"github.com/florete/flor/store/bundle"
)

// The operator packs a node's keys and first set; the node checks the file and
// becomes a scope.
func Example() {
	ca := envelopetest.NewAuthority("rete-lovers")
	signer := ca.Signer("primary")
	alpha := ca.Issue(spiffeid.RequireFromString("spiffe://rete-lovers/node/alpha"))

	var file bytes.Buffer
	err := bundle.Write(&file, bundle.Contents{
		CA:         ca.CA,
		Principals: []*x509svid.SVID{{ID: alpha.ID, Certificates: []*x509.Certificate{alpha.Cert}, PrivateKey: alpha.Key}},
		Artifacts:  ca.Set(signer, "alpha", 1),
		Now:        time.Now(),
	}, signer.ID, signer.Key)
	if err != nil {
		fmt.Println(err)
		return
	}

	b, err := bundle.Read(&file, time.Now())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("node", b.Node, "of", b.TrustDomain, "at version", b.SetVersion)

	stateDir, err := os.MkdirTemp("", "flor-example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(stateDir)
	if err := b.Install(stateDir, "lovers", bundle.Options{}); err != nil {
		fmt.Println(err)
		return
	}
	scopes, err := store.Layout{State: stateDir}.Scopes()
	fmt.Println("enrolled:", scopes, err)
	// Output:
	// node alpha of rete-lovers at version 1
	// enrolled: [lovers] <nil>
}
