package bundle

import (
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"io"
	"reflect"
	"strings"
	"time"

	"github.com/spiffe/go-spiffe/v2/spiffeid"

	"github.com/florete/flor/envelope"
	"github.com/florete/flor/envelope/schema"
	"github.com/florete/flor/store/identity"
	"github.com/florete/flor/store/internal/anchor"
)

// Bundle is an enrolment bundle that has passed every check of BND-1. A first
// enrolment proves its integrity, not its origin: whoever made the CA made the
// rest. Compare [identity.Fingerprint] of CA with what the operator says.
type Bundle struct {
	TrustDomain spiffeid.TrustDomain
	Node        string
	CA          *x509.Certificate
	Signers     []spiffeid.ID // authorised for mgmt
	SignedBy    spiffeid.ID   // who of them signed the manifest
	SetVersion  uint64
	Coordinator spiffeid.ID
	Principals  []spiffeid.ID
	Set         *schema.Set // the first set of the node, verified

	files  map[string][]byte // everything but the manifest
	signer envelope.Entry    // SignedBy's
}

// Read reads a bundle and checks everything in it by BND-1 at the time now,
// without writing anything. An encrypted one is refused with reason Encrypted:
// see [Unwrap].
func Read(r io.Reader, now time.Time) (*Bundle, error) {
	archive, err := readLimited(r, MaxSize)
	if err != nil {
		return nil, err
	}
	if looksEncrypted(archive) {
		return nil, refuse(Encrypted, "this bundle is encrypted: give its passphrase")
	}
	files, err := unpack(archive)
	if err != nil {
		return nil, err
	}
	return check(files, now)
}

// readLimited reads one byte more than is allowed, to tell too much from all.
func readLimited(r io.Reader, limit int64) ([]byte, error) {
	if r == nil {
		return nil, refuse(CutShort, "there is no bundle to read: it is nil")
	}
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, refuse(TooLarge, "the bundle is larger than its limit of %d bytes", limit)
	}
	return data, nil
}

// check judges the entries of an archive, from the outside in: listing, anchor,
// signature, set, principals.
func check(files []file, now time.Time) (*Bundle, error) {
	if len(files) == 0 || files[0].name != manifestName {
		return nil, refuse(BadManifest, "the first entry is not %s", manifestName)
	}
	m, err := parseManifest(files[0].data)
	if err != nil {
		return nil, err
	}
	if err := m.checkListing(files[1:]); err != nil {
		return nil, err
	}
	b := &Bundle{Node: m.Node, SetVersion: m.SetVersion, files: make(map[string][]byte, len(files))}
	for _, f := range files[1:] {
		b.files[f.name] = f.data
	}
	if err := b.checkTrust(m, files[0].data, now); err != nil {
		return nil, err
	}
	if err := b.checkSet(m, now); err != nil {
		return nil, err
	}
	if err := b.checkPrincipals(m.Principals, now); err != nil {
		return nil, err
	}
	return b, nil
}

// checkTrust judges anchor, trust block and signature of the manifest.
func (b *Bundle) checkTrust(m manifest, text []byte, now time.Time) error {
	var err error
	if b.TrustDomain, err = spiffeid.TrustDomainFromString(m.TrustDomain); err != nil || b.TrustDomain.Name() != m.TrustDomain {
		return refuse(BadManifest, "%q is not the bare name of a trust domain", m.TrustDomain)
	}
	if b.CA, err = anchor.ParseCA(b.files[caName]); err != nil {
		return refuse(BadCA, "%s: %w", caName, err)
	}
	signers, err := envelope.Anchor{TrustDomain: b.TrustDomain, CA: b.CA}.TrustSet(m.Trust)
	if err != nil {
		return refuse(BadTrust, "%w", err)
	}
	if b.SignedBy, err = envelope.VerifyObject(text, signers); err != nil {
		return refuse(BadSignature, "%s: %w", manifestName, err)
	}
	for _, e := range m.Trust.Mgmt {
		// TrustSet has parsed every one of them.
		b.Signers = append(b.Signers, spiffeid.RequireFromString(e.SPIFFEID))
		if e.SPIFFEID == b.SignedBy.String() {
			b.signer = e
		}
	}
	return b.checkSignerNow(now)
}

