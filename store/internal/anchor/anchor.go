// Package anchor knows the form of the files that pin a scope's trust:
// identity/ca.crt and identity/rete.json. The packages store, store/identity
// and store/bundle read and write them through it, so that all three agree on
// what an anchor is.
package anchor

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"path"

	"github.com/go-json-experiment/json"
	"github.com/spiffe/go-spiffe/v2/spiffeid"

	"github.com/florete/flor/store/durable"
)

// Names inside identity/.
const (
	CAName   = "ca.crt"
	ReteName = "rete.json"
)

// MaxFile is the largest file of an identity directory, in bytes.
const MaxFile = 64 << 10

// rete is rete.json, whose form is fixed: it has no schema_version.
type rete struct {
	TrustDomain string `json:"trust_domain"`
}

// Read reads the anchor from the identity directory dir.
func Read(fsys durable.FS, dir string) (spiffeid.TrustDomain, *x509.Certificate, error) {
	none := spiffeid.TrustDomain{}
	text, err := fsys.ReadFile(path.Join(dir, ReteName), MaxFile)
	if err != nil {
		return none, nil, err
	}
	td, err := ParseRete(text)
	if err != nil {
		return none, nil, fmt.Errorf("%s: %w", ReteName, err)
	}
	text, err = fsys.ReadFile(path.Join(dir, CAName), MaxFile)
	if err != nil {
		return none, nil, err
	}
	ca, err := ParseCA(text)
	if err != nil {
		return none, nil, fmt.Errorf("%s: %w", CAName, err)
	}
	return td, ca, nil
}

// ParseRete reads rete.json: {"trust_domain":"<td>"}, closed.
func ParseRete(text []byte) (spiffeid.TrustDomain, error) {
	var r rete
	if err := json.Unmarshal(text, &r, json.RejectUnknownMembers(true)); err != nil {
		return spiffeid.TrustDomain{}, err
	}
	td, err := spiffeid.TrustDomainFromString(r.TrustDomain)
	if err == nil && td.Name() != r.TrustDomain {
		err = fmt.Errorf("%q is not the bare name of a trust domain", r.TrustDomain)
	}
	return td, err
}

// FormatRete writes rete.json.
func FormatRete(td spiffeid.TrustDomain) []byte {
	// A trust domain's name has no character that JSON escapes.
	return fmt.Appendf(nil, "{\"trust_domain\":%q}\n", td.Name())
}

// ParseCA reads a CA certificate: one PEM block, able to sign certificates.
func ParseCA(text []byte) (*x509.Certificate, error) {
	cert, err := ParseCertificate(text)
	if err != nil {
		return nil, err
	}
	if !cert.BasicConstraintsValid || !cert.IsCA || cert.KeyUsage&x509.KeyUsageCertSign == 0 {
		return nil, errors.New("the certificate is not that of a CA (CA:TRUE, keyCertSign)")
	}
	return cert, nil
}

// ParseCertificate reads exactly one certificate in PEM.
func ParseCertificate(text []byte) (*x509.Certificate, error) {
	block, rest := pem.Decode(text)
	if block == nil || block.Type != "CERTIFICATE" {
		return nil, errors.New("no PEM block of type CERTIFICATE")
	}
	if len(bytes.TrimSpace(rest)) != 0 {
		return nil, errors.New("more than one PEM block where exactly one certificate is due")
	}
	return x509.ParseCertificate(block.Bytes)
}

// FormatCertificate writes one certificate in PEM.
func FormatCertificate(cert *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Raw})
}
