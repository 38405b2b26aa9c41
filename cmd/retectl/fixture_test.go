package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/florete/flor/compiler"
	"github.com/florete/flor/relay"
	"github.com/florete/flor/supervise/control"
)

// startCoordinator serves the publish listener of a fresh coordinator, and puts
// its URL into $COORDINATOR:
//
//	coordinator [html|full]
func startCoordinator(ts *testscript.TestScript, neg bool, args []string) {
	handler := publishHandler(ts, args)
	server := httptest.NewServer(handler)
	ts.Defer(server.Close)
	ts.Setenv("COORDINATOR", server.URL)
}

func publishHandler(ts *testscript.TestScript, args []string) http.Handler {
	if len(args) == 1 && args[0] == "html" {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<html>Please log in</html>")
		})
	}
	r, err := relay.New(context.Background(), new(relay.Memory), relay.Options{})
	ts.Check(err)
	return r.PublishHandler()
}

// startAgent serves the control socket of an agent with one SOCKS5 inbound for
// each principal, all of which lead to $COORDINATOR:
//
//	agent <scope> <principal>...
func startAgent(ts *testscript.TestScript, neg bool, args []string) {
	proxy := newProxy(ts)
	ts.Defer(proxy.close)
	dir := filepath.Join(shortDir(ts), args[0])
	ts.Check(os.MkdirAll(dir, 0o700))
	ts.Check(os.MkdirAll(filepath.Join(ts.Getenv("FLOR_STATE_HOME"), "retes", args[0]), 0o700))
	listener, err := control.Listen(filepath.Join(dir, agentSocket), 0o600)
	ts.Check(err)
	backend := &scriptedAgent{inbounds: map[string]control.Inbound{}, docs: scriptedStatus(ts, args[0])}
	for _, principal := range args[1:] {
		backend.inbounds[principal] = control.Inbound{Kind: "socks5", Addr: proxy.addr()}
	}
	server := control.NewServer(backend, nil)
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(listener)
	}()
	ts.Defer(func() { server.Close(); <-served })
}

// shortDir is the runtime base of the script: socket paths must be short.
func shortDir(ts *testscript.TestScript) string {
	if dir := ts.Getenv("FLOR_RUNTIME_DIR"); dir != "" {
		return dir
	}
	dir, err := os.MkdirTemp("/tmp", "retectl")
	ts.Check(err)
	ts.Defer(func() { os.RemoveAll(dir) })
	ts.Setenv("FLOR_RUNTIME_DIR", dir)
	return dir
}

// scriptedAgent is an agent that knows its inbounds, and says of its set what
// the script says.
type scriptedAgent struct {
	control.Backend
	inbounds map[string]control.Inbound
	docs     []control.StatusDoc
}

func (b *scriptedAgent) Inbounds() map[string]control.Inbound { return b.inbounds }

func (b *scriptedAgent) Metrics() http.Handler { return http.NotFoundHandler() }

func (b *scriptedAgent) Status() control.StatusDoc { return b.docs[0] }

// WatchStatus says one thing after the other, and then nothing more.
func (b *scriptedAgent) WatchStatus(ctx context.Context) iter.Seq[control.StatusDoc] {
	return func(yield func(control.StatusDoc) bool) {
		for _, doc := range b.docs {
			if !yield(doc) {
				return
			}
		}
		<-ctx.Done()
	}
}

// scriptedStatus reads $AGENT_STATUS, "<node> <step>...": each step is an active
// version, or pending:N, refused:N, failed:N for what becomes of version N.
func scriptedStatus(ts *testscript.TestScript, scope string) []control.StatusDoc {
	words := strings.Fields(ts.Getenv("AGENT_STATUS"))
	doc := control.StatusDoc{Scope: scope, TrustDomain: scope}
	if len(words) == 0 {
		return []control.StatusDoc{doc}
	}
	doc.Node = words[0]
	var docs []control.StatusDoc
	for _, step := range words[1:] {
		what, number, found := strings.Cut(step, ":")
		if !found {
			what, number = "active", step
		}
		version, err := strconv.ParseUint(number, 10, 64)
		ts.Check(err)
		doc = afterStep(doc, what, version)
		docs = append(docs, doc)
	}
	return docs
}

