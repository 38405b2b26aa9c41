package relay_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/florete/flor/relay"
)

// nowhere takes an answer as a socket would, without one.
type nowhere struct{ header http.Header }

func (n *nowhere) Header() http.Header         { return n.header }
func (n *nowhere) WriteHeader(int)             {}
func (n *nowhere) Write(p []byte) (int, error) { return len(p), nil }

func benchmarkFetch(b *testing.B, target string) {
	h := newHarness(b, new(relay.Memory))
	h.mustPost(document(nodeSet("alpha", 42, strings.Repeat("x", 64<<10))))
	req, err := http.NewRequest(http.MethodGet, target, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		w := &nowhere{header: http.Header{}}
		for pb.Next() {
			clear(w.header)
			h.sync.ServeHTTP(w, req)
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "answers/s")
}

// The handler alone: CRD-5 allows no allocation per byte served.
func BenchmarkNotModified(b *testing.B) { benchmarkFetch(b, "/artifact/mgmt/alpha?have=42") }
func BenchmarkSet128KiB(b *testing.B)   { benchmarkFetch(b, "/artifact/mgmt/alpha") }

// Over a socket, with connections that are kept.
func BenchmarkNotModifiedOverTCP(b *testing.B) {
	h := newHarness(b, new(relay.Memory))
	h.mustPost(document(nodeSet("alpha", 42, "a")))
	base, _ := h.listen()
	transport := &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true}
	defer transport.CloseIdleConnections()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			req, err := http.NewRequest(http.MethodGet, base+"/artifact/mgmt/alpha?have=42", nil)
			if err != nil {
				b.Error(err)
				return
			}
			resp, err := transport.RoundTrip(req)
			if err != nil {
				b.Error(err)
				return
			}
			_ = resp.Body.Close()
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "answers/s")
}

func largeTree(version uint64) []byte {
	const nodes = 10_000
	sets := make([][][]byte, nodes)
	for n := range sets {
		sets[n] = nodeSet(fmt.Sprintf("node%05d", n), version, strings.Repeat("x", 1<<10))
	}
	return document(sets...)
}

// A publish of 10,000 nodes, all of them altered, onto a real disk.
func BenchmarkPublish10000Nodes(b *testing.B) {
	store, err := relay.OpenFileStore(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	h := newHarness(b, store)
	docs := make([][]byte, 0, 8)
	for v := range cap(docs) {
		docs = append(docs, largeTree(uint64(v+1)))
	}
	b.SetBytes(int64(len(docs[0])))
	n := 0
	for b.Loop() {
		if n == len(docs) {
			b.StopTimer()
			if _, err := store.Reset(); err != nil {
				b.Fatal(err)
			}
			h, n = newHarness(b, store), 0
			b.StartTimer()
		}
		h.mustPost(docs[n])
		n++
	}
}

func BenchmarkParseTree10000Nodes(b *testing.B) {
	doc := largeTree(1)
	b.SetBytes(int64(len(doc)))
	for b.Loop() {
		if _, err := relay.ParseTree(doc); err != nil {
			b.Fatal(err)
		}
	}
}

// CRD-6: what an idle watcher costs and how long a publish takes to reach all of
// them; the connections live in memory, so that the kernel's part is left out.
func BenchmarkWatchers(b *testing.B) {
	const watchers = 10_000
	for b.Loop() {
		h := newHarness(b, new(relay.Memory))
		h.mustPost(document(nodeSet("alpha", 1, "a")))
		server, listener := relay.NewServer(h.sync, nil), newPipes()
		served := make(chan error, 1)
		go func() { served <- server.Serve(listener) }()
		before := memory()
		var answered sync.WaitGroup
		for range watchers {
			conn := listener.dial()
			if _, err := fmt.Fprint(conn, "GET /artifact/mgmt/alpha?have=1&wait=60 HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
				b.Fatal(err)
			}
			answered.Go(func() {
				defer conn.Close()
				first := make([]byte, len("HTTP/1.1 200"))
				if _, err := conn.Read(first); err != nil || !bytes.HasSuffix(first, []byte("200")) {
					b.Errorf("%q %v", first, err)
				}
			})
		}
		waitForWatchers(b, h.Relay, watchers)
		perWatcher := float64(memory()-before) / watchers
		begun := time.Now()
		h.mustPost(document(nodeSet("alpha", 2, "b")))
		answered.Wait()
		b.ReportMetric(time.Since(begun).Seconds()*1e3, "ms-to-all")
		b.ReportMetric(perWatcher, "B/watcher")
		_ = server.Close()
		<-served
	}
}

func memory() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse
}

func waitForWatchers(b *testing.B, r *relay.Relay, want int) {
	ctx, cancel := context.WithTimeout(b.Context(), time.Minute)
	defer cancel()
	for relay.Watching(r) < want {
		if ctx.Err() != nil {
			b.Fatalf("%d of %d watch", relay.Watching(r), want)
		}
		runtime.Gosched()
	}
}
