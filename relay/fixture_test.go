package relay_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/florete/flor/envelope"
	"github.com/florete/flor/relay"
)

// A server of net/http keeps a connection that it ends for half a second more, so
// that the client reads the answer; Close does not wait for that.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait"))
}

// artifact is a text with a routing core; the relay reads nothing else of it,
// so that it needs no signature here.
func artifact(node, name string, version uint64, payload string) []byte {
	return fmt.Appendf(nil, `{"schema_version":"1.0","plane":"mgmt","version":%d,"node":%q,"name":%q,"payload":%s}`,
		version, node, name, payload)
}

// nodeSet is a root and a vertex, with a payload that tells sets apart.
func nodeSet(node string, version uint64, mark string) [][]byte {
	return [][]byte{
		artifact(node, "agent", version, `{"mark":"`+mark+`"}`),
		artifact(node, "flor", version, `{"mark":"`+mark+`","links":[ 1, 2 ]}`),
	}
}

func document(sets ...[][]byte) []byte {
	var members [][]byte
	for _, set := range sets {
		members = append(members, set...)
	}
	return envelope.AppendSet(nil, members...)
}

func mustParse(tb testing.TB, doc []byte) *relay.Tree {
	tb.Helper()
	tree, err := relay.ParseTree(doc)
	if err != nil {
		tb.Fatal(err)
	}
	return tree
}

// harness is a relay with its two handlers, asked without a network.
type harness struct {
	tb testing.TB
	*relay.Relay
	sync, publish http.Handler
}

func newHarness(tb testing.TB, storage relay.Storage) *harness {
	tb.Helper()
	r, err := relay.New(context.Background(), storage, relay.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	return &harness{tb: tb, Relay: r, sync: r.SyncHandler(), publish: r.PublishHandler()}
}

// reply is what came back, as far as the contract speaks of it.
type reply struct {
	Status int
	Header map[string]string
	Body   string
}

func (r reply) without(names ...string) reply {
	for _, name := range names {
		delete(r.Header, name)
	}
	return r
}

// listen serves the harness on real sockets and gives the two base addresses.
func (h *harness) listen() (sync, publish string) {
	h.tb.Helper()
	return serve(h.tb, relay.NewServer(h.sync, nil)), serve(h.tb, relay.NewServer(h.publish, nil))
}

func serve(tb testing.TB, server *http.Server) string {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	tb.Cleanup(func() {
		_ = server.Close()
		<-done
	})
	return "http://" + listener.Addr().String()
}

func request(tb testing.TB, method, url string, body io.Reader) reply {
	tb.Helper()
	transport := &http.Transport{DisableKeepAlives: true, DisableCompression: true}
	req, err := http.NewRequest(method, url, body)
	if err != nil {
		tb.Fatal(err)
	}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		tb.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		tb.Fatal(err)
	}
	got := reply{Status: resp.StatusCode, Header: map[string]string{}, Body: string(text)}
	for name, values := range resp.Header {
		got.Header[name] = strings.Join(values, "|")
	}
	return got.without("Date", "Connection")
}

// post publishes without a network and gives status and body.
func (h *harness) post(doc []byte) (int, string) {
	h.tb.Helper()
	w := &recorder{header: http.Header{}}
	req, err := http.NewRequest(http.MethodPost, "/publish/mgmt", bytes.NewReader(doc))
	if err != nil {
		h.tb.Fatal(err)
	}
	h.publish.ServeHTTP(w, req)
	return w.status, w.body.String()
}

func (h *harness) mustPost(doc []byte) {
	h.tb.Helper()
	if status, body := h.post(doc); status != http.StatusOK {
		h.tb.Fatalf("publish: %d %s", status, body)
	}
}

// get fetches without a network.
func (h *harness) get(ctx context.Context, target string) (int, string) {
	h.tb.Helper()
	w := &recorder{header: http.Header{}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		h.tb.Fatal(err)
	}
	h.sync.ServeHTTP(w, req)
	return w.status, w.body.String()
}

type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (r *recorder) Header() http.Header         { return r.header }
func (r *recorder) WriteHeader(status int)      { r.status = status }
func (r *recorder) Write(p []byte) (int, error) { return r.body.Write(p) }
