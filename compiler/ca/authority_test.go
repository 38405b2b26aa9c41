package ca_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"errors"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spiffe/go-spiffe/v2/bundle/x509bundle"
	"github.com/spiffe/go-spiffe/v2/spiffeid"
	"github.com/spiffe/go-spiffe/v2/svid/x509svid"

	"github.com/florete/flor/compiler/ca"
)

var (
	td  = spiffeid.RequireTrustDomainFromString("rete-lovers")
	now = time.Now().UTC().Truncate(time.Second)
)

const validity = 90 * 24 * time.Hour

func newAuthority(t *testing.T) (*ca.Authority, ed25519.PrivateKey) {
	t.Helper()
	key := newKey(t)
	authority, err := ca.NewAuthority(td, key, ca.DefaultRootValidity, now)
	if err != nil {
		t.Fatal(err)
	}
	return authority, key
}

func newKey(t *testing.T) ed25519.PrivateKey {
	t.Helper()
	key, err := ca.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func wantReason(t *testing.T, err error, want ca.Reason) {
	t.Helper()
	var refusal *ca.Refusal
	if !errors.As(err, &refusal) || refusal.Reason != want {
		t.Fatalf("got error %v, want a refusal for %s", err, want)
	}
	if refusal.Code() == "" {
		t.Errorf("the reason %s has no code", want)
	}
}

func TestRootHasTheShapeOfPKI3(t *testing.T) {
	t.Parallel()
	authority, _ := newAuthority(t)
	cert := authority.Certificate()
	type shape struct {
		CommonName, URI string
		IsCA            bool
		MaxPathLen      int
		Usage           x509.KeyUsage
		Extended        []x509.ExtKeyUsage
		From, To        time.Time
	}
	got := shape{cert.Subject.CommonName, cert.URIs[0].String(), cert.IsCA, cert.MaxPathLen, cert.KeyUsage, cert.ExtKeyUsage, cert.NotBefore, cert.NotAfter}
	want := shape{"rete-lovers Root CA", "spiffe://rete-lovers", true, 0, x509.KeyUsageCertSign | x509.KeyUsageCRLSign, nil,
		now.Add(-5 * time.Minute), now.Add(3650 * 24 * time.Hour)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("root (-want +got):\n%s", diff)
	}
	if !cert.MaxPathLenZero {
		t.Error("the path length 0 is not said")
	}
}

var kinds = []struct {
	name, path string
	extended   []x509.ExtKeyUsage
}{
	{"a user is a client", "/user/alice", []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}},
	{"a node is a client", "/node/alpha", []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}},
	{"a service is server and client", "/service/api", []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}},
	{"a node's service is server and client", "/service/alpha/ssh", []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}},
	{"a vertex is server and client", "/vertex/alpha/public", []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}},
	{"a management plane only signs", "/management-plane/primary", nil},
	{"a control plane only signs", "/control-plane/mesh", nil},
}

func TestLeafHasTheShapeOfItsKind(t *testing.T) {
	t.Parallel()
	authority, _ := newAuthority(t)
	for _, tt := range kinds {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			id := spiffeid.RequireFromPath(td, tt.path)
			cert, err := authority.Issue(id, newKey(t).Public(), validity, now)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.extended, cert.ExtKeyUsage); diff != "" {
				t.Errorf("extended usages (-want +got):\n%s", diff)
			}
			if cert.KeyUsage != x509.KeyUsageDigitalSignature || cert.IsCA || !cert.BasicConstraintsValid {
				t.Errorf("usage %v, CA %t, basic constraints %t", cert.KeyUsage, cert.IsCA, cert.BasicConstraintsValid)
			}
			if len(cert.Subject.Names) != 0 || len(cert.URIs) != 1 || cert.URIs[0].String() != id.String() {
				t.Errorf("subject %v, URIs %v", cert.Subject, cert.URIs)
			}
			if !sanIsCritical(cert) {
				t.Error("with an empty subject the SAN must be critical")
			}
			if bits := cert.SerialNumber.BitLen(); bits < 64 || bits > 128 {
				t.Errorf("serial of %d bits", bits)
			}
		})
	}
}

func sanIsCritical(cert *x509.Certificate) bool {
	for _, e := range cert.Extensions {
		if e.Id.String() == "2.5.29.17" {
			return e.Critical
		}
	}
	return false
}

func TestNoLeafOutlivesItsRoot(t *testing.T) {
	t.Parallel()
	authority, err := ca.NewAuthority(td, newKey(t), 24*time.Hour, now)
	if err != nil {
		t.Fatal(err)
	}
	id := spiffeid.RequireFromPath(td, "/user/alice")
	cert, err := authority.Issue(id, newKey(t).Public(), validity, now)
	if err != nil {
		t.Fatal(err)
	}
	if !cert.NotAfter.Equal(authority.Certificate().NotAfter) {
		t.Errorf("leaf ends %v, root ends %v", cert.NotAfter, authority.Certificate().NotAfter)
	}
	_, err = authority.Issue(id, newKey(t).Public(), validity, now.Add(25*time.Hour))
	wantReason(t, err, ca.ReasonValidityUnsuitable)
}

func TestIssueRefuses(t *testing.T) {
	t.Parallel()
	authority, _ := newAuthority(t)
	ecKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	edPub := newKey(t).Public()
	alice := spiffeid.RequireFromPath(td, "/user/alice")
	tests := []struct {
		name     string
		id       spiffeid.ID
		pub      any
		validity time.Duration
		want     ca.Reason
	}{
		{"another trust domain", spiffeid.RequireFromString("spiffe://other/user/alice"), edPub, validity, ca.ReasonIDUnsuitable},
		{"a kind that is none", spiffeid.RequireFromPath(td, "/robot/r2"), edPub, validity, ca.ReasonIDUnsuitable},
		{"the trust domain itself", td.ID(), edPub, validity, ca.ReasonIDUnsuitable},
		{"a key that is not Ed25519", alice, ecKey.Public(), validity, ca.ReasonKeyUnsuitable},
		{"an empty period", alice, edPub, 0, ca.ReasonValidityUnsuitable},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := authority.Issue(tt.id, tt.pub, tt.validity, now)
			wantReason(t, err, tt.want)
		})
	}
}

