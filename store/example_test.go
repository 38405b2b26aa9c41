package store_test

import (
	"bytes"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spiffe/go-spiffe/v2/spiffeid"
	"github.com/spiffe/go-spiffe/v2/svid/x509svid"

	"github.com/florete/flor/envelope"
	"github.com/florete/flor/envelope/envelopetest"
	"github.com/florete/flor/envelope/schema"
	"github.com/florete/flor/store"
	"github.com/florete/flor/store/bundle"
)

var ca = envelopetest.NewAuthority("rete-lovers")

// A program of one's own judges a set document by what the machine holds, as its
// agent would, and changes nothing. While an agent runs, it holds the scope's
// lock, and is asked instead: "flor agent sync --from FILE --dry-run".
func Example() {
	signer := ca.Signer("primary")
	stateDir, err := enrolled(ca.Set(signer, "alpha", 1), signer)
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(stateDir)
	scopes, err := store.Layout{State: stateDir}.Scopes()
	fmt.Println(scopes, err)

	good := envelope.AppendSet(nil, ca.Set(signer, "alpha", 2)...)
	fmt.Println(judge(stateDir, "lovers", good))
	fmt.Println(judge(stateDir, "lovers", envelope.AppendSet(nil, ca.Set(signer, "beta", 2)...)))
	err = judge(stateDir, "lovers", bytes.Replace(good, []byte("127.0.0.1:1080"), []byte("127.0.0.1:1081"), 2))
	if refusal, ok := errors.AsType[*envelope.Refusal](err); ok {
		fmt.Println(refusal.Code(), refusal.Reason)
	}
	// Output:
	// [lovers] <nil>
	// <nil>
	// FL1205 wrong-node: beta/mgmt/agent: it is for node beta, and a set of node "alpha" is wanted
	// FL1104 bad-signature
}

// judge says why the scope would not take the set in.
func judge(stateDir, scope string, document []byte) error {
	lock, err := store.LockScope(stateDir, scope)
	if err != nil {
		return err // a *store.HeldError while the agent runs
	}
	defer lock.Release()
	s, err := store.Open(stateDir, scope)
	if err != nil {
		return err
	}
	defer s.Close()
	holding, err := s.Holding()
	if err != nil {
		return err
	}
	members, err := envelope.ParseSet(document)
	if err != nil {
		return err
	}
	set, err := schema.VerifySet(holding.Held, holding.Node, members, time.Now())
	if err != nil {
		return err
	}
	return holding.Check(set, false)
}

// enrolled is a state directory in which the scope "lovers" was enrolled.
func enrolled(set [][]byte, signer *envelopetest.Identity) (stateDir string, err error) {
	alpha := ca.Issue(spiffeid.RequireFromString("spiffe://rete-lovers/node/alpha"))
	var file bytes.Buffer
	err = bundle.Write(&file, bundle.Contents{
		CA:         ca.CA,
		Principals: []*x509svid.SVID{{ID: alpha.ID, Certificates: []*x509.Certificate{alpha.Cert}, PrivateKey: alpha.Key}},
		Artifacts:  set,
		Now:        time.Now(),
	}, signer.ID, signer.Key)
	if err != nil {
		return "", err
	}
	b, err := bundle.Read(&file, time.Now())
	if err != nil {
		return "", err
	}
	if stateDir, err = os.MkdirTemp("", "flor-example"); err != nil {
		return "", err
	}
	return stateDir, b.Install(stateDir, "lovers", bundle.Options{})
}
