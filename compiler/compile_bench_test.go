package compiler

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/florete/flor/envelope"
	"github.com/florete/flor/store/durable"
)

// benchSize is a rete of a size: each node has a user's laptop beside it, and
// each user reaches so many services.
type benchSize struct{ nodes, services, reach int }

func (s benchSize) String() string {
	return fmt.Sprintf("nodes=%d/services=%d/reach=%d", s.nodes, s.services, s.reach)
}

// generate writes a rete of the size into w: services are spread over the first
// tenth of the nodes and over groups of s.reach, one role for each group, and
// one user on each of the other nodes.
func (w *world) generate(s benchSize) {
	w.t.Helper()
	for name := range loversYAML {
		w.remove(name)
	}
	w.write("rete.yaml", reteYAML)
	hosts := max(s.nodes/10, 1)
	var nodes, services, access, users strings.Builder
	nodes.WriteString("nodes:\n")
	users.WriteString("users:\n  op: {roles: [operator], nodes: [{at: n0, socks5_proxy: 127.0.0.1:1082}]}\n")
	groups := max(s.services/s.reach, 1)
	for i := range s.nodes {
		address := ""
		if i < hosts {
			address = fmt.Sprintf(", address: 10.%d.%d.%d:4433", i>>16&255, i>>8&255, i&255)
		} else {
			fmt.Fprintf(&users, "  u%d: {roles: [r%d], nodes: [{at: n%d}]}\n", i, i%groups, i)
		}
		fmt.Fprintf(&nodes, "  n%d: {vertices: [{name: v, kind: link, type: quic%s}]}\n", i, address)
	}
	services.WriteString("services:\n  coordinator: {at: n0, addr: 127.0.0.1:1, groups: [coordinator-sync]}\n" +
		"  coordinator-publisher: {at: n0, addr: 127.0.0.1:2, groups: [coordinator-publish]}\n")
	for i := range s.services {
		fmt.Fprintf(&services, "  s%d: {at: n%d, addr: 127.0.0.1:%d, groups: [g%d]}\n", i, i%hosts, 8000+i/hosts, i%groups)
	}
	access.WriteString("roles:\n  node: {allow: [coordinator-sync]}\n  operator: {allow: [coordinator-publish]}\n")
	for i := range groups {
		fmt.Fprintf(&access, "  r%d: {allow: [g%d]}\n", i, i)
	}
	access.WriteString("groups:\n  coordinator-sync:\n  coordinator-publish:\n")
	for i := range groups {
		fmt.Fprintf(&access, "  g%d:\n", i)
	}
	for name, b := range map[string]*strings.Builder{"nodes.yaml": &nodes, "services.yaml": &services, "access.yaml": &access, "users.yaml": &users} {
		w.write(name, b.String())
	}
}

var benchSizes = []benchSize{{100, 100, 10}, {1000, 1000, 20}, {10000, 1000, 20}}

// BenchmarkCompile is CMP-17. Each round signs and writes as many artifacts as
// the rete has, without anything around it, then compiles in full, without a
// change, and with a user more: side by side, so that what else the machine does
// weighs on all of them alike. It logs a table of the medians.
func BenchmarkCompile(b *testing.B) {
	for _, size := range benchSizes {
		b.Run(size.String(), func(b *testing.B) {
			w := newWorld(b)
			w.generate(size)
			var sign, flushed, full, unchanged, oneUser []cost
			for i := 0; b.Loop(); i++ {
				w.remove(florDir)
				written, durable := w.costOfSigning()
				sign, flushed = append(sign, written), append(flushed, durable)
				full = append(full, measure(func() { w.compile() }))
				unchanged = append(unchanged, measure(func() { w.compile() }))
				w.addUser(i)
				oneUser = append(oneUser, measure(func() { w.compile() }))
			}
			logCosts(b, w.treeSize(), []namedCosts{
				{signing, sign}, {signingFlushed, flushed}, {"full", full}, {"unchanged", unchanged}, {"one user more", oneUser},
			})
		})
	}
}

func (w *world) addUser(i int) {
	w.t.Helper()
	w.write("more.yaml", fmt.Sprintf("users:\n  more%d: {roles: [r0], nodes: [{at: n0, socks5_proxy: 127.0.0.1:1083}]}\n", i))
}

// costOfSigning is the measure of CMP-17, in a repository without a tree: signing
// as many artifacts as a full compile does, and writing the same bytes; then the
// same with a flush behind it, so that the bytes are where a compile has them.
func (w *world) costOfSigning() (written, flushed cost) {
	w.t.Helper()
	loaded, err := Load(w.source())
	if err != nil {
		w.t.Fatal(err)
	}
	opts := w.options()
	p, err := makePlan(context.Background(), loaded.View, w.fsys(), opts)
	if err != nil {
		w.t.Fatal(err)
	}
	signer, err := p.newSigner(opts)
	if err != nil {
		w.t.Fatal(err)
	}
	dir, err := os.MkdirTemp(w.dir, ".signed-")
	if err != nil {
		w.t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	written = measure(func() { w.signAndWrite(dir, p, signer) })
	flush := measure(w.flush)
	return written, written.and(flush)
}

// flush makes durable what was written, where that can be done at once.
func (w *world) flush() {
	w.t.Helper()
	root, err := os.OpenRoot(w.dir)
	if err != nil {
		w.t.Fatal(err)
	}
	defer root.Close()
	if v, ok := durable.FS(newDiskFS(root)).(volume); ok {
		err = v.syncAll()
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// signAndWrite signs every artifact of the plan and writes it, as many at once
// as a compile does.
func (w *world) signAndWrite(dir string, p *plan, s *signer) {
	w.t.Helper()
	var group errgroup.Group
	group.SetLimit(treeWriters)
	for _, n := range p.nodes {
		group.Go(func() error { return signInto(dir, p, s, n.node) })
	}
	if err := group.Wait(); err != nil {
		w.t.Fatal(err)
	}
}

func signInto(dir string, p *plan, s *signer, node string) error {
	for _, payload := range p.payloads(node).Payloads() {
		text, err := envelope.Sign(envelope.Draft{
			Plane: envelope.Mgmt, Version: 1, Node: node, Name: payload.Name, GeneratedAt: s.generatedAt, Payload: payload.Value,
		}, s.id, s.key)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, node+"-"+payload.Name), text, fileMode); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) treeSize() (size int) {
	for _, text := range treeOf(w.snapshot()) {
		size += len(text)
	}
	return size
}
