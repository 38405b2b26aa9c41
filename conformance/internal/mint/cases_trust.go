package mint

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/base64"
	"math/big"
	"slices"
	"strings"

	"github.com/florete/flor/envelope"
)

// trustVectors are about who may sign a root: ENV-12 and ENV-13.
func (w *world) trustVectors() []Vector {
	return w.setRows("trust", slices.Concat(w.trustAccepted(), w.trustStrangers(), w.trustWindows()))
}

// old is primary's identity with a certificate that has expired.
func (w *world) old() *Identity { return w.ca.IssueFor(w.primary.ID, w.primary.Key, expired) }

func (w *world) trustAccepted() []setRow {
	return []setRow{
		{"first-enrolment", "where nothing is held, a signer of the root's own block signs", "", "ENV-12", func(s *set) { s.trust.Held = nil }},
		{"rotation-add", "a held signer adds a second one", "", "ENV-10 ENV-12 ENV-13", func(s *set) { s.lists(w.primary, w.second) }},
		{"rotation-switch", "the second signer of the held block signs", "", "ENV-12 ENV-13", func(s *set) {
			s.holds(w.primary, w.second).lists(w.primary, w.second).signedBy(w.second)
		}},
		{"rotation-retire", "the new signer leaves the old one out", "", "ENV-12 ENV-13", func(s *set) {
			s.holds(w.primary, w.second).lists(w.second).signedBy(w.second)
		}},
		{"way-back", "a signer whom the node does not hold, and whom the CA certifies", "", "ENV-12", func(s *set) { s.lists(w.second).signedBy(w.second) }},
		{"way-back-past-a-retired-key", "a new signer overrules a retired one", "", "ENV-12", func(s *set) {
			s.lists(w.second).signedBy(w.second)
			s.retires(w.primary)
		}},
		{"renewed-certificate", "the held certificate has expired, the root lists a new one for the same key", "", "ENV-12 ENV-13", func(s *set) { s.holds(w.old()) }},
		{"other-signer-expired", "only the signing certificate's window is judged", "", "ENV-13", func(s *set) {
			s.lists(w.primary, w.ca.Issue("/management-plane/second", "second", expired))
		}},
		{"last-second", "a certificate is valid in the second in which it ends", "", "ENV-13", func(s *set) {
			by := w.ca.Issue("/management-plane/primary", "primary", validBetween(validFrom, Now))
			s.holds(by).lists(by)
		}},
		{"first-second", "a certificate is valid in the second in which it begins", "", "ENV-13", func(s *set) {
			by := w.ca.Issue("/management-plane/primary", "primary", validBetween(Now, leafUntil))
			s.holds(by).lists(by)
		}},
		{"ctrl-signer-listed", "a block may list signers of ctrl", "", "ENV-10", func(s *set) { s.payload.Trust.Ctrl = block(w.ctrl).Mgmt }},
		{"ctrl-signer-expired", "a ctrl signer's window is not judged with the root", "", "ENV-10 ENV-13", func(s *set) {
			s.payload.Trust.Ctrl = block(w.ca.Issue("/control-plane/mesh", "ctrl", expired)).Mgmt
		}},
	}
}

