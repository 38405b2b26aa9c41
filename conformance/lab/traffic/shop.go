package traffic

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Shop is an HTTP service: /hello, /price/ITEM, which asks the stock, and
// /catalogue, a download that lasts until it is finished.
type Shop struct {
	server   *http.Server
	serving  sync.WaitGroup
	database *Client
	once     sync.Once
	finish   chan struct{}
}

const chunkSize = 16 << 10

// ServeShop serves at a listener until it is closed. The database is the shop's
// own way to the stock; nil when it has none.
func ServeShop(l net.Listener, database *Client) *Shop {
	s := &Shop{database: database, finish: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /hello", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "hello from the shop on alpha") })
	mux.HandleFunc("GET /price/{item}", s.price)
	mux.HandleFunc("GET /catalogue", s.catalogue)
	s.server = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	s.serving.Go(func() { _ = s.server.Serve(l) })
	return s
}

// Close cuts all connections.
func (s *Shop) Close() error {
	err := s.server.Close()
	s.serving.Wait()
	return err
}

// price asks the database on another node: a service that calls a service.
func (s *Shop) price(w http.ResponseWriter, r *http.Request) {
	price, err := AskStock(r.Context(), s.database, r.PathValue("item"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	fmt.Fprintln(w, price)
}

// catalogue ends with the digest of all that was sent as a trailer.
func (s *Shop) catalogue(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Trailer", "Digest")
	digest := sha256.New()
	for n := 0; ; n++ {
		if err := sendChunk(w, digest, n); err != nil {
			return
		}
		select {
		case <-s.finish:
			w.Header().Set("Digest", hex.EncodeToString(digest.Sum(nil)))
			return
		case <-r.Context().Done():
			return
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// FinishDownloads brings all downloads, now and later, to their proper end.
func (s *Shop) FinishDownloads() { s.once.Do(func() { close(s.finish) }) }

func sendChunk(w http.ResponseWriter, digest hash.Hash, n int) error {
	chunk := []byte(strings.Repeat(fmt.Sprintf("page %08d of the catalogue\n", n), chunkSize/32))
	digest.Write(chunk)
	if _, err := w.Write(chunk); err != nil {
		return err
	}
	return http.NewResponseController(w).Flush()
}
