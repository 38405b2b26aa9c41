package agent

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spiffe/go-spiffe/v2/spiffeid"

	"github.com/florete/flor/envelope"
	"github.com/florete/flor/envelope/envelopetest"
	"github.com/florete/flor/envelope/schema"
	"github.com/florete/flor/store"
	"github.com/florete/flor/store/durable"
	"github.com/florete/flor/supervise"
	"github.com/florete/flor/supervise/control"
)

const patience = 20 * time.Second // only what hangs takes so long

// world is a rete with one node, alpha, whose agent is under test, and a
// coordinator that says what the test wants.
type world struct {
	t         *testing.T
	authority *envelopetest.Authority
	signer    *envelopetest.Identity
	layout    store.Layout
	scope     string
	relay     *relay
	socks     string
	log       *logDaemon
	logTo     string

	clock                             func() time.Time
	confirmWithin, stall, fetchWithin time.Duration
	// liveness is the supervisor's window, 100 ms unless set: longer where a
	// test needs a process to end, or to serve, within it on a busy machine.
	liveness time.Duration

	agent *Agent
	stop  func() error
}

func parseBehaviour(a envelope.Artifact) (behaviour, error) {
	var b behaviour
	err := json.Unmarshal(a.Payload(), &b)
	return b, err
}

// newWorld makes a rete whose node is enrolled with version 1 of these
// workloads. The agent does not run yet.
func newWorld(t *testing.T, members ...envelopetest.Member) *world {
	t.Helper()
	w := unenrolledWorld(t)
	w.enrol(w.set(1, members...))
	return w
}

func unenrolledWorld(t *testing.T) *world {
	t.Helper()
	base := shortDir(t)
	w := &world{
		t: t, authority: envelopetest.NewAuthority("demo"), scope: "demo",
		relay: newRelay(t), log: newLogDaemon(t, base),
		layout: layoutBelow(t, base),
	}
	w.signer = w.authority.Signer("primary")
	w.socks = socksTo(t, w.relay.addr())
	w.logTo = "unix:" + w.log.path
	w.layout.Lib = libDir(t, "flor-vertex", "flor-coordinator", "tenant")
	return w
}

// shortDir makes a directory whose path leaves room for socket names.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "fl")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func layoutBelow(t *testing.T, base string) store.Layout {
	t.Helper()
	host := store.Host{
		GOOS: "linux", UID: os.Getuid(), Executable: filepath.Join(base, "bin/flor"), TempDir: base, Mode: store.User,
		Getenv: func(name string) string {
			return map[string]string{"FLOR_STATE_HOME": base + "/state", "FLOR_RUNTIME_DIR": base + "/run", "FLOR_CONFIG_HOME": base + "/config"}[name]
		},
	}
	layout, err := store.Resolve(host)
	if err != nil {
		t.Fatal(err)
	}
	return layout
}

