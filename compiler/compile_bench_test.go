package compiler

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/florete/flor/envelope"
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

var benchSizes = []benchSize{{100, 100, 10}, {1000, 1000, 20}}

// BenchmarkCompile is CMP-17: a full compile, one that changes nothing, and one
// with a user more, for retes of several sizes.
func BenchmarkCompile(b *testing.B) {
	for _, size := range benchSizes {
		w := newWorld(b)
		w.generate(size)
		b.Run(size.String()+"/full", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				w.remove(florDir)
				b.StartTimer()
				w.compile()
			}
			b.ReportMetric(float64(w.treeSize())/(1<<20), "MiB-tree")
		})
		b.Run(size.String()+"/unchanged", func(b *testing.B) {
			w.compile()
			b.ReportAllocs()
			for b.Loop() {
				w.compile()
			}
		})
		b.Run(size.String()+"/one-user", func(b *testing.B) {
			w.compile()
			before := w.read("users.yaml")
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				w.write("users.yaml", before+fmt.Sprintf("  more%d: {roles: [r0], nodes: [{at: n0, socks5_proxy: 127.0.0.1:1083}]}\n", i))
				w.compile()
			}
			w.write("users.yaml", before)
		})
	}
}

// BenchmarkSignAndWrite is the measure of CMP-17: signing as many artifacts and
// writing the same bytes, without anything around it.
func BenchmarkSignAndWrite(b *testing.B) {
	for _, size := range benchSizes {
		w := newWorld(b)
		w.generate(size)
		loaded, err := Load(w.source())
		if err != nil {
			b.Fatal(err)
		}
		p, err := makePlan(b.Context(), loaded.View, w.fsys(), CompileOptions{})
		if err != nil {
			b.Fatal(err)
		}
		signer, err := p.newSigner(w.options())
		if err != nil {
			b.Fatal(err)
		}
		b.Run(size.String(), func(b *testing.B) {
			for b.Loop() {
				w.signAndWrite(b.TempDir(), p, signer)
			}
		})
	}
}

// signAndWrite signs every artifact of the plan and writes it, on as many
// processors as there are.
func (w *world) signAndWrite(dir string, p *plan, s *signer) {
	w.t.Helper()
	err := eachNode(context.Background(), len(p.nodes), func(i int) error {
		node := p.nodes[i].node
		for _, payload := range p.payloads(node).Payloads() {
			text, err := envelope.Sign(envelope.Draft{
				Plane: envelope.Mgmt, Version: 1, Node: node, Name: payload.Name, GeneratedAt: w.now, Payload: payload.Value,
			}, s.id, s.key)
			if err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(dir, node+"-"+payload.Name), text, 0o644); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) treeSize() (size int) {
	for _, text := range treeOf(w.snapshot()) {
		size += len(text)
	}
	return size
}
