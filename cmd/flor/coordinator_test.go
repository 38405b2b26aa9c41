package main

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"time"
)

// coordinator is what an agent under test syncs with: it is dialled through a
// SOCKS5 listener of its own, as through a vertex, and publishes what it is told.
type coordinator struct {
	addr string

	mu      sync.Mutex
	version uint64
	doc     []byte
	instead http.HandlerFunc // answers whoever does not watch; nil: nothing does
	changed chan struct{}
}

func newCoordinator(t testing.TB) *coordinator {
	t.Helper()
	c := &coordinator{changed: make(chan struct{})}
	server := httptest.NewUnstartedServer(c)
	server.Listener = socksListener{server.Listener}
	server.Start()
	t.Cleanup(server.Close)
	c.addr = server.Listener.Addr().String()
	return c
}

func (c *coordinator) publish(version uint64, doc []byte) {
	c.tell(func(c *coordinator) { c.version, c.doc = version, doc })
}

func (c *coordinator) tell(change func(*coordinator)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(c)
	close(c.changed)
	c.changed = make(chan struct{})
}

func (c *coordinator) look() (version uint64, doc []byte, instead http.HandlerFunc, changed <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.version, c.doc, c.instead, c.changed
}

// ServeHTTP answers a fetch, and holds an answer that would say nothing new.
func (c *coordinator) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	have, _ := strconv.ParseUint(r.URL.Query().Get("have"), 10, 64)
	wait, _ := strconv.Atoi(r.URL.Query().Get("wait"))
	timeout := time.After(time.Duration(wait) * time.Second)
	for {
		version, doc, instead, changed := c.look()
		switch {
		case instead != nil && wait == 0:
			instead(w, r)
			return
		case version != have:
			w.Header().Set("Content-Type", "application/json")
			w.Write(doc)
			return
		}
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		case <-timeout:
			w.Header().Set("Flor-Wait", "60")
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
}

// socksListener makes a server the only target of a SOCKS5 proxy: whatever name
// a connection asks for, it gets the server.
type socksListener struct{ net.Listener }

func (l socksListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &socksConn{Conn: conn, in: bufio.NewReader(conn)}, nil
}

// socksConn shakes hands at its first read, in the goroutine that serves it.
type socksConn struct {
	net.Conn
	in   *bufio.Reader
	once sync.Once
	err  error
}

func (c *socksConn) Read(p []byte) (int, error) {
	if c.once.Do(func() { c.err = c.greet() }); c.err != nil {
		return 0, c.err
	}
	return c.in.Read(p)
}

func (c *socksConn) greet() error {
	methods := make([]byte, 2)
	if _, err := io.ReadFull(c.in, methods); err != nil {
		return err
	}
	if _, err := c.in.Discard(int(methods[1])); err != nil {
		return err
	}
	c.Conn.Write([]byte{5, 0})
	request := make([]byte, 5)
	if _, err := io.ReadFull(c.in, request); err != nil {
		return err
	}
	if _, err := c.in.Discard(int(request[4]) + 2); err != nil {
		return err
	}
	_, err := c.Conn.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
	return err
}