// libDir makes a lib directory in which this test binary is each program.
func libDir(t *testing.T, programs ...string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, name := range programs {
		if err := os.Symlink(self, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// member is one workload, by default run by flor-vertex.
func workloadOf(name string, b behaviour) envelopetest.Member {
	if b.SchemaVersion == "" {
		b.SchemaVersion = "1.0"
	}
	return envelopetest.Member{Name: name, Payload: b}
}

// programOf says which program runs a workload of these tests.
func programOf(name string) string {
	switch name {
	case "coordinator":
		return "flor-coordinator"
	case "app":
		return "tenant"
	case "stranger":
		return "no-such-program"
	}
	return "flor-vertex"
}

// set signs a set of alpha.
func (w *world) set(version uint64, members ...envelopetest.Member) [][]byte {
	return w.setOf("alpha", version, nil, members...)
}

// setOf signs a set with a root that change has had its hand on.
func (w *world) setOf(node string, version uint64, change func(*schema.Agent), members ...envelopetest.Member) [][]byte {
	var names []string
	texts := [][]byte{nil}
	for _, m := range members {
		names = append(names, m.Name)
		texts = append(texts, w.signer.Sign(node, m.Name, version, m.Payload))
	}
	root := w.authority.AgentPayload(node, envelopetest.Block(w.signer), names...)
	for i := range root.Workloads {
		root.Workloads[i].Run = []string{programOf(root.Workloads[i].Name)}
	}
	root.Inbounds[0].Via.Addr = w.socks
	root.Sync.PollInterval = "1s"
	if change != nil {
		change(root)
	}
	texts[0] = w.signer.Sign(node, envelope.AgentName, version, root)
	return texts
}

func (w *world) enrol(texts [][]byte) {
	w.t.Helper()
	set, err := schema.VerifySet(envelope.Held{Anchor: w.authority.Anchor()}, "alpha", texts, time.Now())
	if err != nil {
		w.t.Fatal(err)
	}
	lock, err := store.LockForEnrolment(w.layout.State, w.scope, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	identity := []durable.Entry{
		{Name: "rete.json", Mode: 0o600, Data: []byte(`{"trust_domain":"demo"}` + "\n")},
		{Name: "ca.crt", Mode: 0o600, Data: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: w.authority.CA.Raw})},
		{Name: "certs", Mode: fs.ModeDir | 0o700},
		{Name: "certs/alpha.crt", Mode: 0o600, Data: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: w.nodeCert().Raw})},
		{Name: "certs/alpha.key", Mode: 0o600}, // the agent reads no key (AGT-2)
	}
	err = store.Create(w.layout.State, w.scope, store.Enrolment{Identity: identity, Set: set})
	if err := errors.Join(err, lock.Release()); err != nil {
		w.t.Fatal(err)
	}
}

// nodeCert is a certificate of the node, valid from an hour ago for 90 days.
func (w *world) nodeCert() *x509.Certificate {
	id := spiffeid.RequireFromSegments(w.authority.TrustDomain, "node", "alpha")
	return w.authority.Issue(id, envelopetest.Valid(time.Now().Add(-time.Hour), time.Now().AddDate(0, 0, 90))).Cert
}

func (w *world) options() Options {
	return Options{
		Layout: w.layout, Scope: w.scope, Build: "test", LogDestination: w.logTo, ConfirmWithin: w.confirmWithin,
		Clock: w.clock, Stall: w.stall, FetchWithin: w.fetchWithin,
		Policy: supervise.Policy{
			Liveness: cmp.Or(w.liveness, 100*time.Millisecond), MinDelay: 10 * time.Millisecond, MaxDelay: 50 * time.Millisecond,
			StopGrace: 5 * time.Second,
		},
	}
}

// start runs the agent until the test ends, or stop is called.
func (w *world) start() *control.Client {
	w.t.Helper()
	agent, err := New(w.options())
	if err != nil {
		w.t.Fatal(err)
	}
	w.agent = agent
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- agent.Run(ctx) }()
	w.stop = sync.OnceValue(func() error { cancel(); return <-ended })
	w.t.Cleanup(func() {
		if err := w.stop(); err != nil {
			w.t.Errorf("agent: %v", err)
		}
		if w.t.Failed() {
			w.t.Logf("log:\n%s", w.log.text())
		}
	})
	return control.NewClient(filepath.Join(w.layout.RuntimeBase, w.scope, "agent.sock"))
}

// until follows the agent's status until it is as wanted.
func (w *world) until(c *control.Client, what string, wanted func(control.StatusDoc) bool) control.StatusDoc {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	var last control.StatusDoc
	for ctx.Err() == nil {
		for doc, err := range c.Watch(ctx) {
			if err != nil {
				break // the socket is not there yet
			}
			if last = doc; wanted(doc) {
				return doc
			}
		}
	}
	text, _ := json.MarshalIndent(last, "", " ")
	w.t.Fatalf("not seen: %s; last status: %s", what, text)
	return last
}

// settled tells that everything is up and confirmed.
func settled(doc control.StatusDoc) bool {
	return doc.Set.Pending == 0 && len(doc.Workloads) > 0 &&
		!slices.ContainsFunc(doc.Workloads, func(l control.Workload) bool { return l.State != "up" })
}

