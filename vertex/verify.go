package vertex

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spiffe/go-spiffe/v2/bundle/x509bundle"
	"github.com/spiffe/go-spiffe/v2/spiffeid"
	"github.com/spiffe/go-spiffe/v2/svid/x509svid"

	"github.com/florete/flor/envelope/schema"
)

// check is what a handshake demands of a peer's certificate (VTX-3).
type check struct {
	bundle  *x509bundle.Bundle
	usage   x509.ExtKeyUsage
	kinds   []schema.Kind // an initiator is one of these
	want    spiffeid.ID   // a target is exactly this one; zero for an initiator
	revoked map[string]bool
	now     time.Time
}

// verify judges a peer's chain, leaf first, and returns whose it is. The error
// is an *Error that carries the TLS alert for the peer.
func (c check) verify(chain []*x509.Certificate) (spiffeid.ID, error) {
	id, reason, err := c.judge(chain)
	if reason != 0 {
		return id, &Error{Reason: reason, Err: errors.Join(err, alerts[reason])}
	}
	return id, nil
}

func (c check) judge(chain []*x509.Certificate) (spiffeid.ID, Reason, error) {
	id, _, err := x509svid.Verify(chain, c.bundle, x509svid.WithTime(c.now))
	if err != nil {
		return id, chainReason(err), err
	}
	leaf := chain[0]
	if err := c.judgeName(id, leaf); err != nil {
		return id, WrongIdentity, err
	}
	if err := c.judgeUsage(leaf); err != nil {
		return id, WrongUsage, err
	}
	if c.revoked[fingerprint(leaf)] {
		return id, CertificateRevoked, nil
	}
	return id, 0, nil
}

func chainReason(err error) Reason {
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok && invalid.Reason == x509.Expired {
		return OutsideValidity
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return WrongAuthority
	}
	return WrongIdentity
}

func (c check) judgeName(id spiffeid.ID, leaf *x509.Certificate) error {
	if len(leaf.DNSNames)+len(leaf.IPAddresses)+len(leaf.EmailAddresses) > 0 {
		return errors.New("the certificate has names beside its SPIFFE ID")
	}
	if !c.want.IsZero() {
		if id != c.want {
			return fmt.Errorf("the certificate is that of %s", id)
		}
		return nil
	}
	kind, err := schema.KindOf(id)
	if err != nil {
		return err
	}
	if !slices.Contains(c.kinds, kind) {
		return fmt.Errorf("a %s is not an initiator", kind)
	}
	return nil
}

func (c check) judgeUsage(leaf *x509.Certificate) error {
	if !slices.Contains(leaf.ExtKeyUsage, c.usage) {
		return errors.New("the certificate lacks the extended key usage of its side")
	}
	if leaf.KeyUsage&x509.KeyUsageDigitalSignature == 0 {
		return errors.New("the certificate's key usage lacks digitalSignature")
	}
	switch key := leaf.PublicKey.(type) {
	case ed25519.PublicKey:
		return nil
	case *ecdsa.PublicKey:
		if key.Curve == elliptic.P256() {
			return nil
		}
	}
	return errors.New("the certificate's key is neither Ed25519 nor ECDSA P-256")
}
