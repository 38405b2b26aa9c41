package control_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/florete/flor/supervise/control"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for what should happen at once; machines
// are busy at times.
const patience = 30 * time.Second

var when = time.Date(2026, 4, 20, 12, 0, 0, 0, time.UTC)

// backend is an agent that remembers what it was asked.
type backend struct {
	mu      sync.Mutex
	doc     control.StatusDoc
	changed chan struct{}
	asked   []control.SyncRequest
	// came, if set, is told of each sync.
	came chan struct{}
	// blocked, if set, holds syncs until it is closed.
	blocked chan struct{}
}

func newBackend() *backend {
	return &backend{doc: control.StatusDoc{Scope: "home", Health: []string{}}, changed: make(chan struct{})}
}

func (b *backend) Status() control.StatusDoc {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.doc
}

func (b *backend) set(scope string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.doc.Scope = scope
	close(b.changed)
	b.changed = make(chan struct{})
}

func (b *backend) WatchStatus(ctx context.Context) iter.Seq[control.StatusDoc] {
	return func(yield func(control.StatusDoc) bool) {
		for {
			b.mu.Lock()
			doc, changed := b.doc, b.changed
			b.mu.Unlock()
			if !yield(doc) {
				return
			}
			select {
			case <-changed:
			case <-ctx.Done():
				return
			}
		}
	}
}

func (b *backend) Sync(ctx context.Context, r control.SyncRequest) (control.SyncResult, error) {
	b.mu.Lock()
	b.asked = append(b.asked, r)
	b.mu.Unlock()
	if b.came != nil {
		b.came <- struct{}{}
	}
	if b.blocked != nil {
		select {
		case <-b.blocked:
		case <-ctx.Done():
		}
	}
	return control.SyncResult{Result: control.Refused, Reason: "replay", Code: "FL1411", Trigger: "request", Held: 42, Offered: 41, When: when, DurationMS: 7, DryRun: r.DryRun}, nil
}

func (b *backend) requests() []control.SyncRequest {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.asked
}

func (b *backend) Inbounds() map[string]control.Inbound {
	return map[string]control.Inbound{"spiffe://home/user/alice": {Kind: "socks5", Addr: "127.0.0.1:1080"}}
}

type coded struct{}

func (coded) Error() string { return "FL2306 unverified: may not run" }
func (coded) Code() string  { return "FL2306" }

func (b *backend) Restart(name string) error {
	switch name {
	case "flor":
		return nil
	case "unverified":
		return coded{}
	case "broken":
		return errors.New("no idea")
	default:
		return fmt.Errorf("%q: %w", name, control.ErrUnknownWorkload)
	}
}

func (b *backend) Metrics() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "x 1\n") })
}

// serve runs a server for the test, and returns its socket.
func serve(t *testing.T, b control.Backend) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "agent.sock")
	l, err := control.Listen(path, 0o660)
	if err != nil {
		t.Fatal(err)
	}
	s := control.NewServer(b, nil)
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		if err := <-ended; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return path
}

// raw sends a request as it stands and returns the status and the body.
func raw(t *testing.T, socket, request string) (status, body string) {
	t.Helper()
	conn := dial(t, socket)
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.Status, strings.TrimSpace(string(text))
}

func dial(t *testing.T, socket string) net.Conn {
	t.Helper()
	conn, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return conn
}