// sync asks for one sync.
func (w *world) sync(c *control.Client, dryRun bool, doc io.Reader) control.SyncResult {
	w.t.Helper()
	result, err := c.Sync(w.t.Context(), dryRun, doc)
	if err != nil {
		w.t.Fatal(err)
	}
	return result
}

func document(texts [][]byte) []byte { return envelope.AppendSet(nil, texts...) }

// pids maps workloads to their processes.
func pids(doc control.StatusDoc) map[string]int {
	m := map[string]int{}
	for _, l := range doc.Workloads {
		m[l.Name] = l.PID
	}
	return m
}

// relay is a coordinator that says what it is told to.
type relay struct {
	server *httptest.Server

	mu       sync.Mutex
	version  uint64
	doc      []byte
	status   int // in place of a set; 0: none
	html     bool
	instead  http.HandlerFunc // answers in place of all this; nil: nothing does
	waits    bool
	fetches  int
	have     uint64        // of the last fetch
	stubborn bool          // sends the set to whoever has it already
	broken   int           // watches that the node ended
	open     int           // watches
	held     chan struct{} // answers wait for its close; nil: they do not
	changed  chan struct{}
}

func newRelay(t *testing.T) *relay {
	r := &relay{changed: make(chan struct{}), status: http.StatusServiceUnavailable}
	r.server = httptest.NewServer(r)
	t.Cleanup(r.server.Close)
	return r
}

func (r *relay) addr() string { return r.server.Listener.Addr().String() }

// tell changes what the relay says.
func (r *relay) tell(change func(*relay)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(r)
	close(r.changed)
	r.changed = make(chan struct{})
}

func (r *relay) publish(version uint64, texts [][]byte) {
	r.tell(func(r *relay) { r.version, r.doc, r.status, r.html = version, document(texts), 0, false })
}

// hold makes answers wait until release is called.
func (r *relay) hold() (release func()) {
	held := make(chan struct{})
	r.tell(func(r *relay) { r.held = held })
	return func() { r.tell(func(r *relay) { r.held = nil }); close(held) }
}

// until waits for the relay to have seen something.
func (r *relay) until(t *testing.T, what string, seen func(*relay) bool) {
	t.Helper()
	timeout := time.After(patience)
	for {
		r.mu.Lock()
		changed, enough := r.changed, seen(r)
		r.mu.Unlock()
		if enough {
			return
		}
		select {
		case <-changed:
		case <-timeout:
			t.Fatalf("the relay has not seen %s", what)
		}
	}
}

// untilFetched waits for the relay to have been asked n times.
func (r *relay) untilFetched(t *testing.T, n int) {
	t.Helper()
	r.until(t, strconv.Itoa(n)+" fetches", func(r *relay) bool { return r.fetches >= n })
}

func (r *relay) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.fetches
}

func (r *relay) ServeHTTP(rw http.ResponseWriter, req *http.Request) {
	var held chan struct{}
	have, _ := strconv.ParseUint(req.URL.Query().Get("have"), 10, 64)
	var instead http.HandlerFunc
	r.tell(func(r *relay) { r.fetches, r.have, held, instead = r.fetches+1, have, r.held, r.instead })
	if held != nil {
		<-held
	}
	if instead != nil {
		instead(rw, req)
		return
	}
	wait, _ := strconv.Atoi(req.URL.Query().Get("wait"))
	broken := 0
	if wait > 0 {
		r.tell(func(r *relay) { r.open++ })
		defer r.tell(func(r *relay) { r.open, r.broken = r.open-1, r.broken+broken })
	}
	deadline := time.After(time.Duration(wait) * time.Second)
	for {
		r.mu.Lock()
		empty := r.status != 0 || have == r.version && !r.stubborn
		changed, holds := r.changed, r.waits && wait > 0
		if !empty || !holds {
			r.answer(rw, have)
			r.mu.Unlock()
			return
		}
		r.mu.Unlock()
		select {
		case <-changed:
		case <-deadline:
			wait = 0
		case <-req.Context().Done():
			broken = 1
			return
		}
	}
}

