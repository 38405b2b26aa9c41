package compiler

import "testing"

// BenchmarkAnswers is what access and diff cost beside a compile (CMP-17): the
// whole table, and a comparison in which one user was added.
func BenchmarkAnswers(b *testing.B) {
	for _, size := range benchSizes {
		w := newWorld(b)
		w.generate(size)
		w.compile()
		w.write("more.yaml", "users:\n  more: {roles: [r0], nodes: [{at: n0, socks5_proxy: 127.0.0.1:1083}]}\n")
		loaded, err := Load(w.source())
		if err != nil {
			b.Fatal(err)
		}
		b.Run(size.String()+"/access", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				loaded.View.Access(AccessQuery{})
			}
			b.ReportMetric(float64(len(loaded.View.Access(AccessQuery{}))), "pairs")
		})
		b.Run(size.String()+"/diff", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				w.compare()
			}
		})
	}
}