func afterStep(doc control.StatusDoc, what string, version uint64) control.StatusDoc {
	doc.Set.Pending = 0
	switch what {
	case "active":
		doc.Set.Active = version
	case "pending":
		doc.Set.Active, doc.Set.Pending = version, version
	default:
		doc.LastSync = &control.SyncResult{
			Result: control.Result(what), Offered: version,
			Code: "FL1106", Reason: "signer-retired", Message: "the words of the agent",
		}
	}
	return doc
}

// proxy is a SOCKS5 proxy that takes whatever is asked for to one address.
type proxy struct {
	listener net.Listener
	target   string
	clients  sync.WaitGroup
}

func newProxy(ts *testscript.TestScript) *proxy {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	p := &proxy{listener: listener, target: ts.Getenv("COORDINATOR")[len("http://"):]}
	p.clients.Go(p.accept)
	return p
}

func (p *proxy) addr() string { return p.listener.Addr().String() }

func (p *proxy) close() {
	p.listener.Close()
	p.clients.Wait()
}

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.clients.Go(func() { p.serve(client) })
	}
}

// serve reads greeting and request, both of which are complete in one read of
// their announced length, and then carries bytes.
func (p *proxy) serve(client net.Conn) {
	defer client.Close()
	greeting := make([]byte, 2)
	if _, err := io.ReadFull(client, greeting); err != nil {
		return
	}
	if _, err := io.CopyN(io.Discard, client, int64(greeting[1])); err != nil {
		return
	}
	client.Write([]byte{5, 0})
	request := make([]byte, 5)
	if _, err := io.ReadFull(client, request); err != nil {
		return
	}
	if _, err := io.CopyN(io.Discard, client, int64(request[4])+int64(binary.Size(uint16(0)))); err != nil {
		return
	}
	upstream, err := net.Dial("tcp", p.target)
	if err != nil {
		return
	}
	defer upstream.Close()
	client.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
	var back sync.WaitGroup
	back.Go(func() {
		io.Copy(client, upstream)
		client.Close()
	})
	io.Copy(upstream, client)
	upstream.Close()
	back.Wait()
}

// checkMode compares the permissions of files: mode 600 <file>...
func checkMode(ts *testscript.TestScript, neg bool, args []string) {
	for _, name := range args[1:] {
		info, err := os.Stat(ts.MkAbs(name))
		ts.Check(err)
		if got := fmt.Sprintf("%o", info.Mode().Perm()); got != args[0] {
			ts.Fatalf("%s has mode %s, want %s", name, got, args[0])
		}
	}
}

// checkSARIF holds a log against the schema of SARIF 2.1.0: sarif <file>
func checkSARIF(ts *testscript.TestScript, neg bool, args []string) {
	log, err := sarif.FromString(ts.ReadFile(args[0]), sarif.WithStrictValidation())
	ts.Check(err)
	ts.Check(log.Validate())
}

// runHeld runs a command while it holds the repository, and says whether the
// command named it as the holder: held <command>...
func runHeld() {
	doc, err := compiler.OpenDocument(".")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(exitCould)
	}
	defer doc.Close()
	said, err := exec.Command(os.Args[1], os.Args[2:]...).CombinedOutput()
	named := bytes.Contains(said, fmt.Appendf(nil, "process %d is", os.Getpid()))
	fmt.Printf("%v, the holder is named: %v\n%s", err, named, said)
}

// alterFile replaces text in a file: alter <file> <old> <new>
func alterFile(ts *testscript.TestScript, neg bool, args []string) {
	name := ts.MkAbs(args[0])
	text, err := os.ReadFile(name)
	ts.Check(err)
	if !bytes.Contains(text, []byte(args[1])) {
		ts.Fatalf("%s does not contain %q", args[0], args[1])
	}
	ts.Check(os.WriteFile(name, bytes.ReplaceAll(text, []byte(args[1]), []byte(args[2])), 0o644))
}