// answer is called with the lock held.
func (r *relay) answer(rw http.ResponseWriter, have uint64) {
	if r.waits {
		rw.Header().Set("Flor-Wait", "60")
	}
	rw.Header().Set("Content-Type", "application/json")
	switch {
	case r.html:
		rw.Header().Set("Content-Type", "text/html")
		io.WriteString(rw, "<html>welcome</html>")
	case r.status == http.StatusNotFound:
		rw.WriteHeader(r.status)
		io.WriteString(rw, `{"error":"unknown_node"}`)
	case r.status == http.StatusServiceUnavailable:
		rw.Header().Set("Retry-After", "1")
		rw.WriteHeader(r.status)
		io.WriteString(rw, `{"error":"not_published"}`)
	case have == r.version && !r.stubborn:
		rw.WriteHeader(http.StatusNotModified)
	default:
		rw.Header().Set("Flor-Set-Version", strconv.FormatUint(r.version, 10))
		rw.Write(r.doc)
	}
}

// socksTo runs a SOCKS5 server in the vertex's place: whatever name is asked
// for, it connects to target.
func socksTo(t *testing.T, target string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	serveSOCKSOn(t, l, target)
	return l.Addr().String()
}

func serveSOCKSOn(t *testing.T, l net.Listener, target string) {
	t.Helper()
	var served sync.WaitGroup
	var mu sync.Mutex
	var open []net.Conn
	served.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open = append(open, c)
			mu.Unlock()
			served.Go(func() { defer c.Close(); serveSOCKS(c, target) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		mu.Lock()
		for _, c := range open {
			c.Close()
		}
		mu.Unlock()
		served.Wait()
	})
}

func serveSOCKS(c net.Conn, target string) {
	r := bufio.NewReader(c)
	head := make([]byte, 2)
	if _, err := io.ReadFull(r, head); err != nil {
		return
	}
	r.Discard(int(head[1]))
	c.Write([]byte{5, 0})
	request := make([]byte, 5)
	if _, err := io.ReadFull(r, request); err != nil {
		return
	}
	r.Discard(int(request[4]) + 2)
	to, err := net.Dial("tcp", target)
	if err != nil {
		c.Write([]byte{5, 5, 0, 1, 0, 0, 0, 0, 0, 0})
		return
	}
	defer to.Close()
	c.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
	var both sync.WaitGroup
	both.Go(func() { io.Copy(to, r); to.(*net.TCPConn).CloseWrite() })
	io.Copy(c, to)
	c.Close()
	both.Wait()
}

// logDaemon is the syslog daemon of a test's machine.
type logDaemon struct {
	path string
	came chan struct{} // has room for one token, put there with each record
	mu   sync.Mutex
	buf  bytes.Buffer
}

func newLogDaemon(t *testing.T, dir string) *logDaemon {
	t.Helper()
	d := &logDaemon{path: filepath.Join(dir, "log"), came: make(chan struct{}, 1)}
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: d.path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	var reading sync.WaitGroup
	reading.Go(func() {
		line := make([]byte, 64<<10)
		for {
			n, err := conn.Read(line)
			if err != nil {
				return
			}
			d.mu.Lock()
			fmt.Fprintf(&d.buf, "%s\n", bytes.TrimSpace(line[:n]))
			d.mu.Unlock()
			select {
			case d.came <- struct{}{}:
			default:
			}
		}
	})
	t.Cleanup(func() { conn.Close(); reading.Wait() })
	return d
}

func (d *logDaemon) text() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.buf.String()
}

// await waits for a record that has these words.
func (d *logDaemon) await(t *testing.T, words string) {
	t.Helper()
	timeout := time.After(patience)
	for d.lines(words) == 0 {
		select {
		case <-d.came:
		case <-timeout:
			t.Fatalf("%q was not logged:\n%s", words, d.text())
		}
	}
}

// lines tells how many records have these words.
func (d *logDaemon) lines(words string) int { return strings.Count(d.text(), words) }
