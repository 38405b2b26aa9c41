package identity

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spiffe/go-spiffe/v2/spiffeid"

	"github.com/florete/flor/envelope/envelopetest"
	"github.com/florete/flor/store/internal/anchor"
)

var (
	td      = spiffeid.RequireTrustDomainFromString("rete-lovers")
	node    = spiffeid.RequireFromPath(td, "/node/alpha")
	user    = spiffeid.RequireFromPath(td, "/user/eve")
	service = spiffeid.RequireFromPath(td, "/service/web")
	local   = spiffeid.RequireFromPath(td, "/service/alpha/web")
	vertex  = spiffeid.RequireFromPath(td, "/vertex/alpha/edge")
	signer  = spiffeid.RequireFromPath(td, "/management-plane/primary")
)

func write(t *testing.T, dir, name string, data []byte) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, data, 0o600)); err != nil {
		t.Fatal(err)
	}
}

// directory is an identity directory with the anchor alone.
func directory(t *testing.T, ca *envelopetest.Authority) string {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, CAName, certPEM(ca.CA))
	write(t, dir, ReteName, anchor.FormatRete(td))
	write(t, dir, "certs/.keep", nil)
	return dir
}

func certPEM(cert *x509.Certificate) []byte { return anchor.FormatCertificate(cert) }

func keyPEM(t *testing.T, i *envelopetest.Identity) []byte {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(i.Key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

func enrol(t *testing.T, dir, leaf string, i *envelopetest.Identity) {
	t.Helper()
	write(t, dir, "certs/"+leaf+".crt", certPEM(i.Cert))
	write(t, dir, "certs/"+leaf+".key", keyPEM(t, i))
}

func wantReason(t *testing.T, err error, want Reason) {
	t.Helper()
	var refusal *Refusal
	if !errors.As(err, &refusal) || refusal.Reason != want {
		t.Errorf("got error %v, want reason %s", err, want)
		return
	}
	if !strings.HasPrefix(err.Error(), want.Code()+" "+string(want)+":") {
		t.Errorf("%q does not begin with its code and reason", err)
	}
	if got := errors.Is(err, ErrAbsent); got != (want == Absent) {
		t.Errorf("errors.Is(err, ErrAbsent) is %v for %s", got, want)
	}
}

func TestSVIDOfEveryKind(t *testing.T) {
	t.Parallel()
	ca := envelopetest.NewAuthority("rete-lovers")
	for _, id := range []spiffeid.ID{node, user, service, local, vertex} {
		t.Run(id.Path(), func(t *testing.T) {
			t.Parallel()
			dir := directory(t, ca)
			want := ca.Issue(id)
			enrol(t, dir, id.Path()[strings.LastIndex(id.Path(), "/")+1:], want)
			s, err := Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			got, err := s.SVID(id)
			if err != nil {
				t.Fatal(err)
			}
			if got.ID != id || !got.Certificates[0].Equal(want.Cert) || len(got.Certificates) != 1 {
				t.Errorf("got %s with %d certificates", got.ID, len(got.Certificates))
			}
		})
	}
}

// TestSVIDRefuses is the table of SET-8.
func TestSVIDRefuses(t *testing.T) {
	t.Parallel()
	ca, stranger := envelopetest.NewAuthority("rete-lovers"), envelopetest.NewAuthority("rete-lovers")
	put := func(changes ...envelopetest.Change) func(*testing.T, string) {
		return func(t *testing.T, dir string) { enrol(t, dir, "web", ca.Issue(service, changes...)) }
	}
	cases := map[string]struct {
		put  func(t *testing.T, dir string)
		want Reason
	}{
		"no material":                    {func(*testing.T, string) {}, Absent},
		"no directory of certificates":   {func(t *testing.T, d string) { os.RemoveAll(filepath.Join(d, "certs")) }, Absent},
		"a certificate without key":      {func(t *testing.T, d string) { write(t, d, "certs/web.crt", certPEM(ca.Issue(service).Cert)) }, Absent},
		"a key without certificate":      {func(t *testing.T, d string) { write(t, d, "certs/web.key", keyPEM(t, ca.Issue(service))) }, Absent},
		"another CA":                     {func(t *testing.T, d string) { enrol(t, d, "web", stranger.Issue(service)) }, BadChain},
		"expired":                        {put(envelopetest.Expired), NotValidNow},
		"not yet valid":                  {put(envelopetest.NotYetValid), NotValidNow},
		"no URI SAN":                     {put(envelopetest.SANs()), WrongID},
		"two URI SANs":                   {put(envelopetest.SANs(service, local)), WrongID},
		"another ID of that leaf":        {put(envelopetest.SANs(local)), WrongID},
		"a SAN that is no SPIFFE ID":     {put(envelopetest.URIs("https://rete-lovers/service/web")), WrongID},
		"no extended usages":             {put(envelopetest.Usages()), WrongUsage},
		"a service as client only":       {put(envelopetest.Usages(x509.ExtKeyUsageClientAuth)), WrongUsage},
		"a service that signs code":      {put(envelopetest.Usages(x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageCodeSigning)), WrongUsage},
		"any usage":                      {put(envelopetest.Usages(x509.ExtKeyUsageAny)), WrongUsage},
		"no digitalSignature":            {put(envelopetest.KeyUsage(x509.KeyUsageKeyEncipherment)), WrongUsage},
		"a CA":                           {put(envelopetest.AsCA), WrongUsage},
		"a CA with the usages of a leaf": {put(func(c *x509.Certificate) { c.IsCA = true }), WrongUsage},
		"another key": {func(t *testing.T, d string) {
			enrol(t, d, "web", ca.Issue(service))
			write(t, d, "certs/web.key", keyPEM(t, ca.Issue(service)))
		}, KeyMismatch},
		"a key that is no PEM": {func(t *testing.T, d string) {
			enrol(t, d, "web", ca.Issue(service))
			write(t, d, "certs/web.key", []byte("x"))
		}, KeyMismatch},
		"a certificate that is no PEM": {func(t *testing.T, d string) {
			enrol(t, d, "web", ca.Issue(service))
			write(t, d, "certs/web.crt", []byte("x"))
		}, Unreadable},
		"two certificates in the file": {func(t *testing.T, d string) {
			i := ca.Issue(service)
			enrol(t, d, "web", i)
			write(t, d, "certs/web.crt", append(certPEM(i.Cert), certPEM(ca.CA)...))
		}, Unreadable},
		"a file of 1 MiB": {func(t *testing.T, d string) { write(t, d, "certs/web.crt", make([]byte, 1<<20)) }, Unreadable},
		"a link": {func(t *testing.T, d string) {
			enrol(t, d, "other", ca.Issue(service))
			if err := errors.Join(os.Symlink("other.crt", filepath.Join(d, "certs/web.crt")), os.Symlink("other.key", filepath.Join(d, "certs/web.key"))); err != nil {
				t.Fatal(err)
			}
		}, Unreadable},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := directory(t, ca)
			c.put(t, dir)
			s, err := Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			_, err = s.SVID(service)
			wantReason(t, err, c.want)
		})
	}
}