// AGT-9, byte for byte.
func TestTheSocketSpeaksThisJSON(t *testing.T) {
	t.Parallel()
	socket := serve(t, newBackend())
	tests := []struct{ name, request, status, body string }{
		{"status", "GET /v1/status", "200 OK", `{"scope":"home","node":"","trust_domain":"","agent":{"pid":0,"since":"0001-01-01T00:00:00Z","uptime_ms":0,"build":""},"set":{"active":0,"mark":0,"retained":null},"workloads":null,"older_offers":0,"identity":null,"health":[]}`},
		{"sync", "POST /v1/sync", "200 OK", `{"result":"refused","reason":"replay","code":"FL1411","trigger":"request","held":42,"offered":41,"when":"2026-04-20T12:00:00Z","duration_ms":7}`},
		{"dry run", "POST /v1/sync?dry_run=1", "200 OK", `{"result":"refused","reason":"replay","code":"FL1411","trigger":"request","held":42,"offered":41,"when":"2026-04-20T12:00:00Z","duration_ms":7,"dry_run":true}`},
		{"inbounds", "GET /v1/inbounds", "200 OK", `{"spiffe://home/user/alice":{"kind":"socks5","addr":"127.0.0.1:1080"}}`},
		{"restart", "POST /v1/workloads/flor/restart", "202 Accepted", `{"result":"accepted","workload":"flor"}`},
		{"metrics", "GET /metrics", "200 OK", "x 1"},
		{"an unknown path", "GET /v2/status", "404 Not Found", `{"error":{"code":"FL3301","message":"there is no /v2/status here"}}`},
		{"a wrong method", "DELETE /v1/status", "405 Method Not Allowed", `{"error":{"code":"FL3302","message":"/v1/status is called with GET"}}`},
		{"a wrong parameter", "POST /v1/sync?dry_run=maybe", "400 Bad Request", `{"error":{"code":"FL3303","message":"dry_run=maybe: want 1 or nothing"}}`},
		{"another wrong parameter", "GET /v1/status?watch=x", "400 Bad Request", `{"error":{"code":"FL3303","message":"watch=x: want 1 or nothing"}}`},
		{"an unknown workload", "POST /v1/workloads/x/restart", "404 Not Found", `{"error":{"code":"FL3305","message":"\"x\": the active set has no such workload"}}`},
		{"a refusal with a code of its own", "POST /v1/workloads/unverified/restart", "500 Internal Server Error", `{"error":{"code":"FL2306","message":"FL2306 unverified: may not run"}}`},
		{"a failure", "POST /v1/workloads/broken/restart", "500 Internal Server Error", `{"error":{"code":"FL3308","message":"no idea"}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			status, body := raw(t, socket, tt.request+" HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
			if status != tt.status {
				t.Errorf("status %q, want %q", status, tt.status)
			}
			if diff := cmp.Diff(tt.body, body); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheClientGetsWhatTheBackendHas(t *testing.T) {
	t.Parallel()
	b := newBackend()
	c := control.NewClient(serve(t, b))
	ctx := t.Context()
	if doc, err := c.Status(ctx); err != nil || doc.Scope != "home" {
		t.Errorf("Status: %+v, %v", doc, err)
	}
	if m, err := c.Inbounds(ctx); err != nil || m["spiffe://home/user/alice"].Addr != "127.0.0.1:1080" {
		t.Errorf("Inbounds: %v, %v", m, err)
	}
	if text, err := c.Metrics(ctx); err != nil || string(text) != "x 1\n" {
		t.Errorf("Metrics: %q, %v", text, err)
	}
	if err := c.Restart(ctx, "flor"); err != nil {
		t.Errorf("Restart: %v", err)
	}
	var refusal *control.Error
	if err := c.Restart(ctx, "a/../b"); !errors.As(err, &refusal) || refusal.Code() != "FL3305" || refusal.Status != 404 {
		t.Errorf("Restart of a stranger: %v", err)
	}
	for _, set := range []io.Reader{nil, strings.NewReader("[{}]")} {
		if r, err := c.Sync(ctx, true, set); err != nil || r.Result != control.Refused || r.Offered != 41 {
			t.Errorf("Sync: %+v, %v", r, err)
		}
	}
	want := []control.SyncRequest{{DryRun: true}, {DryRun: true, Set: []byte("[{}]")}}
	if diff := cmp.Diff(want, b.requests()); diff != "" {
		t.Errorf("the backend was asked (-want +got):\n%s", diff)
	}
}

// A refusal has one code and one reason, wherever it comes from.
func TestRefusalsAreToldWithOneCodeAndOneReason(t *testing.T) {
	t.Parallel()
	c := control.NewClient(serve(t, newBackend()))
	for name, want := range map[string]string{
		"nobody":     `FL3305 unknown-workload: "nobody": the active set has no such workload`,
		"unverified": "FL2306 unverified: may not run",
		"broken":     "FL3308 internal: no idea",
	} {
		if err := c.Restart(t.Context(), name); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestASetDocumentOverTheLimitIsRefused(t *testing.T) {
	t.Parallel()
	b := newBackend()
	socket := serve(t, b)
	var refusal *control.Error
	_, err := control.NewClient(socket).Sync(t.Context(), false, io.LimitReader(zeros{}, control.MaxSetBody+1))
	if !errors.As(err, &refusal) || refusal.Code() != "FL3304" || !strings.Contains(err.Error(), "67108864") {
		t.Errorf("the client: %v", err)
	}
	length := fmt.Sprintf("Content-Length: %d\r\n\r\n", control.MaxSetBody+1)
	chunked := fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n", control.MaxSetBody+1)
	for _, head := range []string{length, chunked} {
		conn := dial(t, socket)
		if _, err := io.WriteString(conn, "POST /v1/sync HTTP/1.1\r\nHost: x\r\n"+head); err != nil {
			t.Fatal(err)
		}
		go func() { _, _ = io.Copy(conn, zeros{}) }() // until the server hangs up
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil || resp.StatusCode != http.StatusRequestEntityTooLarge {
			t.Errorf("the server: %v, %v", resp, err)
		}
	}
	if len(b.requests()) != 0 {
		t.Error("the backend was asked")
	}
}

// An empty body is none to the agent: sent, it would be answered with what the
// network has (AGT-6).
func TestAnEmptySetDocumentIsRefusedBeforeItIsSent(t *testing.T) {
	t.Parallel()
	b := newBackend()
	_, err := control.NewClient(serve(t, b)).Sync(t.Context(), false, strings.NewReader(""))
	var refusal *control.Error
	if !errors.As(err, &refusal) || refusal.Code() != "FL3309" {
		t.Errorf("got %v", err)
	}
	if len(b.requests()) != 0 {
		t.Error("the agent was asked")
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestAWatchYieldsAtOnceAndAtEachChange(t *testing.T) {
	t.Parallel()
	b := newBackend()
	c := control.NewClient(serve(t, b))
	var got []string
	for doc, err := range c.Watch(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, doc.Scope)
		if len(got) == 3 {
			break
		}
		b.set(fmt.Sprint(len(got)))
	}
	if diff := cmp.Diff([]string{"home", "1", "2"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// drawn is a backend that draws these documents, one after the other.
type drawn struct {
	*backend
	docs []control.StatusDoc
}

func (d drawn) WatchStatus(context.Context) iter.Seq[control.StatusDoc] { return slices.Values(d.docs) }

// What the agent draws anew without a change is not told: who watches would take
// it for one. That it is older now is none.
func TestAWatchDoesNotRepeatADocument(t *testing.T) {
	t.Parallel()
	doc := func(uptime int64, health ...string) control.StatusDoc {
		return control.StatusDoc{Scope: "home", Agent: control.Agent{PID: 7, UptimeMS: uptime}, Health: health}
	}
	b := drawn{newBackend(), []control.StatusDoc{doc(1), doc(2), doc(3, "app: down"), doc(4, "app: down"), doc(5)}}
	var got []int64
	for doc, err := range control.NewClient(serve(t, b)).Watch(t.Context()) {
		if err == nil {
			got = append(got, doc.Agent.UptimeMS)
		}
	}
	if diff := cmp.Diff([]int64{1, 3, 5}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAWatchEndsSilentlyWithItsContextAndLoudlyWithTheAgent(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "agent.sock")
	l, err := control.Listen(path, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	s := control.NewServer(newBackend(), nil)
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for _, err := range control.NewClient(path).Watch(ctx) {
		if err != nil {
			t.Errorf("an error when its context ended: %v", err)
		}
		cancel()
	}
	var down *control.NotRunning
	last := error(nil)
	for _, err := range control.NewClient(path).Watch(t.Context()) {
		if last = err; err == nil {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	if !errors.As(last, &down) || !strings.HasPrefix(last.Error(), "FL3306 ") || strings.Count(last.Error(), "FL3306") != 1 {
		t.Errorf("the last word when the agent ended: %v", last)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(path); err == nil {
		t.Error("the socket is still there")
	}
}

func TestACallThatWaitsIsAnsweredWhenTheAgentEnds(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "agent.sock")
	l, err := control.Listen(path, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	b := newBackend()
	b.came, b.blocked = make(chan struct{}, 1), make(chan struct{}) // blocked for ever
	s := control.NewServer(b, nil)
	ended := make(chan error, 2)
	go func() { ended <- s.Serve(l) }()
	go func() {
		_, err := control.NewClient(path).Sync(t.Context(), false, nil)
		ended <- err
	}()
	select {
	case <-b.came:
	case err := <-ended:
		t.Fatalf("before the agent was asked: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	for range 2 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// AGT-9: a slow or stuck client delays nobody.
func TestStuckClientsDelayNobody(t *testing.T) {
	t.Parallel()
	b := newBackend()
	b.doc.Node = strings.Repeat("x", 400<<10) // more than a socket holds
	b.blocked = make(chan struct{})
	defer close(b.blocked)
	socket := serve(t, b)
	for _, request := range []string{
		"GET /v1/status?watch=1 HTTP/1.1\r\nHost: x\r\n\r\n",                // never reads
		"POST /v1/sync HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{", // never ends its body
		"POST /v1/sync HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n",    // waits for a sync
		"GET /v1/st", // never ends its header
	} {
		if _, err := io.WriteString(dial(t, socket), request); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for range 3 {
		b.set("changed")
		if _, err := control.NewClient(socket).Status(ctx); err != nil {
			t.Fatal(err)
		}
	}
}

func TestNobodyThereIsNotRunning(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l, err := net.Listen("unix", filepath.Join(dir, "stale"))
	if err != nil {
		t.Fatal(err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	l.Close()
	for _, name := range []string{"absent", "stale"} {
		_, err := control.NewClient(filepath.Join(dir, name)).Status(t.Context())
		var down *control.NotRunning
		if !errors.As(err, &down) || down.Code() != "FL3306" || !strings.Contains(err.Error(), "flor agent run") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAnswersThatAreNotTheAgentsAreToldAsSuch(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		status int
		body   string
	}{
		{"HTML", 200, "<html>welcome</html>"},
		{"an error page", 502, "<html>bad gateway</html>"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "s")
			l, err := net.Listen("unix", path)
			if err != nil {
				t.Fatal(err)
			}
			s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(tt.status)
				_, _ = io.WriteString(w, tt.body)
			})}
			go s.Serve(l)
			defer s.Close()
			_, err = control.NewClient(path).Status(t.Context())
			var refusal *control.Error
			if !errors.As(err, &refusal) || refusal.Code() != "FL3307" || refusal.Status != tt.status {
				t.Errorf("got %v", err)
			}
		})
	}
}

// SET-1, whatever the umask: it is widened where that took something away.
func TestTheSocketHasItsPermissionsAndAPathOfItsOwn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "agent.sock")
	l, err := control.Listen(path, 0o660)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o660 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if second, err := control.Listen(path, 0o660); err == nil {
		second.Close()
		t.Error("it listens twice on one path")
	}
	long := filepath.Join(dir, strings.Repeat("x", 200))
	if _, err := control.Listen(long, 0o660); err == nil || !strings.Contains(err.Error(), "the limit is") || !strings.Contains(err.Error(), long) {
		t.Errorf("a path over the limit: %v", err)
	}
}
