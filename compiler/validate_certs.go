package compiler

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/spiffe/go-spiffe/v2/spiffeid"

	"github.com/florete/flor/compiler/diag"
	"github.com/florete/flor/compiler/facade"
	"github.com/florete/flor/envelope/schema"
)

// soonAtMost and soonFraction say when a certificate is about to expire.
const (
	soonAtMost   = 14 * day
	soonFraction = 5 // a fifth of its life
)

// certificates reads and judges the root and the signers (CMP-7).
func (v *validator) certificates(r *facade.Rete) {
	switch {
	case r.CA.Cert.Given():
		v.view.CA = v.root(r.CA.Cert)
	case !r.Faulty:
		v.missing(r.At, "`rete.ca.cert`, the path of the root certificate,", "`ca: {cert: certs/ca.crt}`")
	}
	if len(r.MgmtSigners) == 0 && !r.Faulty {
		v.found.Add(noSigners.At(firstGiven(r.SignersAt, r.At), "the rete lists no management key").
			Suggest("write `signers: {mgmt: {keys: [{name: primary, cert: certs/management-planes/primary.crt}]}}`"))
	}
	for _, s := range r.MgmtSigners {
		v.signer(s)
	}
}

func (v *validator) root(path facade.Text) *x509.Certificate {
	ca := v.readCert(path, "make it with `retectl ca init`, or correct the path")
	if ca == nil {
		return nil
	}
	if why := v.unfitRoot(ca); why != "" {
		v.found.Add(caUnfit.At(path.At, "the certificate %s cannot be the root: %s", path.V, why))
		return nil
	}
	v.validNow(ca, path)
	return ca
}

func (v *validator) unfitRoot(ca *x509.Certificate) string {
	switch td := v.view.TrustDomain; {
	case !ca.BasicConstraintsValid || !ca.IsCA:
		return "it is no CA certificate"
	case ca.KeyUsage != 0 && ca.KeyUsage&x509.KeyUsageCertSign == 0:
		return "it may not sign certificates"
	case known(td) && len(ca.URIs) == 1 && ca.URIs[0].String() != td.IDString():
		return fmt.Sprintf("it is that of %s", ca.URIs[0])
	case known(td) && len(ca.URIs) > 1:
		return "it names several retes"
	}
	return ""
}

// signer judges one management key.
func (v *validator) signer(s *facade.Signer) {
	if s.Name.Given() {
		v.checkPrincipal(s.Name, s.Name.V, "management key", v.checkName)
	} else if !s.Faulty {
		v.missing(s.At, "the name of a management key", "`name: primary`")
	}
	if !s.Cert.Given() {
		if !s.Faulty {
			v.missing(s.At, "the certificate of a management key", "`cert: certs/management-planes/primary.crt`")
		}
		return
	}
	cert := v.readCert(s.Cert, "list it after `retectl ca issue --kind management-plane --name "+s.Name.V+"` has made it, or correct the path")
	if cert == nil {
		return
	}
	v.validNow(cert, s.Cert)
	v.checkSigner(cert, s)
	id, _ := schema.ManagementPlaneID(v.view.TrustDomain, s.Name.V)
	v.addSigner(&Signer{Name: s.Name.V, ID: id, Cert: cert, File: s.Cert.V, At: firstGiven(s.Name.At, s.At)})
}

func (v *validator) checkSigner(cert *x509.Certificate, s *facade.Signer) {
	at, ca := s.Cert.At, v.view.CA
	if _, ok := cert.PublicKey.(ed25519.PublicKey); !ok {
		v.found.Add(certKey.At(at, "the key of %s is %s, not Ed25519", s.Cert.V, cert.PublicKeyAlgorithm))
	}
	if ca != nil && (!bytes.Equal(cert.RawIssuer, ca.RawSubject) || cert.CheckSignatureFrom(ca) != nil) {
		v.found.Add(certForeign.At(at, "the certificate %s was not issued by the root of this rete", s.Cert.V))
	}
	if why := wrongUsage(cert); why != "" {
		v.found.Add(certUsage.At(at, "the certificate %s %s", s.Cert.V, why))
	}
	v.checkSignerName(cert, s)
}

func wrongUsage(cert *x509.Certificate) string {
	switch {
	case cert.IsCA:
		return "is that of a CA"
	case cert.KeyUsage&x509.KeyUsageDigitalSignature == 0:
		return "lacks digitalSignature"
	case len(cert.ExtKeyUsage)+len(cert.UnknownExtKeyUsage) > 0:
		return "has an extended key usage"
	}
	return ""
}