func (w *world) trustStrangers() []setRow {
	const retired = "FL1105 signer-retired"
	rogue := NewAuthority(domain, Key("another ca"))
	stranger := rogue.Issue("/management-plane/stranger", "stranger")
	return []setRow{
		{"stranger", "a signer of another CA", "FL1114 bad-signer-cert", "ENV-10 ENV-12", func(s *set) { s.lists(stranger).signedBy(stranger) }},
		{"stranger-under-a-known-name", "a signer of another CA with the ID of a held one", "FL1104 bad-signature", "ENV-10 ENV-12", func(s *set) {
			by := rogue.Issue("/management-plane/primary", "stranger")
			s.lists(by).signedBy(by)
		}},
		{"stranger-unlisted", "a signer whom no block names", "FL1103 unknown-key-id", "ENV-12", func(s *set) { s.signedBy(w.second) }},
		{"stranger-at-first-enrolment", "a signer whom no block names, where nothing is held", "FL1103 unknown-key-id", "ENV-12", func(s *set) {
			s.signedBy(w.second)
			s.trust.Held = nil
		}},
		{"retired-signs", "a retired key signs, and the CA certifies it", retired, "ENV-12", func(s *set) {
			s.holds(w.second)
			s.retires(w.primary)
		}},
		{"retired-signs-and-is-held", "a retired key signs, though the held block lists it", retired, "ENV-12", func(s *set) { s.retires(w.primary) }},
		{"retired-listed", "a good signer lists a retired key", retired, "ENV-12", func(s *set) {
			s.lists(w.primary, w.second)
			s.retires(w.second)
		}},
		{"retired-ctrl-listed", "a good signer lists a retired key for ctrl", retired, "ENV-12", func(s *set) {
			s.payload.Trust.Ctrl = block(w.ctrl).Mgmt
			s.retires(w.ctrl)
		}},
	}
}

func (w *world) trustWindows() []setRow {
	const window, unlisted = "FL1106 signer-not-valid-now", "FL1107 signer-not-listed"
	old, early := w.old(), w.ca.IssueFor(w.primary.ID, w.primary.Key, notYetValid)
	return []setRow{
		{"expired", "the signing certificate has expired", window, "ENV-13", func(s *set) { s.holds(old).lists(old) }},
		{"not-yet-valid", "the signing certificate is not valid yet", window, "ENV-13", func(s *set) { s.holds(early).lists(early) }},
		{"expired-way-back", "a signer whom the node does not hold, with an expired certificate", window, "ENV-12 ENV-13", func(s *set) {
			by := w.ca.Issue("/management-plane/second", "second", expired)
			s.lists(by).signedBy(by)
		}},
		{"generated-in-time", "generated_at does not stand for the clock", window, "ENV-13", func(s *set) {
			s.holds(old).lists(old)
			s.root.GeneratedAt = `"2026-01-15T12:00:00Z"`
		}},
		{"signer-drops-itself", "a held signer signs a root that lists another alone", unlisted, "ENV-12", func(s *set) { s.lists(w.second) }},
		{"signer-lists-another-key", "a held signer signs a root that lists its ID with another key", unlisted, "ENV-12", func(s *set) {
			s.lists(w.ca.Issue("/management-plane/primary", "second"))
		}},
		{"root-of-ctrl", "the artifact named agent is of plane ctrl", "FL1108 not-a-root", "ENV-12", func(s *set) { s.root.Plane = `{"ctrl": {"obeys_mgmt_version": 1}}` }},
		{"ctrl-nobody-signs", "an artifact of ctrl where no signer of ctrl is listed", "FL1101 no-signers", "ENV-11 ENV-12", edge(func(a *Artifact) {
			a.Plane = `{"ctrl": {"obeys_mgmt_version": 42}}`
			a.By, a.KeyID = w.ctrl, quote(w.ctrl.ID)
		})},
		{"workload-of-a-held-signer", "a workload's artifact is verified by the root's block, not by the held one", "FL1103 unknown-key-id", "ENV-12", func(s *set) {
			s.lists(w.second)
			s.root.By, s.root.KeyID = w.second, quote(w.second.ID)
		}},
	}
}

// certificateVectors are about the entries of a trust block: ENV-10. In each the
// good signer signs, and the block lists a second entry.
func (w *world) certificateVectors() []Vector {
	return w.setRows("signer", slices.Concat(w.entryRows(), w.certificateRows(), w.doubledRows()))
}

// listingEntry has the root's block list one more entry.
func listingEntry(e envelope.Entry) func(*set) {
	return func(s *set) { s.payload.Trust.Mgmt = append(s.payload.Trust.Mgmt, e) }
}

