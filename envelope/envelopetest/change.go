package envelopetest

import (
	"crypto/x509"
	"net/url"
	"time"

	"github.com/spiffe/go-spiffe/v2/spiffeid"
)

// Usages sets the extended key usages; none at all takes them away.
func Usages(usages ...x509.ExtKeyUsage) Change {
	return func(c *x509.Certificate) { c.ExtKeyUsage = usages }
}

// KeyUsage sets the key usage.
func KeyUsage(usage x509.KeyUsage) Change {
	return func(c *x509.Certificate) { c.KeyUsage = usage }
}

// SANs sets the URI SANs: two of them, none, or that of somebody else.
func SANs(ids ...spiffeid.ID) Change {
	return func(c *x509.Certificate) {
		c.URIs = nil
		for _, id := range ids {
			c.URIs = append(c.URIs, id.URL())
		}
	}
}

// URIs sets the URI SANs to any texts, SPIFFE IDs or not.
func URIs(texts ...string) Change {
	return func(c *x509.Certificate) {
		c.URIs = nil
		for _, text := range texts {
			c.URIs = append(c.URIs, must(url.Parse(text)))
		}
	}
}

// Valid sets the validity window.
func Valid(from, until time.Time) Change {
	return func(c *x509.Certificate) { c.NotBefore, c.NotAfter = from, until }
}

// Expired ends the validity window a minute before the authority's time.
func Expired(c *x509.Certificate) {
	issued := c.NotBefore.Add(Backdate)
	c.NotBefore, c.NotAfter = issued.Add(-time.Hour), issued.Add(-time.Minute)
}

// NotYetValid begins the validity window an hour after the authority's time.
func NotYetValid(c *x509.Certificate) { c.NotBefore = c.NotBefore.Add(Backdate + time.Hour) }

// AsCA makes the certificate that of a CA.
func AsCA(c *x509.Certificate) {
	c.IsCA = true
	c.KeyUsage |= x509.KeyUsageCertSign
}
