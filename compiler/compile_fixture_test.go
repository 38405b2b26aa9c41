package compiler

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ed25519"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spiffe/go-spiffe/v2/spiffeid"

	"github.com/florete/flor/compiler/ca"
	"github.com/florete/flor/envelope/schema"
)

// world is a repository with its authority, for tests.
type world struct {
	t         testing.TB
	dir       string
	now       time.Time
	authority *ca.Authority
	signers   map[string]ed25519.PrivateKey
	signings  int // how often a key was asked for
}

var loversTD = spiffeid.RequireTrustDomainFromString("rete-lovers")

const reteYAML = `rete:
  name: rete-lovers
  ca: {cert: certs/ca.crt}
  signers:
    mgmt: {keys: [{name: primary, cert: certs/management-planes/primary.crt}]}
`

// loversYAML is a small network with everything in it that projection knows.
var loversYAML = map[string]string{
	"rete.yaml": reteYAML,
	"nodes.yaml": `nodes:
  mgmt01: {vertices: [{name: public, kind: link, type: quic, address: 9.10.11.12:4433}]}
  alpha:  {vertices: [{name: public, kind: link, type: quic, address: 1.2.3.4:4433}]}
  beta:   {vertices: [{name: public, kind: link, type: quic, address: 5.6.7.8:4433}]}
  laptop: {vertices: [{name: quic, kind: link, type: quic}]}
`,
	"services.yaml": `services:
  coordinator:           {at: mgmt01, addr: 127.0.0.1:9000, groups: [coordinator-sync]}
  coordinator-publisher: {at: mgmt01, addr: 127.0.0.1:9001, groups: [coordinator-publish]}
  api: {at: alpha, addr: 127.0.0.1:8000, socks5_proxy: 127.0.0.1:18000, groups: [api], roles: [api-backend]}
  db:  {at: beta, addr: 0.0.0.0:5432, groups: [db]}
  hidden: {at: beta, addr: embedded}
  alpha/ssh: {addr: 0.0.0.0:22, groups: [admin]}
`,
	"access.yaml": `groups: {coordinator-sync: , coordinator-publish: , api: , db: , admin: }
roles:
  node:     {allow: [coordinator-sync]}
  operator: {allow: [coordinator-publish]}
  admin: {allow: [admin]}
  developer: {allow: [api]}
  api-backend: {allow: [db]}
`,
	"users.yaml": `users:
  fyodor: {roles: [operator, admin], nodes: [{at: laptop, socks5_proxy: 127.0.0.1:1082}]}
  alice:  {roles: [developer], nodes: [{at: laptop, socks5_proxy: 127.0.0.1:1083, forwards: {127.0.0.1:15000: api}}]}
`,
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{t: t, dir: t.TempDir(), now: time.Now().UTC().Truncate(time.Second), signers: map[string]ed25519.PrivateKey{}}
	key := w.must(ca.NewKey())
	authority, err := ca.NewAuthority(loversTD, key, ca.DefaultRootValidity, w.now)
	if err != nil {
		t.Fatal(err)
	}
	w.authority = authority
	w.write("certs/ca.crt", string(ca.EncodeCertificate(authority.Certificate())))
	w.addSigner("primary")
	for name, text := range loversYAML {
		w.write(name, text)
	}
	return w
}

func (w *world) must(key ed25519.PrivateKey, err error) ed25519.PrivateKey {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
	return key
}

func (w *world) addSigner(name string) {
	w.t.Helper()
	key := w.must(ca.NewKey())
	id, err := schema.ManagementPlaneID(loversTD, name)
	if err != nil {
		w.t.Fatal(err)
	}
	cert, err := w.authority.Issue(id, key.Public(), 365*24*time.Hour, w.now)
	if err != nil {
		w.t.Fatal(err)
	}
	w.signers[name] = key
	w.write("certs/management-planes/"+name+".crt", string(ca.EncodeCertificate(cert)))
}

func (w *world) path(name string) string { return filepath.Join(w.dir, filepath.FromSlash(name)) }

