package main

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"testing"
	"time"

	"github.com/spiffe/go-spiffe/v2/bundle/spiffebundle"
	"github.com/spiffe/go-spiffe/v2/spiffeid"
	"github.com/spiffe/go-spiffe/v2/svid/x509svid"

	"github.com/florete/flor/compiler"
	"github.com/florete/flor/compiler/ca"
	"github.com/florete/flor/envelope/schema"
)

// TestGoSPIFFEAcceptsTheTrustBundle is PKI-5: what somebody else's program
// reads out of the bundle verifies a certificate of the rete.
func TestGoSPIFFEAcceptsTheTrustBundle(t *testing.T) {
	t.Parallel()
	td := spiffeid.RequireTrustDomainFromString("demo")
	authority, svid := newIdentity(t, td)
	text, err := trustBundle(&compiler.View{TrustDomain: td, CA: authority.Certificate()})
	if err != nil {
		t.Fatal(err)
	}
	bundle, err := spiffebundle.Parse(td, text)
	if err != nil {
		t.Fatal(err)
	}
	id, _, err := x509svid.Verify([]*x509.Certificate{svid}, bundle)
	if err != nil || id.String() != "spiffe://demo/user/alice" {
		t.Errorf("the certificate is that of %v (%v)", id, err)
	}
	_, stranger := newIdentity(t, td)
	if _, _, err := x509svid.Verify([]*x509.Certificate{stranger}, bundle); err == nil {
		t.Error("a certificate of another authority verifies")
	}
}

// TestTheTrustBundleIsAJWKSOfX509Authorities holds the text against the SPIFFE
// standard, whoever reads it.
func TestTheTrustBundleIsAJWKSOfX509Authorities(t *testing.T) {
	t.Parallel()
	td := spiffeid.RequireTrustDomainFromString("demo")
	authority, _ := newIdentity(t, td)
	text, err := trustBundle(&compiler.View{TrustDomain: td, CA: authority.Certificate()})
	if err != nil {
		t.Fatal(err)
	}
	var jwks struct {
		Keys []struct {
			Kty, Crv, Use string
			X5c           [][]byte
			D             string
		}
	}
	if err := json.Unmarshal(text, &jwks); err != nil {
		t.Fatal(err)
	}
	if len(jwks.Keys) != 1 {
		t.Fatalf("%d keys", len(jwks.Keys))
	}
	key := jwks.Keys[0]
	if key.Kty != "OKP" || key.Crv != "Ed25519" || key.Use != "x509-svid" || key.D != "" {
		t.Errorf("the key is %+v", key)
	}
	if len(key.X5c) != 1 || string(key.X5c[0]) != string(authority.Certificate().Raw) {
		t.Error("the certificate of the key is not the root")
	}
}

// newIdentity makes a root, and a certificate of user alice below it.
func newIdentity(t *testing.T, td spiffeid.TrustDomain) (*ca.Authority, *x509.Certificate) {
	t.Helper()
	now := time.Now()
	key, err := ca.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	authority, err := ca.NewAuthority(td, key, ca.DefaultRootValidity, now)
	if err != nil {
		t.Fatal(err)
	}
	public, _, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	id, err := schema.UserID(td, "alice")
	if err != nil {
		t.Fatal(err)
	}
	cert, err := authority.Issue(id, public, time.Hour, now)
	if err != nil {
		t.Fatal(err)
	}
	return authority, cert
}
