package main

import (
	"bytes"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spiffe/go-spiffe/v2/spiffeid"
	"github.com/spiffe/go-spiffe/v2/svid/x509svid"

	"github.com/florete/flor/store/bundle"
	"github.com/florete/flor/store/identity"
)

// bundleAt is a bundle of node alpha with a set of this version.
func (r rete) bundleAt(version uint64) []byte {
	node := r.authority.Issue(spiffeid.RequireFromSegments(r.authority.TrustDomain, "node", "alpha"))
	var text bytes.Buffer
	err := bundle.Write(&text, bundle.Contents{
		CA:         r.authority.CA,
		Principals: []*x509svid.SVID{{ID: node.ID, Certificates: []*x509.Certificate{node.Cert}, PrivateKey: node.Key}},
		Artifacts:  r.set(version, "1.0"), Now: time.Now(),
	}, r.signer.ID, r.signer.Key)
	if err != nil {
		panic(err)
	}
	return text.Bytes()
}

// jsonForm rewrites a JWE from its compact form into its JSON form, with the
// work factor replaced where there is another.
func jsonForm(t *testing.T, compact []byte, workFactor string) []byte {
	t.Helper()
	parts := strings.Split(strings.TrimSpace(string(compact)), ".")
	header, err := base64.RawURLEncoding.DecodeString(parts[0])
	if err != nil {
		t.Fatal(err)
	}
	if workFactor != "" {
		parts[0] = base64.RawURLEncoding.EncodeToString([]byte(strings.Replace(string(header), "210000", workFactor, 1)))
	}
	text, err := json.Marshal(map[string]string{
		"protected": parts[0], "encrypted_key": parts[1], "iv": parts[2], "ciphertext": parts[3], "tag": parts[4],
	})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestEnrollScripts pins how existing scopes and encrypted bundles are enrolled
// (BND-3, BND-4).
func TestEnrollScripts(t *testing.T) {
	t.Parallel()
	demo := newRete("demo")
	sealed, err := bundle.Encrypt(demo.bundleAt(1), []byte("correct horse"))
	if err != nil {
		t.Fatal(err)
	}
	rotated := rete{demo.authority, demo.authority.Signer("second")}
	files := map[string][]byte{
		"alpha.bundle":    demo.bundleAt(1),
		"newer.bundle":    demo.bundleAt(2),
		"rotated.bundle":  rotated.bundleAt(3),
		"latest.bundle":   demo.bundleAt(4),
		"stranger.bundle": newRete("demo").bundleAt(3),
		"other.bundle":    newRete("other").bundleAt(1),
		"sealed.bundle":   sealed,
		"sealed.json":     jsonForm(t, sealed, ""),
		"dear.json":       jsonForm(t, sealed, "9000000"),
	}
	root, err := os.MkdirTemp("", "flor")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(root) })
	testscript.Run(t, testscript.Params{
		Dir:         "testdata/enroll",
		WorkdirRoot: root,
		Cmds:        map[string]func(*testscript.TestScript, bool, []string){"await": await},
		Setup: func(env *testscript.Env) error {
			if err := setUp(env); err != nil {
				return err
			}
			env.Setenv("FINGERPRINT", identity.Fingerprint(demo.authority.CA))
			for name, text := range files {
				if err := os.WriteFile(filepath.Join(env.WorkDir, name), text, 0o600); err != nil {
					return err
				}
			}
			return nil
		},
	})
}
