package conformance

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/spiffe/go-spiffe/v2/spiffeid"

	"github.com/florete/flor/compiler"
	"github.com/florete/flor/compiler/facade"
	"github.com/florete/flor/conformance/internal/mint"
	"github.com/florete/flor/envelope"
)

// exampleSource is the rete of SPEC.md's worked example.
const exampleSource = `rete:
  name: rete-lovers
  ca: {cert: certs/ca.crt, validity_days: 3650}
  signers:
    mgmt: {validity_days: 365, keys: [{name: primary, cert: certs/management-planes/primary.crt}]}
  tls_principals: {validity_days: 90}
nodes:
  mgmt01: {vertices: [{name: public, kind: link, type: quic, address: "192.0.2.1:4433"}]}
  laptop: {vertices: [{name: public, kind: link, type: quic}]}
services:
  coordinator: {at: mgmt01, addr: "127.0.0.1:9000", groups: [coordinator-sync]}
  coordinator-publisher: {at: mgmt01, addr: "127.0.0.1:9001", groups: [coordinator-publish]}
groups: {coordinator-sync: , coordinator-publish: }
roles:
  node: {allow: [coordinator-sync]}
  operator: {allow: [coordinator-publish]}
users:
  olga: {roles: [operator], nodes: [{at: laptop}]}
`

// Keys of RFC 8032 §7.1: TEST 1 signs, TEST 2 is the CA's.
const (
	rfc8032Test1 = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"
	rfc8032Test2 = "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb"
)

// TestSpecificationExampleIsRecomputed goes from the YAML of the worked example
// to its signed bytes, and compares every value with SPEC.md; with -update it
// writes them (CNF-1).
func TestSpecificationExampleIsRecomputed(t *testing.T) {
	spec := readSpec(t)
	for name, want := range exampleBlocks(t) {
		begin := "<!-- example: " + name + " -->\n"
		spec = replaceBlock(t, spec, begin, "<!-- end of example -->\n", want)
	}
	writeSpec(t, spec)
}

// exampleBlocks computes each value that the example shows.
func exampleBlocks(t *testing.T) map[string]string {
	ca, signer := exampleAuthority(t)
	payloads := exampleProjection(t, ca, signer)
	generated := mint.At(mint.Now)
	sign := func(name string, payload any) []byte {
		text, err := envelope.Sign(envelope.Draft{
			Plane: envelope.Mgmt, Version: 1, Node: "mgmt01", Name: name, GeneratedAt: generated, Payload: payload,
		}, spiffeid.RequireFromString(signer.ID), signer.Key)
		check(t, err)
		return text
	}
	coordinator, root := sign("coordinator", payloads.Coordinator), sign("agent", payloads.Agent)
	parsed, err := envelope.Parse(coordinator)
	check(t, err)
	vertex := sign(compiler.VertexName, payloads.Vertex)
	doc := envelope.AppendSet(nil, root, vertex, coordinator)
	payload, err := json.Marshal(payloads.Coordinator, jsontext.WithIndent("  "))
	check(t, err)
	return map[string]string{
		"keys":      keyTable(t),
		"source":    fence("yaml", exampleSource),
		"ca":        fence("text", base64.StdEncoding.EncodeToString(ca.Cert.Raw)),
		"cert":      fence("text", base64.StdEncoding.EncodeToString(signer.Cert.Raw)),
		"payload":   fence("json", string(payload)),
		"envelope":  fence("json", withoutSignature(string(coordinator))),
		"canonical": fence("text", string(parsed.Signed())) + fence("text", digest(parsed.Signed())),
		"signature": fence("text", rawSignature(t, parsed)+"\n"+parsed.Signature.Value),
		"artifact":  fence("json", string(coordinator)),
		"root":      shown(t, root),
		"vertex":    shown(t, vertex),
		"set":       fence("text", string(doc[:40])+"…\n…"+string(doc[len(doc)-12:])) + fence("text", digest(doc)),
	}
}

// exampleAuthority makes the CA and the signer of the example.
func exampleAuthority(t *testing.T) (*mint.Authority, *mint.Identity) {
	t.Helper()
	ca := mint.NewAuthority("rete-lovers", rfcKey(t, rfc8032Test2))
	return ca, ca.IssueFor("spiffe://rete-lovers/management-plane/primary", rfcKey(t, rfc8032Test1))
}