func TestSVIDOfIDsThatHaveNone(t *testing.T) {
	t.Parallel()
	ca := envelopetest.NewAuthority("rete-lovers")
	s, err := Open(directory(t, ca))
	if err != nil {
		t.Fatal(err)
	}
	enrol(t, s.dir, "primary", ca.Signer("primary"))
	for _, c := range []struct {
		id   spiffeid.ID
		want Reason
	}{
		{spiffeid.RequireFromString("spiffe://elsewhere/service/web"), WrongDomain},
		{spiffeid.RequireFromPath(td, "/printer/web"), WrongKind},
		{td.ID(), WrongKind},
		{signer, WrongKind},
	} {
		_, err := s.SVID(c.id)
		wantReason(t, err, c.want)
	}
}

func TestECDSAKeysAreAccepted(t *testing.T) {
	t.Parallel()
	ca := envelopetest.NewAuthority("rete-lovers")
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	i := ca.IssueFor(service, key)
	if _, err := ParseSVID(certPEM(i.Cert), keyPEM(t, i), ca.CA, service, time.Now()); err != nil {
		t.Error(err)
	}
}

func TestValidityIsJudgedAtTheGivenTime(t *testing.T) {
	t.Parallel()
	ca := envelopetest.NewAuthority("rete-lovers")
	i := ca.Issue(node)
	if err := CheckLeaf(i.Cert, ca.CA, node, i.Cert.NotAfter); err != nil {
		t.Errorf("at its last second: %v", err)
	}
	late, early := i.Cert.NotAfter.Add(time.Second), i.Cert.NotBefore.Add(-time.Second)
	window := "valid from " + i.Cert.NotBefore.UTC().Format(time.RFC3339) + " to " + i.Cert.NotAfter.UTC().Format(time.RFC3339) + ": "
	for now, remedy := range map[time.Time]string{
		late:  "set the clock if it is wrong; if it is right, enrol with a new bundle: x509",
		early: "set the clock: x509",
	} {
		err := CheckLeaf(i.Cert, ca.CA, node, now)
		wantReason(t, err, NotValidNow)
		words := "the clock says " + now.UTC().Format(time.RFC3339) + ", the certificate is " + window + remedy
		if !strings.Contains(err.Error(), words) {
			t.Errorf("%v, want %q", err, words)
		}
	}
}

