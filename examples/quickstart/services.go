package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"golang.org/x/net/proxy"
)

// The two services of the demonstration. They know nothing of Florete: one
// listens for HTTP, one speaks a line protocol, and the first reaches the
// second through a SOCKS5 proxy as it would through any other.

// shop is alpha's HTTP service.
type shop struct {
	server   *http.Server
	listener net.Listener
	database *socksClient // as service/shop, through alpha's vertex
	finish   chan struct{}
}

const chunkSize = 16 << 10

func startShop(database *socksClient) (*shop, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for the shop: %w", err)
	}
	s := &shop{listener: listener, database: database, finish: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /hello", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "hello from the shop on alpha") })
	mux.HandleFunc("GET /price/{item}", s.price)
	mux.HandleFunc("GET /catalogue", s.catalogue)
	s.server = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go s.server.Serve(listener)
	return s, nil
}

func (s *shop) addr() string { return s.listener.Addr().String() }

func (s *shop) close() { s.server.Close() }

// price asks the database on beta: a service that calls a service.
func (s *shop) price(w http.ResponseWriter, r *http.Request) {
	price, err := askStock(r.Context(), s.database, r.PathValue("item"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	fmt.Fprintln(w, price)
}

// catalogue is a download that lasts until finishDownloads, with the digest of
// all that was sent as a trailer.
func (s *shop) catalogue(w http.ResponseWriter, r *http.Request) {
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

func (s *shop) finishDownloads() { close(s.finish) }

func sendChunk(w http.ResponseWriter, digest hash.Hash, n int) error {
	chunk := []byte(strings.Repeat(fmt.Sprintf("page %08d of the catalogue\n", n), chunkSize/32))
	digest.Write(chunk)
	if _, err := w.Write(chunk); err != nil {
		return err
	}
	return http.NewResponseController(w).Flush()
}

// stock is beta's service: it greets first, as databases and mail servers do,
// then answers one line a question.
type stock struct {
	listener net.Listener
}

const stockGreeting = "stock on beta, ready"

func startStock() (*stock, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for the stock: %w", err)
	}
	s := &stock{listener: listener}
	go s.serve()
	return s, nil
}

func (s *stock) addr() string { return s.listener.Addr().String() }

func (s *stock) close() { s.listener.Close() }

func (s *stock) serve() {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			return
		}
		go answerStock(conn)
	}
}

func answerStock(conn net.Conn) {
	defer conn.Close()
	fmt.Fprintln(conn, stockGreeting)
	for lines := bufio.NewScanner(conn); lines.Scan(); {
		item := lines.Text()
		fmt.Fprintf(conn, "%s: %d euros\n", item, 10+len(item))
	}
}

// askStock waits for the greeting before it asks.
func askStock(ctx context.Context, client *socksClient, item string) (string, error) {
	conn, err := client.dial(ctx, "stock")
	if err != nil {
		return "", err
	}
	defer conn.Close()
	lines := bufio.NewReader(conn)
	if greeting, err := lines.ReadString('\n'); err != nil || strings.TrimSpace(greeting) != stockGreeting {
		return "", fmt.Errorf("the stock greeted with %q: %w", greeting, err)
	}
	if _, err := fmt.Fprintln(conn, item); err != nil {
		return "", err
	}
	answer, err := lines.ReadString('\n')
	return strings.TrimSpace(answer), err
}

// socksClient is one principal's way into the rete: the SOCKS5 port that its
// vertex opened for it.
type socksClient struct {
	proxy string // host:port
	rete  string
}

func (c *socksClient) dial(ctx context.Context, service string) (net.Conn, error) {
	dialer, err := proxy.SOCKS5("tcp", c.proxy, nil, &net.Dialer{})
	if err != nil {
		return nil, err
	}
	return dialer.(proxy.ContextDialer).DialContext(ctx, "tcp", c.host(service)+":80")
}

func (c *socksClient) host(service string) string { return service + "." + c.rete + ".rete" }

func (c *socksClient) http() *http.Client {
	return &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) {
			service, _, _ := strings.Cut(addr, ".")
			return c.dial(ctx, service)
		},
	}}
}

// get fetches a page of a service and returns its text.
func (c *socksClient) get(ctx context.Context, service, path string) (string, error) {
	response, err := c.open(ctx, service, path)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil {
		return "", err
	}
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s: %s", response.Status, strings.TrimSpace(string(body)))
	}
	return strings.TrimSpace(string(body)), nil
}

func (c *socksClient) open(ctx context.Context, service, path string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+c.host(service)+path, nil)
	if err != nil {
		return nil, err
	}
	return c.http().Do(request)
}

// download is one running transfer of the catalogue.
type download struct {
	first chan struct{} // closed when the first bytes have come
	done  chan struct{} // closed when it has ended
	bytes int64
	err   error // after done: nil when every byte came and fits the digest
	ended time.Time
}

func startDownload(ctx context.Context, client *socksClient) *download {
	d := &download{first: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(d.done)
		d.err = d.run(ctx, client)
		d.ended = time.Now()
	}()
	return d
}

func (d *download) run(ctx context.Context, client *socksClient) error {
	response, err := client.open(ctx, "shop", "/catalogue")
	if err != nil {
		return err
	}
	defer response.Body.Close()
	digest := sha256.New()
	if d.bytes, err = io.CopyN(digest, response.Body, chunkSize/2); err != nil {
		return err
	}
	close(d.first)
	rest, err := io.Copy(digest, response.Body)
	d.bytes += rest
	if err != nil {
		return err
	}
	if response.Trailer.Get("Digest") != hex.EncodeToString(digest.Sum(nil)) {
		return errors.New("the download ended, but its digest does not fit")
	}
	return nil
}