func rfcKey(t *testing.T, seed string) ed25519.PrivateKey {
	t.Helper()
	raw, err := hex.DecodeString(seed)
	check(t, err)
	return ed25519.NewKeyFromSeed(raw)
}

// exampleProjection compiles the source as far as the payloads of mgmt01.
func exampleProjection(t *testing.T, ca *mint.Authority, signer *mint.Identity) compiler.NodePayloads {
	t.Helper()
	repository := t.TempDir()
	write := func(name string, text []byte) {
		path := filepath.Join(repository, name)
		check(t, os.MkdirAll(filepath.Dir(path), 0o755))
		check(t, os.WriteFile(path, text, 0o644))
	}
	write("rete.yaml", []byte(exampleSource))
	write("certs/ca.crt", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ca.Cert.Raw}))
	write("certs/management-planes/primary.crt", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signer.Cert.Raw}))
	source, found := facade.Load(facade.Options{Root: repository})
	if found.HasErrors() {
		t.Fatalf("the example does not load: %v", found)
	}
	view, found := compiler.Validate(source, compiler.ValidateOptions{
		Now:      mint.At(mint.Now),
		ReadFile: func(name string) ([]byte, error) { return os.ReadFile(filepath.Join(repository, name)) },
	})
	if found.HasErrors() {
		t.Fatalf("the example is not valid: %v", found)
	}
	all, err := compiler.Project(t.Context(), view)
	check(t, err)
	for _, payloads := range all {
		if payloads.Coordinator != nil {
			return payloads
		}
	}
	t.Fatal("no node of the example has a coordinator")
	return compiler.NodePayloads{}
}

// keyTable shows the example's keys.
func keyTable(t *testing.T) string {
	t.Helper()
	rows := "\n| whose | RFC 8032 §7.1 | secret key (seed), hex | public key, base64 |\n|---|---|---|---|\n"
	for _, key := range [][3]string{
		{"the CA of `rete-lovers`", "TEST 2", rfc8032Test2}, {"the signer `management-plane/primary`", "TEST 1", rfc8032Test1},
	} {
		public := rfcKey(t, key[2]).Public().(ed25519.PublicKey)
		rows += fmt.Sprintf("| %s | %s | `%s` | `%s` |\n", key[0], key[1], key[2], base64.StdEncoding.EncodeToString(public))
	}
	return rows
}

// shown is an artifact with the digest of what is signed.
func shown(t *testing.T, text []byte) string {
	t.Helper()
	a, err := envelope.Parse(text)
	check(t, err)
	return fence("json", string(text)) + fence("text", digest(a.Signed()))
}

func fence(language, text string) string {
	return "\n```" + language + "\n" + strings.TrimSuffix(text, "\n") + "\n```\n"
}

func digest(text []byte) string {
	return fmt.Sprintf("%d bytes, SHA-256 %x", len(text), sha256.Sum256(text))
}

func rawSignature(t *testing.T, a envelope.Artifact) string {
	t.Helper()
	raw, err := base64.StdEncoding.DecodeString(a.Signature.Value)
	check(t, err)
	return hex.EncodeToString(raw)
}

// withoutSignature takes the last member out of an artifact.
func withoutSignature(text string) string {
	at := strings.LastIndex(text, ",\n  \"signature\"")
	return text[:at] + "\n}"
}

func readSpec(t *testing.T) string {
	t.Helper()
	spec, err := os.ReadFile("SPEC.md")
	check(t, err)
	return string(spec)
}

// writeSpec writes SPEC.md with -update, if something changed.
func writeSpec(t *testing.T, spec string) {
	t.Helper()
	if *update && !bytes.Equal([]byte(readSpec(t)), []byte(spec)) {
		check(t, os.WriteFile("SPEC.md", []byte(spec), 0o644))
	}
}

// replaceBlock puts a text between two markers; without -update it only says
// where it differs from what is there.
func replaceBlock(t *testing.T, spec, begin, end, want string) string {
	t.Helper()
	before, rest, found := strings.Cut(spec, begin)
	have, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("SPEC.md lacks the block %s", strings.TrimSpace(begin))
	}
	want += "\n"
	if diff := cmp.Diff(want, have); diff != "" && !*update {
		t.Errorf("%s in SPEC.md is not what the code says; run go test ./conformance -update\n(-code +SPEC.md)\n%s", strings.TrimSpace(begin), diff)
	}
	return before + begin + want + end + after
}
