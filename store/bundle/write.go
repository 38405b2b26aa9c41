package bundle

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spiffe/go-spiffe/v2/spiffeid"
	"github.com/spiffe/go-spiffe/v2/svid/x509svid"

	"github.com/florete/flor/envelope"
	"github.com/florete/flor/envelope/schema"
	"github.com/florete/flor/store/internal/anchor"
)

// Contents is what a bundle is made of. Everything else in it follows.
type Contents struct {
	CA         *x509.Certificate
	Principals []*x509svid.SVID // with their private keys; one certificate each
	Artifacts  [][]byte         // the node's signed set; the root is the one named agent
	Now        time.Time        // when it is issued: everything in it must be valid then
}

// Write packs a bundle and signs its manifest as signer with an Ed25519 key
// (BND-1, PKI-4). It writes nothing that [Read] would refuse: what it packed is
// read back first, and a fault is told with the reason that Read gives. The
// caller keeps the file to its owner, mode 0600: it holds private keys (BND-4).
func Write(w io.Writer, c Contents, signer spiffeid.ID, key crypto.Signer) error {
	if w == nil {
		return refuse(UnsuitableContents, "there is nowhere to write the bundle to: it is nil")
	}
	files, err := c.files()
	if err != nil {
		return err
	}
	m, err := c.manifest(files)
	if err != nil {
		return err
	}
	text, err := envelope.SignObject(m, signer, key)
	if err != nil {
		return refuse(UnsuitableContents, "sign the manifest: %w", err)
	}
	var archive bytes.Buffer
	if err := pack(&archive, append([]file{{manifestName, text}}, files...)); err != nil {
		return refuse(UnsuitableContents, "pack: %w", err)
	}
	if _, err := Read(bytes.NewReader(archive.Bytes()), c.Now); err != nil {
		return err
	}
	_, err = w.Write(archive.Bytes())
	return err
}

// files returns every entry but the manifest, by name.
func (c Contents) files() ([]file, error) {
	if c.CA == nil {
		return nil, refuse(UnsuitableContents, "Contents.CA is nil: a bundle carries the CA of its rete")
	}
	files := []file{{caName, anchor.FormatCertificate(c.CA)}}
	for i, svid := range c.Principals {
		if svid == nil {
			return nil, refuse(UnsuitableContents, "Contents.Principals[%d] is nil: each has a certificate and a key", i)
		}
		certPEM, keyPEM, err := svid.Marshal()
		if err != nil {
			return nil, refuse(UnsuitableContents, "%s: %w", svid.ID, err)
		}
		files = append(files, file{certEntry(svid.ID), certPEM}, file{keyEntry(svid.ID), keyPEM})
	}
	for _, text := range c.Artifacts {
		core, err := envelope.Probe(text)
		if err != nil {
			return nil, refuse(UnsuitableContents, "%w", err)
		}
		files = append(files, file{artifactEntry(core.Name), text})
	}
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.name, b.name) })
	return files, nil
}

// manifest describes the files; what it says of the set is what its root says.
func (c Contents) manifest(files []file) (manifest, error) {
	i := slices.IndexFunc(files, func(f file) bool { return f.name == artifactEntry(envelope.AgentName) })
	if i < 0 {
		return manifest{}, refuse(UnsuitableContents, "the set has no root")
	}
	root, err := envelope.Parse(files[i].data)
	if err != nil {
		return manifest{}, refuse(UnsuitableContents, "%w", err)
	}
	agent, err := schema.ParseAgent(root.Payload())
	if err != nil {
		return manifest{}, refuse(UnsuitableContents, "%w", err)
	}
	signer, err := spiffeid.FromString(root.Signature.KeyID)
	if err != nil {
		return manifest{}, refuse(UnsuitableContents, "%w", err)
	}
	m := manifest{
		SchemaVersion: ManifestVersion, TrustDomain: signer.TrustDomain().Name(), Node: root.Node,
		SetVersion: root.Version, Coordinator: agent.Sync.Coordinator, Trust: agent.Trust,
	}
	for _, svid := range c.Principals {
		m.Principals = append(m.Principals, svid.ID.String())
	}
	slices.Sort(m.Principals)
	for _, f := range files {
		m.Entries = append(m.Entries, list(f))
	}
	return m, nil
}
