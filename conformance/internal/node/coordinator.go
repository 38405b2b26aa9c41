package node

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/florete/flor/conformance/internal/trial"
)

// Fetch is one request that came through the inbound.
type Fetch struct {
	Target string // what the SOCKS5 client asked for, host:port
	Method string
	Host   string // the header
	Path   string
	Query  url.Values
}

// Coordinator is a SOCKS5 inbound and the coordinator behind it.
type Coordinator struct {
	Addr string // of the inbound

	mu      sync.Mutex
	fetches []Fetch
	answer  http.HandlerFunc
}

// NewCoordinator starts one that answers 503 until it is told otherwise.
func NewCoordinator(t *trial.T) *Coordinator {
	c := &Coordinator{answer: NotPublished}
	inbound, err := net.Listen("tcp", "127.0.0.1:0")
	t.Check(err, "listen")
	c.Addr = inbound.Addr().String()
	behind := &handover{conns: make(chan net.Conn), closed: make(chan struct{}), addr: inbound.Addr()}
	server := &http.Server{
		Handler: c, ReadHeaderTimeout: time.Minute,
		ConnContext: func(ctx context.Context, conn net.Conn) context.Context {
			return context.WithValue(ctx, targetKey{}, conn.(*tunnel).target)
		},
	}
	var work sync.WaitGroup
	work.Go(func() { _ = server.Serve(behind) })
	work.Go(func() { acceptClients(inbound, behind, &work) })
	t.Cleanup(func() {
		_ = inbound.Close()
		_ = server.Close()
		behind.Close()
		work.Wait()
	})
	return c
}

type targetKey struct{}

// Answer has every fetch from now on answered so.
func (c *Coordinator) Answer(h http.HandlerFunc) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answer = h
}

// Fetches are the requests so far.
func (c *Coordinator) Fetches() []Fetch {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.fetches)
}

// First is the first request; whoever has made none by now ends the case.
func (c *Coordinator) First(t *trial.T) Fetch {
	all := c.Fetches()
	if len(all) == 0 {
		t.Fatalf("the agent tells of a sync and has not asked the coordinator: fetch at the start, through the inbound of sync.principal")
	}
	return all[0]
}

func (c *Coordinator) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	target, _ := r.Context().Value(targetKey{}).(string)
	c.mu.Lock()
	c.fetches = append(c.fetches, Fetch{Target: target, Method: r.Method, Host: r.Host, Path: r.URL.Path, Query: r.URL.Query()})
	answer := c.answer
	c.mu.Unlock()
	answer(w, r)
}

// Published answers with a set document, or 304 to whoever has its version.
func Published(version uint64, document []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("have") == strconv.FormatUint(version, 10) {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		w.Header().Set("Flor-Set-Version", strconv.FormatUint(version, 10))
		Body(document)(w, r)
	}
}

// Body answers 200 with a document, whoever asks.
func Body(document []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(document)))
		_, _ = w.Write(document)
	}
}

// NotPublished answers that nothing is published yet.
func NotPublished(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Retry-After", "5")
	problem(w, http.StatusServiceUnavailable, "not_published")
}

// UnknownNode answers that the tree has no such node.
func UnknownNode(w http.ResponseWriter, _ *http.Request) {
	problem(w, http.StatusNotFound, "unknown_node")
}

func problem(w http.ResponseWriter, status int, word string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, `{"error":"`+word+`"}`)
}

// tunnel is a connection after its SOCKS5 request.
type tunnel struct {
	net.Conn
	reader *bufio.Reader
	target string
}

func (t *tunnel) Read(p []byte) (int, error) { return t.reader.Read(p) }

// handover is a listener of connections that somebody else has accepted.
type handover struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
	addr   net.Addr
}

func (h *handover) Accept() (net.Conn, error) {
	select {
	case c := <-h.conns:
		return c, nil
	case <-h.closed:
		return nil, net.ErrClosed
	}
}

func (h *handover) Close() error {
	h.once.Do(func() { close(h.closed) })
	return nil
}

func (h *handover) Addr() net.Addr { return h.addr }

func acceptClients(inbound net.Listener, behind *handover, work *sync.WaitGroup) {
	for {
		conn, err := inbound.Accept()
		if err != nil {
			return
		}
		work.Go(func() {
			_ = conn.SetDeadline(time.Now().Add(trial.Patience))
			tunnel, err := serveSOCKS(conn)
			if err != nil {
				_ = conn.Close()
				return
			}
			select {
			case behind.conns <- tunnel:
			case <-behind.closed:
				_ = conn.Close()
			}
		})
	}
}

// serveSOCKS answers a client as a vertex does that reaches everybody.
func serveSOCKS(conn net.Conn) (*tunnel, error) {
	r := bufio.NewReader(conn)
	var head [2]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	if _, err := r.Discard(int(head[1])); err != nil {
		return nil, err
	}
	if _, err := conn.Write([]byte{5, 0}); err != nil {
		return nil, err
	}
	target, err := readTarget(r)
	if err != nil {
		return nil, err
	}
	_, err = conn.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
	return &tunnel{conn, r, target}, err
}

func readTarget(r *bufio.Reader) (string, error) {
	var request [5]byte
	if _, err := io.ReadFull(r, request[:]); err != nil {
		return "", err
	}
	if request[1] != 1 || request[3] != 3 {
		return "", errors.New("not a CONNECT to a name")
	}
	rest := make([]byte, int(request[4])+2)
	if _, err := io.ReadFull(r, rest); err != nil {
		return "", err
	}
	host, port := rest[:request[4]], rest[request[4]:]
	return net.JoinHostPort(string(host), strconv.Itoa(int(port[0])<<8|int(port[1]))), nil
}