func TestOpenAuthorityRefusesWhatIsNoRootAndForeignKeys(t *testing.T) {
	t.Parallel()
	authority, key := newAuthority(t)
	leaf, err := authority.Issue(spiffeid.RequireFromPath(td, "/user/alice"), newKey(t).Public(), validity, now)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ca.OpenAuthority(authority.Certificate(), key); err != nil {
		t.Errorf("its own key: %v", err)
	}
	_, err = ca.OpenAuthority(authority.Certificate(), newKey(t))
	wantReason(t, err, ca.ReasonKeyMismatch)
	_, err = ca.OpenAuthority(leaf, key)
	wantReason(t, err, ca.ReasonRootUnsuitable)
}

func TestSignTakesOnlyTheKeyAndTheOneID(t *testing.T) {
	t.Parallel()
	authority, _ := newAuthority(t)
	id := spiffeid.RequireFromPath(td, "/service/api")
	tests := []struct {
		name     string
		template *x509.CertificateRequest
		ok       bool
	}{
		{"one SPIFFE ID", &x509.CertificateRequest{URIs: []*url.URL{id.URL()}}, true},
		{"no name", &x509.CertificateRequest{}, false},
		{"two IDs", &x509.CertificateRequest{URIs: []*url.URL{id.URL(), td.ID().URL()}}, false},
		{"a DNS name beside the ID", &x509.CertificateRequest{URIs: []*url.URL{id.URL()}, DNSNames: []string{"api.example"}}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cert, err := authority.Sign(newRequest(t, tt.template), validity, now)
			if !tt.ok {
				wantReason(t, err, ca.ReasonRequestRefused)
				return
			}
			if err != nil || cert.URIs[0].String() != id.String() {
				t.Errorf("certificate %v, error %v", cert, err)
			}
		})
	}
}

func newRequest(t *testing.T, template *x509.CertificateRequest) *x509.CertificateRequest {
	t.Helper()
	der, err := x509.CreateCertificateRequest(rand.Reader, template, newKey(t))
	if err != nil {
		t.Fatal(err)
	}
	request, err := x509.ParseCertificateRequest(der)
	if err != nil {
		t.Fatal(err)
	}
	return request
}

func TestSignRefusesARequestThatSomebodyElseSigned(t *testing.T) {
	t.Parallel()
	authority, _ := newAuthority(t)
	request := newRequest(t, &x509.CertificateRequest{URIs: []*url.URL{spiffeid.RequireFromPath(td, "/service/api").URL()}})
	request.Signature[0] ^= 1
	_, err := authority.Sign(request, validity, now)
	wantReason(t, err, ca.ReasonRequestRefused)
}

// PKI-3: go-spiffe takes every leaf for an X.509-SVID.
func TestGoSPIFFEAcceptsEveryLeaf(t *testing.T) {
	t.Parallel()
	authority, _ := newAuthority(t)
	roots := x509bundle.FromX509Authorities(td, []*x509.Certificate{authority.Certificate()})
	for _, tt := range kinds {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			key := newKey(t)
			id := spiffeid.RequireFromPath(td, tt.path)
			cert, err := authority.Issue(id, key.Public(), validity, now)
			if err != nil {
				t.Fatal(err)
			}
			keyPEM, err := ca.EncodePEM(key)
			if err != nil {
				t.Fatal(err)
			}
			svid, err := x509svid.Parse(ca.EncodeCertificate(cert), keyPEM)
			if err != nil {
				t.Fatal(err)
			}
			got, _, err := x509svid.Verify(svid.Certificates, roots)
			if err != nil || got != id {
				t.Errorf("verified as %v, error %v", got, err)
			}
		})
	}
}

// PKI-3: openssl accepts them at its strictest.
func TestOpenSSLAcceptsEveryLeaf(t *testing.T) {
	t.Parallel()
	openssl, err := exec.LookPath("openssl")
	if err != nil {
		t.Skip("openssl is not installed: its own verdict on the certificates cannot be asked for")
	}
	authority, _ := newAuthority(t)
	dir := t.TempDir()
	root := write(t, dir, "ca.crt", ca.EncodeCertificate(authority.Certificate()))
	for _, tt := range kinds {
		cert, err := authority.Issue(spiffeid.RequireFromPath(td, tt.path), newKey(t).Public(), validity, now)
		if err != nil {
			t.Fatal(err)
		}
		leaf := write(t, dir, "leaf.crt", ca.EncodeCertificate(cert))
		out, err := exec.Command(openssl, "verify", "-x509_strict", "-CAfile", root, leaf).CombinedOutput()
		if err != nil || !bytes.Contains(out, []byte("OK")) {
			t.Errorf("%s: openssl says %v: %s", tt.name, err, out)
		}
	}
}

func write(t *testing.T, dir, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Every refusal has a code of its own, in the block of this package.
func TestEveryReasonHasItsOwnCode(t *testing.T) {
	t.Parallel()
	seen := 0
	for code, meaning := range ca.Codes() {
		if !strings.HasPrefix(code, "FL06") || meaning == "" {
			t.Errorf("code %q means %q", code, meaning)
		}
		seen++
	}
	if seen != 14 {
		t.Errorf("%d codes for 14 reasons", seen)
	}
}
