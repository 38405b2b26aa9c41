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
	"path/filepath"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"

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
	backend := &inboundsOnly{inbounds: map[string]control.Inbound{}}
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

// inboundsOnly is an agent that knows its inbounds and nothing else.
type inboundsOnly struct {
	control.Backend
	inbounds map[string]control.Inbound
}

func (b *inboundsOnly) Inbounds() map[string]control.Inbound { return b.inbounds }

func (b *inboundsOnly) Metrics() http.Handler { return http.NotFoundHandler() }

func (b *inboundsOnly) WatchStatus(context.Context) iter.Seq[control.StatusDoc] {
	return func(func(control.StatusDoc) bool) {}
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