func (v *validator) checkSignerName(cert *x509.Certificate, s *facade.Signer) {
	id, err := schema.ManagementPlaneID(v.view.TrustDomain, s.Name.V)
	if !known(v.view.TrustDomain) || err != nil || hasOnlyURI(cert, id) {
		return
	}
	d := certName.At(s.Cert.At, "the certificate %s is for %s, not for %s", s.Cert.V, namesIn(cert), id)
	v.found.Add(d.Also(s.Name.At, "the key is called %q here", s.Name.V))
}

func hasOnlyURI(cert *x509.Certificate, id spiffeid.ID) bool {
	others := len(cert.DNSNames) + len(cert.EmailAddresses) + len(cert.IPAddresses)
	return others == 0 && len(cert.URIs) == 1 && cert.URIs[0].String() == id.String()
}

func namesIn(cert *x509.Certificate) string {
	if len(cert.URIs) == 1 {
		return cert.URIs[0].String()
	}
	return fmt.Sprintf("%d URIs", len(cert.URIs))
}

// addSigner adds a signer unless it is the same as an earlier one.
func (v *validator) addSigner(s *Signer) {
	for _, other := range v.view.Signers {
		switch {
		case s.Name != "" && other.Name == s.Name:
			v.found.Add(signerTwice.At(s.At, "the management key %q is listed twice", s.Name).Also(other.At, "the first is here"))
			return
		case bytes.Equal(other.Cert.RawSubjectPublicKeyInfo, s.Cert.RawSubjectPublicKeyInfo):
			v.found.Add(signerTwice.At(s.At, "the management keys %q and %q have one public key", s.Name, other.Name).Also(other.At, "the first is here"))
			return
		}
	}
	v.view.Signers = append(v.view.Signers, s)
}

// readCert reads the one certificate of a file. The hint tells how to make one
// that is not there.
func (v *validator) readCert(path facade.Text, hint string) *x509.Certificate {
	text, err := v.opts.ReadFile(path.V)
	if err != nil {
		v.found.Add(unreadableCert(path, err, hint))
		return nil
	}
	cert, err := parseCert(text)
	if err != nil {
		v.found.Add(certMalformed.At(path.At, "%s is not a certificate: %v", path.V, err))
		return nil
	}
	return cert
}

func unreadableCert(path facade.Text, err error, hint string) diag.Diagnostic {
	if errors.Is(err, fs.ErrNotExist) {
		return certUnreadable.At(path.At, "the certificate %s does not exist", path.V).Suggest("%s", hint)
	}
	if broken := new(fs.PathError); errors.As(err, &broken) {
		err = broken.Err // the path is named already
	}
	return certUnreadable.At(path.At, "the certificate %s cannot be read: %v", path.V, err)
}

func parseCert(text []byte) (*x509.Certificate, error) {
	block, rest := pem.Decode(text)
	switch {
	case block == nil && !isJOSE(text):
		return nil, errors.New("it has no PEM block")
	case block == nil, strings.HasSuffix(block.Type, "PRIVATE KEY"):
		return nil, errors.New("it is a private key, which does not belong in a repository: take it out, and if it was ever committed, make another")
	case block.Type != "CERTIFICATE":
		return nil, fmt.Errorf("it is a PEM block %s", block.Type)
	}
	if more, _ := pem.Decode(rest); more != nil {
		return nil, errors.New("it has more than one PEM block")
	}
	return x509.ParseCertificate(block.Bytes)
}

// isJOSE tells a key as retectl keeps it: a JWK, or one that is encrypted, which
// begins with the base64 of `{"`.
func isJOSE(text []byte) bool {
	text = bytes.TrimSpace(text)
	return bytes.HasPrefix(text, []byte("eyJ")) || bytes.HasPrefix(text, []byte("{")) && bytes.Contains(text, []byte(`"kty"`))
}

// validNow checks the window of a certificate, and warns towards its end.
func (v *validator) validNow(cert *x509.Certificate, path facade.Text) {
	now := v.opts.Now
	left := cert.NotAfter.Sub(now)
	switch life := cert.NotAfter.Sub(cert.NotBefore); {
	case left <= 0:
		v.found.Add(certOutdated.At(path.At, "the certificate %s expired at %s", path.V, cert.NotAfter.UTC().Format(time.RFC3339)))
	case now.Before(cert.NotBefore):
		v.found.Add(certOutdated.At(path.At, "the certificate %s is not valid before %s", path.V, cert.NotBefore.UTC().Format(time.RFC3339)))
	case left < max(soonAtMost, life/soonFraction):
		v.found.Add(certExpiring.At(path.At, "the certificate %s expires in %d days, at %s", path.V, int(left/day), cert.NotAfter.UTC().Format(time.RFC3339)))
	}
}