// issued has the root's block list second with a certificate that was changed.
func (w *world) issued(changes ...Change) func(*set) {
	return listingEntry(w.ca.Issue("/management-plane/second", "second", changes...).Entry())
}

// spelled has the root's block list second's entry with a change of its texts.
func (w *world) spelled(change func(*envelope.Entry)) func(*set) {
	e := w.second.Entry()
	change(&e)
	return listingEntry(e)
}

// under has the CA that the node holds be the same with another window.
func under(s *set, from, until string) {
	ca := NewAuthority(domain, Key("ca"), validBetween(from, until))
	s.trust.CA = base64.StdEncoding.EncodeToString(ca.Cert.Raw)
}

func (w *world) entryRows() []setRow {
	const id, key, cert = "FL1112 bad-signer-id", "FL1113 bad-signer-key", "FL1114 bad-signer-cert"
	foreign := NewAuthority("elsewhere", Key("ca"))
	return []setRow{
		{"ca-expired", "whether the CA is valid now is not asked", "", "ENV-10 ENV-13", func(s *set) {
			under(s, validFrom, "2026-03-01T00:00:00Z")
		}},
		{"older-than-its-ca", "a certificate whose window begins before its CA's", "", "ENV-10", w.issued(validBetween("2025-01-01T00:00:00Z", leafUntil))},
		{"id-of-another-trust-domain", "an ID of another trust domain", id, "ENV-10", listingEntry(foreign.Issue("/management-plane/second", "second").Entry())},
		{"pubkey-short", "a key of 31 bytes", key, "ENV-10", w.spelled(func(e *envelope.Entry) { e.Pubkey = base64.StdEncoding.EncodeToString(make([]byte, 31)) })},
		{"pubkey-not-base64", "a key that is not base64", key, "ENV-10", w.spelled(func(e *envelope.Entry) { e.Pubkey = "*" + e.Pubkey[1:] })},
		{"pubkey-without-padding", "a key without padding", key, "ENV-10", w.spelled(func(e *envelope.Entry) { e.Pubkey = strings.TrimRight(e.Pubkey, "=") })},
		{"cert-not-base64", "a certificate that is not base64", cert, "ENV-10", w.spelled(func(e *envelope.Entry) { e.Cert = "*" + e.Cert[1:] })},
		{"cert-not-der", "a certificate that is not DER", cert, "ENV-10", w.spelled(func(e *envelope.Entry) { e.Cert = "AAAA" })},
		{"cert-with-more", "bytes after the certificate", cert, "ENV-10", w.spelled(func(e *envelope.Entry) {
			e.Cert = base64.StdEncoding.EncodeToString(append(append([]byte{}, w.second.Cert.Raw...), 0))
		})},
		{"cert-altered", "a certificate whose signature does not match", cert, "ENV-10", w.spelled(func(e *envelope.Entry) {
			der := append([]byte{}, w.second.Cert.Raw...)
			der[len(der)-1] ^= 1
			e.Cert = base64.StdEncoding.EncodeToString(der)
		})},
	}
}