// TestReplacedDirectoryIsSeen: what enrolment replaces is read at the next call,
// certificate and key from one directory (SET-8).
func TestReplacedDirectoryIsSeen(t *testing.T) {
	t.Parallel()
	ca := envelopetest.NewAuthority("rete-lovers")
	dir, next := directory(t, ca), directory(t, ca)
	enrol(t, dir, "web", ca.Issue(service))
	renewed := ca.Issue(service)
	enrol(t, next, "web", renewed)
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Rename(dir, dir+".old"), os.Rename(next, dir)); err != nil {
		t.Fatal(err)
	}
	got, err := s.SVID(service)
	if err != nil || !got.Certificates[0].Equal(renewed.Cert) {
		t.Errorf("the renewed certificate is not served: %v", err)
	}
}

func TestBundleHasTheCA(t *testing.T) {
	t.Parallel()
	ca := envelopetest.NewAuthority("rete-lovers")
	s, err := Open(directory(t, ca))
	if err != nil {
		t.Fatal(err)
	}
	b, err := s.Bundle()
	if err != nil || s.TrustDomain() != td || !s.CA().Equal(ca.CA) {
		t.Fatalf("trust domain %s, %v", s.TrustDomain(), err)
	}
	if got := b.X509Authorities(); b.TrustDomain() != td || len(got) != 1 || !got[0].Equal(ca.CA) {
		t.Errorf("bundle of %s with %d authorities", b.TrustDomain(), len(got))
	}
}

func TestCertificatesAreListed(t *testing.T) {
	t.Parallel()
	ca := envelopetest.NewAuthority("rete-lovers")
	dir := directory(t, ca)
	expired := ca.Issue(node, envelopetest.Expired)
	enrol(t, dir, "alpha", expired)
	write(t, dir, "certs/broken.crt", []byte("x"))
	write(t, dir, "certs/keyless.crt", certPEM(ca.Issue(user).Cert))
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.Certificates()
	if err != nil || len(got) != 3 {
		t.Fatalf("%d certificates, %v", len(got), err)
	}
	want := Certificate{
		File: "alpha.crt", ID: node, NotBefore: expired.Cert.NotBefore, NotAfter: expired.Cert.NotAfter,
		Fingerprint: Fingerprint(expired.Cert),
	}
	if diff := cmp.Diff(want, got[0], cmp.Comparer(func(a, b spiffeid.ID) bool { return a == b })); diff != "" {
		t.Errorf("certificate (-want +got):\n%s", diff)
	}
	if got[1].File != "broken.crt" || got[1].Err == nil {
		t.Errorf("the broken one: %+v", got[1])
	}
	wantReason(t, got[2].Err, Absent)
}

func TestOpenRefusesABadAnchor(t *testing.T) {
	t.Parallel()
	ca := envelopetest.NewAuthority("rete-lovers")
	for name, damage := range map[string]func(dir string){
		"no directory":              func(d string) { os.RemoveAll(d) },
		"no ca.crt":                 func(d string) { os.Remove(filepath.Join(d, CAName)) },
		"a leaf as CA":              func(d string) { write(t, d, CAName, certPEM(ca.Issue(node).Cert)) },
		"rete.json that is no JSON": func(d string) { write(t, d, ReteName, []byte("{")) },
	} {
		dir := directory(t, ca)
		damage(dir)
		_, err := Open(dir)
		t.Log(name)
		wantReason(t, err, BadAnchor)
	}
}

func TestFingerprint(t *testing.T) {
	t.Parallel()
	ca, other := envelopetest.NewAuthority("rete-lovers").CA, envelopetest.NewAuthority("rete-lovers").CA
	colons := Fingerprint(ca)
	if len(colons) != 32*3-1 {
		t.Errorf("fingerprint %s", colons)
	}
	for _, text := range []string{colons, strings.ToLower(colons), strings.ReplaceAll(colons, ":", ""), " " + colons + "\n"} {
		if !SameFingerprint(text, ca) {
			t.Errorf("%q is the fingerprint of this certificate", text)
		}
		if SameFingerprint(text, other) {
			t.Errorf("%q is not the fingerprint of that certificate", text)
		}
	}
	if SameFingerprint("", ca) || SameFingerprint(colons[:20], ca) {
		t.Error("a part of a fingerprint was taken for it")
	}
}

// What a caller forgot to give is refused, and no panic; it is nobody's fingerprint.
func TestNoCertificateIsRefused(t *testing.T) {
	t.Parallel()
	ca := envelopetest.NewAuthority("rete-lovers")
	leaf := ca.Issue(node)
	wantReason(t, CheckLeaf(nil, ca.CA, node, time.Now()), Unreadable)
	wantReason(t, CheckLeaf(leaf.Cert, nil, node, time.Now()), BadAnchor)
	_, err := ParseSVID(certPEM(leaf.Cert), nil, nil, node, time.Now())
	wantReason(t, err, BadAnchor)
	if text := Fingerprint(nil); text != "" || SameFingerprint(text, nil) {
		t.Errorf("no certificate has the fingerprint %q", text)
	}
}
