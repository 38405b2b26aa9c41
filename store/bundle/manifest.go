package bundle

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/florete/flor/envelope"
	"github.com/florete/flor/store/identity"
)

// ManifestVersion is the schema_version of manifest.json that is written here,
// and the newest that is read.
const ManifestVersion = "1.0"

// Names of entries.
const (
	manifestName   = "manifest.json"
	identityPrefix = "identity/"
	certsPrefix    = identityPrefix + identity.CertsDir + "/"
	caName         = identityPrefix + identity.CAName
	mgmtPrefix     = "artifacts/mgmt/"
	artifactSuffix = ".json"
)

// manifest is manifest.json, members in the order in which they are written.
type manifest struct {
	SchemaVersion string              `json:"schema_version"`
	TrustDomain   string              `json:"trust_domain"`
	Node          string              `json:"node"`
	SetVersion    uint64              `json:"set_version"`
	Coordinator   string              `json:"coordinator"`
	Principals    []string            `json:"principals"`
	Trust         envelope.Block      `json:"trust"`
	Entries       []listed            `json:"entries"`
	Signature     *envelope.Signature `json:"signature,omitempty"`
}

// listed is one entry as the manifest describes it.
type listed struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256"` // lower-case hex
	Size   int64  `json:"size"`   // bytes
}

func list(f file) listed {
	sum := sha256.Sum256(f.data)
	return listed{Name: f.name, SHA256: hex.EncodeToString(sum[:]), Size: int64(len(f.data))}
}

// parseManifest reads manifest.json, closed by ENV-1 and ENV-2. It verifies
// nothing.
func parseManifest(text []byte) (manifest, error) {
	var m manifest
	if _, err := envelope.Canonical(text); err != nil {
		return m, refuse(BadManifest, "%s: %w", manifestName, err)
	}
	version, _ := envelope.PeekSchemaVersions(text)
	if err := envelope.CheckSchemaVersion(manifestName, version, ManifestVersion); err != nil {
		return m, refuse(BadManifest, "%w", err)
	}
	if err := json.Unmarshal(text, &m, json.RejectUnknownMembers(true)); err != nil {
		return m, refuse(BadManifest, "%s: %w", manifestName, err)
	}
	if err := m.checkComplete(); err != nil {
		return m, refuse(BadManifest, "%s: %w", manifestName, err)
	}
	return m, nil
}

// checkComplete refuses an absent or null member: none of them may be empty.
func (m manifest) checkComplete() error {
	empty := map[string]bool{
		"trust_domain": m.TrustDomain == "",
		"node":         m.Node == "",
		"set_version":  m.SetVersion == 0 || m.SetVersion > envelope.MaxVersion,
		"coordinator":  m.Coordinator == "",
		"principals":   len(m.Principals) == 0,
		"trust":        len(m.Trust.Mgmt) == 0,
		"entries":      len(m.Entries) == 0,
		"signature":    m.Signature == nil,
	}
	var errs []error
	for name, bad := range empty {
		if bad {
			errs = append(errs, fmt.Errorf("%s is missing, empty or out of range", name))
		}
	}
	return errors.Join(errs...)
}

// checkListing refuses files that are not exactly the listed ones.
func (m manifest) checkListing(files []file) error {
	want := make(map[string]listed, len(m.Entries))
	for _, e := range m.Entries {
		if _, twice := want[e.Name]; twice {
			return refuse(BadManifest, "%s lists %q twice", manifestName, e.Name)
		}
		want[e.Name] = e
	}
	for _, f := range files {
		switch entry, ok := want[f.name]; {
		case !ok:
			return refuse(ContentDiffers, "%q is not listed in the manifest", f.name)
		case entry != list(f):
			return refuse(ContentDiffers, "%q has not the size and digest that the manifest lists: copy the file again, or issue a new one", f.name)
		}
		delete(want, f.name)
	}
	for name := range want {
		return refuse(ContentDiffers, "%q is listed in the manifest and missing", name)
	}
	return nil
}

// knownName tells whether an entry may have this name (BND-1).
func knownName(name string) bool {
	if name == manifestName || name == caName {
		return true
	}
	if stem, ok := strings.CutPrefix(name, mgmtPrefix); ok {
		stem, ok = strings.CutSuffix(stem, artifactSuffix)
		return ok && envelope.SafeName(stem) == nil
	}
	stem, ok := strings.CutPrefix(name, certsPrefix)
	if !ok {
		return false
	}
	leaf, isCert := strings.CutSuffix(stem, identity.CertSuffix)
	if !isCert {
		leaf, ok = strings.CutSuffix(stem, identity.KeySuffix)
	}
	return ok && envelope.SafeName(leaf) == nil
}