func (w *world) certificateRows() []setRow {
	const cert = "FL1114 bad-signer-cert"
	return []setRow{
		{"cert-of-another-ca", "a certificate of a CA with the same name and another key", cert, "ENV-10", listingEntry(
			NewAuthority(domain, Key("another ca")).Issue("/management-plane/second", "second").Entry())},
		{"cert-of-a-renamed-ca", "a certificate of a CA with the same key and another name", cert, "ENV-10", listingEntry(
			NewAuthority(domain, Key("ca"), func(c *x509.Certificate) {
				c.Subject = pkix.Name{CommonName: "another"}
			}).Issue("/management-plane/second", "second").Entry())},
		{"cert-of-a-signer", "a certificate that another signer issued", cert, "ENV-10", listingEntry(
			(&Authority{TrustDomain: domain, Cert: w.primary.Cert, key: Key("primary")}).Issue("/management-plane/second", "second").Entry())},
		{"cert-of-another-id", "a certificate of another ID", cert, "ENV-10", w.issued(sans("spiffe://rete-lovers/management-plane/third"))},
		{"cert-of-two-ids", "a certificate of two IDs", cert, "ENV-10", w.issued(sans(w.second.ID, "spiffe://rete-lovers/management-plane/third"))},
		{"cert-without-id", "a certificate without an ID", cert, "ENV-10", w.issued(sans(), func(c *x509.Certificate) { c.Subject = pkix.Name{CommonName: "second"} })},
		{"cert-of-another-key", "a certificate of another key", cert, "ENV-10", w.spelled(func(e *envelope.Entry) { e.Pubkey = w.ctrl.pubkey() })},
		{"cert-of-an-ecdsa-key", "a certificate of a key that is not Ed25519", cert, "ENV-10", func(s *set) {
			e := w.ca.IssueFor(w.second.ID, testECKey()).Entry()
			e.Pubkey = w.second.pubkey()
			s.payload.Trust.Mgmt = append(s.payload.Trust.Mgmt, e)
		}},
		{"cert-of-a-ca", "a certificate that may issue certificates", cert, "ENV-10", w.issued(asCA)},
		{"cert-without-digital-signature", "a certificate without the usage digitalSignature", cert, "ENV-10", w.issued(keyUsage(x509.KeyUsageKeyAgreement))},
		{"cert-with-extended-usage", "a certificate with an extended usage", cert, "ENV-10", w.issued(extUsages(x509.ExtKeyUsageClientAuth))},
		{"cert-with-an-unknown-critical-extension", "a certificate with a critical extension that nobody knows", cert, "ENV-10", w.issued(func(c *x509.Certificate) {
			c.ExtraExtensions = []pkix.Extension{{Id: asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 32473, 1}, Critical: true, Value: []byte{5, 0}}}
		})},
		{"cert-after-its-ca", "a certificate whose window begins after its CA's has ended", cert, "ENV-10", func(s *set) {
			under(s, validFrom, "2026-03-01T00:00:00Z")
			s.payload.Trust.Mgmt = append(s.payload.Trust.Mgmt,
				w.ca.Issue("/management-plane/second", "second", validBetween("2026-04-01T00:00:00Z", leafUntil)).Entry())
		}},
	}
}

func (w *world) doubledRows() []setRow {
	const cert, twice = "FL1114 bad-signer-cert", "FL1115 duplicate-signer"
	return []setRow{
		{"one-id-twice", "two entries with one ID", twice, "ENV-10", listingEntry(w.ca.Issue("/management-plane/primary", "second").Entry())},
		{"one-key-twice", "two entries with one key", twice, "ENV-10", listingEntry(w.ca.IssueFor(w.second.ID, w.primary.Key).Entry())},
		{"one-entry-twice", "one entry twice", twice, "ENV-10", listingEntry(w.primary.Entry())},
		{"one-key-for-both-planes", "one key for mgmt and for ctrl", twice, "ENV-10", func(s *set) {
			s.payload.Trust.Ctrl = block(w.ca.IssueFor(w.ctrl.ID, w.primary.Key)).Mgmt
		}},
		{"bad-ctrl-entry", "a bad entry for ctrl spoils the block", cert, "ENV-10", func(s *set) {
			s.payload.Trust.Ctrl = block(w.ca.Issue("/control-plane/mesh", "ctrl", asCA)).Mgmt
		}},
	}
}

// testECKey is an ECDSA key from a seed.
func testECKey() *ecdsa.PrivateKey {
	seed := sha256.Sum256([]byte("flor conformance key: ecdsa"))
	d := new(big.Int).Mod(new(big.Int).SetBytes(seed[:]), elliptic.P256().Params().N)
	return must(ecdsa.ParseRawPrivateKey(elliptic.P256(), d.FillBytes(make([]byte, 32))))
}