// checkSignerNow judges the signer's window, which decides at admission
// (ENV-13).
func (b *Bundle) checkSignerNow(now time.Time) error {
	der, err := base64.StdEncoding.DecodeString(b.signer.Cert)
	if err != nil {
		return refuse(BadTrust, "the certificate of %s: %w", b.SignedBy, err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return refuse(BadTrust, "the certificate of %s: %w", b.SignedBy, err)
	}
	if now.Before(cert.NotBefore) || now.After(cert.NotAfter) {
		expired := fmt.Errorf("the certificate of %s is valid from %s to %s, and it is %s: have the bundle issued anew, or set the clock right",
			b.SignedBy, cert.NotBefore.Format(time.RFC3339), cert.NotAfter.Format(time.RFC3339), now.UTC().Format(time.RFC3339))
		return refuse(BadSignature, "%s: %w", manifestName, &envelope.Refusal{Reason: envelope.SignerExpired, Err: expired})
	}
	return nil
}

// checkSet verifies the set as a first enrolment does: its root by a signer of
// its own block, valid now, under the bundle's CA.
func (b *Bundle) checkSet(m manifest, now time.Time) error {
	var members [][]byte
	for name, text := range b.files {
		if !strings.HasPrefix(name, mgmtPrefix) {
			continue
		}
		core, err := envelope.Probe(text)
		if err != nil {
			return refuse(BadSet, "%s: %w", name, err)
		}
		if artifactEntry(core.Name) != name {
			return refuse(BadSet, "%s holds the artifact %s", name, core.Ref())
		}
		members = append(members, text)
	}
	held := envelope.Held{Anchor: envelope.Anchor{TrustDomain: b.TrustDomain, CA: b.CA}}
	set, err := schema.VerifySet(held, b.Node, members, now)
	if err != nil {
		return refuse(BadSet, "%w", err)
	}
	b.Set = set
	return b.compareWithSet(m)
}

// compareWithSet refuses a manifest that says other than the set.
func (b *Bundle) compareWithSet(m manifest) error {
	coordinator, err := spiffeid.FromString(m.Coordinator)
	switch {
	case err != nil:
		return refuse(BadManifest, "coordinator: %w", err)
	case m.Coordinator != b.Set.Agent.Sync.Coordinator:
		return refuse(BadSet, "the set syncs from %s, the manifest says %s", b.Set.Agent.Sync.Coordinator, m.Coordinator)
	case m.SetVersion != b.Set.Version:
		return refuse(BadSet, "the set has version %d, the manifest says %d", b.Set.Version, m.SetVersion)
	case !sameBlock(m.Trust, b.Set.Trust.Block()):
		return refuse(TrustDiffers, "the trust block of the manifest is not that of the set's root")
	}
	b.Coordinator = coordinator
	return nil
}

func sameBlock(a, b envelope.Block) bool {
	same := func(x, y []envelope.Entry) bool { return len(x) == 0 && len(y) == 0 || reflect.DeepEqual(x, y) }
	return same(a.Mgmt, b.Mgmt) && same(a.Ctrl, b.Ctrl)
}

func artifactEntry(name string) string { return mgmtPrefix + name + artifactSuffix }

func certEntry(id spiffeid.ID) string { return certsPrefix + schema.Leaf(id) + identity.CertSuffix }

func keyEntry(id spiffeid.ID) string { return certsPrefix + schema.Leaf(id) + identity.KeySuffix }

// checkPrincipals refuses principals and certificates that do not name each
// other exactly, and every certificate or key that SET-8 would.
func (b *Bundle) checkPrincipals(names []string, now time.Time) error {
	left := make(map[string]bool)
	for name := range b.files {
		if strings.HasPrefix(name, certsPrefix) {
			left[name] = true
		}
	}
	for _, name := range names {
		id, err := b.principal(name)
		if err != nil {
			return err
		}
		if !left[certEntry(id)] || !left[keyEntry(id)] {
			return refuse(BadPrincipals, "%s has no certificate and key of its own in the bundle", id)
		}
		delete(left, certEntry(id))
		delete(left, keyEntry(id))
		if _, err := identity.ParseSVID(b.files[certEntry(id)], b.files[keyEntry(id)], b.CA, id, now); err != nil {
			return refuse(BadCertificate, "%w", err)
		}
		b.Principals = append(b.Principals, id)
	}
	for name := range left {
		return refuse(BadPrincipals, "%s belongs to no principal of the manifest", name)
	}
	return nil
}

// principal reads the ID of a principal that may have keys on this node: one
// whose ID names a node names this one.
func (b *Bundle) principal(text string) (spiffeid.ID, error) {
	id, err := spiffeid.FromString(text)
	if err != nil {
		return id, refuse(BadPrincipals, "%w", err)
	}
	kind, err := schema.KindOf(id)
	if err != nil {
		return id, refuse(BadPrincipals, "%w", err)
	}
	if node := nodeOf(kind, id); id.TrustDomain() != b.TrustDomain || node != "" && node != b.Node {
		return id, refuse(BadPrincipals, "%s is not of node %s in %s", id, b.Node, b.TrustDomain)
	}
	return id, nil
}

// nodeOf returns the node that an ID names, or nothing for a principal that
// can be anywhere.
func nodeOf(kind schema.Kind, id spiffeid.ID) string {
	segments := strings.Split(strings.TrimPrefix(id.Path(), "/"), "/")
	if kind == schema.KindNode || len(segments) == 3 {
		return segments[1]
	}
	return ""
}
