package envelopetest_test

import (
	"crypto/x509"
	"testing"
	"time"

	"github.com/florete/flor/envelope/envelopetest"
	"github.com/florete/flor/envelope/schema"
	"github.com/google/go-cmp/cmp"
	"github.com/spiffe/go-spiffe/v2/spiffeid"
)

// verify verifies a leaf the way a TLS peer would.
func verify(ca *envelopetest.Authority, cert *x509.Certificate, at time.Time, usage x509.ExtKeyUsage) error {
	roots := x509.NewCertPool()
	roots.AddCert(ca.CA)
	_, err := cert.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: at, KeyUsages: []x509.ExtKeyUsage{usage}})
	return err
}

// TestLeavesFitTheirKind: certificates are those of PKI-3.
func TestLeavesFitTheirKind(t *testing.T) {
	t.Parallel()
	ca := envelopetest.NewAuthority("rete-lovers")
	server, client := x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth
	for path, want := range map[string][]x509.ExtKeyUsage{
		"/user/eve":           {client},
		"/node/alpha":         {client},
		"/service/db":         {server, client},
		"/vertex/alpha/wire":  {server, client},
		"/management-plane/p": nil,
		"/control-plane/mesh": nil,
	} {
		cert := ca.Issue(spiffeid.RequireFromPath(ca.TrustDomain, path)).Cert
		if diff := cmp.Diff(want, cert.ExtKeyUsage); diff != "" {
			t.Errorf("%s: %s", path, diff)
		}
		if err := verify(ca, cert, time.Now(), x509.ExtKeyUsageAny); err != nil || cert.IsCA || cert.KeyUsage != x509.KeyUsageDigitalSignature {
			t.Errorf("%s: CA %v, usage %v, %v", path, cert.IsCA, cert.KeyUsage, err)
		}
		if len(cert.URIs) != 1 || cert.URIs[0].String() != "spiffe://rete-lovers"+path {
			t.Errorf("%s: SANs %v", path, cert.URIs)
		}
	}
}

// TestChangesBreakWhatTheySay: a helper that makes nothing wrong would hide
// every fault that is looked for with it.
func TestChangesBreakWhatTheySay(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 4, 20, 12, 0, 0, 0, time.UTC)
	ca := envelopetest.NewAuthorityAt("rete-lovers", now)
	id := spiffeid.RequireFromPath(ca.TrustDomain, "/service/db")
	other := spiffeid.RequireFromPath(ca.TrustDomain, "/service/other")
	if err := verify(ca, ca.Issue(id).Cert, now, x509.ExtKeyUsageServerAuth); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]envelopetest.Change{
		"expired":       envelopetest.Expired,
		"not yet valid": envelopetest.NotYetValid,
		"a past window": envelopetest.Valid(now.Add(-2*time.Hour), now.Add(-time.Hour)),
		"a wrong usage": envelopetest.Usages(x509.ExtKeyUsageClientAuth),
	} {
		if err := verify(ca, ca.Issue(id, change).Cert, now, x509.ExtKeyUsageServerAuth); err == nil {
			t.Errorf("%s: the certificate is valid", name)
		}
	}
	if cert := ca.Issue(id, envelopetest.SANs(id, other)).Cert; len(cert.URIs) != 2 {
		t.Errorf("SANs %v", cert.URIs)
	}
	if cert := ca.Issue(id, envelopetest.URIs("https://x/")).Cert; cert.URIs[0].Scheme != "https" {
		t.Errorf("SANs %v", cert.URIs)
	}
	if cert := ca.Issue(id, envelopetest.AsCA).Cert; !cert.IsCA {
		t.Error("the certificate is not that of a CA")
	}
	if cert := ca.Issue(id, envelopetest.KeyUsage(x509.KeyUsageKeyAgreement)).Cert; cert.KeyUsage != x509.KeyUsageKeyAgreement {
		t.Errorf("key usage %v", cert.KeyUsage)
	}
}

func TestSetsAreCoherent(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 4, 20, 12, 0, 0, 0, time.UTC)
	ca := envelopetest.NewAuthorityAt("rete-lovers", now)
	primary := ca.Signer("primary")
	texts := ca.Set(primary, "alpha", 1, envelopetest.Member{Name: "wire", Payload: 1}, envelopetest.Member{Name: "relay", Payload: 2})
	if _, err := schema.VerifySet(ca.Held(envelopetest.Block(primary)), "alpha", texts, now); err != nil {
		t.Error(err)
	}
}

func TestMistakesOfATestPanic(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("an artifact of an unsafe name was signed")
		}
	}()
	envelopetest.NewAuthority("rete-lovers").Signer("primary").Sign("..", "wire", 1, 1)
}