func (w *world) write(name, text string) {
	w.t.Helper()
	if err := os.MkdirAll(filepath.Dir(w.path(name)), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(w.path(name), []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) read(name string) string {
	w.t.Helper()
	text, err := os.ReadFile(w.path(name))
	if err != nil {
		w.t.Fatal(err)
	}
	return string(text)
}

// edit replaces text in a file of the repository.
func (w *world) edit(name, old, new string) {
	w.t.Helper()
	text := w.read(name)
	if !strings.Contains(text, old) {
		w.t.Fatalf("%s does not contain %q", name, old)
	}
	w.write(name, strings.ReplaceAll(text, old, new))
}

func (w *world) remove(name string) {
	w.t.Helper()
	if err := os.RemoveAll(w.path(name)); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) source() SourceOptions { return SourceOptions{Dir: w.dir, Now: w.now} }

func (w *world) choose(listed []*Signer) (*Signer, crypto.Signer, error) {
	w.signings++
	s, err := PickSigner(listed, "", func(name string) bool { return w.signers[name] != nil })
	if err != nil {
		return nil, nil, err
	}
	return s, w.signers[s.Name], nil
}

func (w *world) options() CompileOptions {
	return CompileOptions{SourceOptions: w.source(), Signer: w.choose, GeneratedAt: w.now}
}

func (w *world) compile() *Result {
	w.t.Helper()
	return w.compileWith(w.options())
}

func (w *world) compileWith(opts CompileOptions) *Result {
	w.t.Helper()
	result, err := Compile(context.Background(), opts)
	if err != nil {
		if faults, ok := err.(*SourceError); ok {
			w.t.Fatalf("%v: %v", err, faults.Diagnostics)
		}
		w.t.Fatal(err)
	}
	return result
}

func (w *world) compileError(opts CompileOptions) error {
	w.t.Helper()
	_, err := Compile(context.Background(), opts)
	if err == nil {
		w.t.Fatal("compile succeeded")
	}
	return err
}

// moves is the result in short: node → old:new.
func moves(r *Result) map[string][2]uint64 {
	m := map[string][2]uint64{}
	for _, c := range r.Changes {
		m[c.Node] = [2]uint64{c.Old, c.New}
	}
	return m
}

// what are the words for one node.
func what(r *Result, node string) []string {
	for _, c := range r.Changes {
		if c.Node == node {
			return c.What
		}
	}
	return nil
}

// snapshot is the committed state below .flor: path to content and mtime.
func (w *world) snapshot() map[string]string {
	w.t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(w.path(florDir), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, "/lock") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(w.dir, path)
		files[filepath.ToSlash(rel)] = string(text)
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return files
}

// mtimes tells when each committed file, and the lock, was last written.
func (w *world) mtimes() map[string]time.Time {
	w.t.Helper()
	times := map[string]time.Time{}
	for _, name := range append(sortedKeys(w.snapshot()), lockFile) {
		info, err := os.Stat(w.path(name))
		if err != nil {
			w.t.Fatal(err)
		}
		times[name] = info.ModTime()
	}
	return times
}

// restore puts a snapshot back, exactly.
func (w *world) restore(files map[string]string) {
	w.t.Helper()
	w.remove(florDir)
	for name, text := range files {
		w.write(name, text)
	}
}

func (w *world) ledger() *Ledger {
	w.t.Helper()
	l, err := parseLedger([]byte(w.read(ledgerFile)))
	if err != nil {
		w.t.Fatal(err)
	}
	return l
}

func (w *world) project() []NodePayloads {
	w.t.Helper()
	loaded, err := Load(w.source())
	if err != nil {
		w.t.Fatal(err)
	}
	projected, err := Project(context.Background(), loaded.View)
	if err != nil {
		w.t.Fatal(err)
	}
	return projected
}

func sameFiles(a, b map[string]string) bool { return maps.Equal(a, b) }

func contains(text []byte, part string) bool { return bytes.Contains(text, []byte(part)) }
