package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spiffe/go-spiffe/v2/spiffeid"

	"github.com/florete/flor/conformance/lab/loopback"
	"github.com/florete/flor/envelope/schema"
	"github.com/florete/flor/supervise/program"
)

func named(name string) spiffeid.ID {
	return spiffeid.RequireFromPath(authority.TrustDomain, "/service/"+name)
}

// startPair starts alice's vertex and, on another one, services by name with
// the address of each. All of them are known to alice's vertex; "gated" does not
// let her in, and the vertex of "away" is not there.
func startPair(t *testing.T, services map[string]string) (socks string) {
	t.Helper()
	near, far := newPlace(t), newPlace(t)
	near.enrol(alice)
	address, socks := loopback.Address(t), loopback.Address(t)
	nearPayload, farPayload := bare(""), bare(address)
	nearPayload.Workloads = []schema.VertexWorkload{{SPIFFEID: alice.String(), IO: []schema.IO{{Kind: "socks5", Listen: socks}}}}
	nearPayload.Links = []schema.LinkList{{Type: "list"}}
	allow := []string{alice.String()}
	for name, upstream := range services {
		id := named(name)
		far.enrol(id)
		link := schema.Link{Name: name, Peer: id.String(), Via: schema.LinkVia{Type: "udp", Adapter: "wan", Addr: address}}
		if name == "away" {
			link.Via.Addr = loopback.Address(t)
		}
		nearPayload.Links[0].Members = append(nearPayload.Links[0].Members, link)
		nearPayload.Egress = append(nearPayload.Egress, schema.Rule{Target: id.String(), Allow: allow})
		farPayload.Workloads = append(farPayload.Workloads, schema.VertexWorkload{SPIFFEID: id.String(), IO: []schema.IO{{Kind: "tcp", Upstream: upstream}}})
		if name != "gated" {
			farPayload.Ingress = append(farPayload.Ingress, schema.Rule{Target: id.String(), Allow: allow})
		}
	}
	for p, payload := range map[*place]*schema.Vertex{near: nearPayload, far: farPayload} {
		s := p.start(p.artifact("a.json", payload))
		s.await(t, "the vertex to serve", func(r program.Readiness) bool { return r.Ready && len(r.Waiting) == 0 })
	}
	return socks
}

// bare is a payload without workloads.
func bare(listen string) *schema.Vertex {
	return &schema.Vertex{
		SchemaVersion: "1.0", Kind: "link",
		TransportEndpoint: schema.TransportEndpoint{Type: "quic"},
		ConnectionManager: schema.ConnectionManager{Adapters: []schema.Adapter{{Name: "wan", Type: "udp", Listen: listen}}},
		Workloads:         []schema.VertexWorkload{}, Links: []schema.LinkList{},
		Ingress: []schema.Rule{}, Egress: []schema.Rule{}, Revoked: []string{},
	}
}

// service accepts connections and serves each.
func service(t *testing.T, serve func(*net.TCPConn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go serve(c.(*net.TCPConn))
		}
	}()
	return l.Addr().String()
}

// half answers a request with a part of what it announces, and then ends.
func half(end func(*net.TCPConn)) func(*net.TCPConn) {
	return func(c *net.TCPConn) {
		_, _ = c.Read(make([]byte, 4096))
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhalf")
		end(c)
	}
}

// VTX-7, VTX-10: what a person sees who uses curl with a vertex: its exit code
// and the words of its message that tell one case from another.
func TestWhatCurlSays(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip(err)
	}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, "hello") }))
	t.Cleanup(web.Close)
	socks := startPair(t, map[string]string{
		"web": web.Listener.Addr().String(), "gated": web.Listener.Addr().String(), "away": web.Listener.Addr().String(),
		"stopped": loopback.Address(t),
		"breaks":  service(t, half(func(c *net.TCPConn) { _, _ = c.SetLinger(0), c.Close() })),
		"ends":    service(t, half(func(c *net.TCPConn) { _ = c.Close() })),
	})
	for _, tt := range []struct {
		name, url string
		exit      int
		says      string
	}{
		{"a service that is allowed", "http://web.demo.rete/", 0, "hello"},
		{"the same by another spelling and port", "http://WEB.Demo.RETE.:8443/", 0, "hello"},
		{"one whose list does not have the caller", "http://gated.demo.rete/", 97, "(2)"},
		{"a name that nobody has", "http://nobody.demo.rete/", 97, "(4)"},
		{"a name of somewhere else", "http://example.com/", 97, "(4)"},
		{"an IPv4 address", "http://10.0.0.1/", 97, "(8)"},
		{"an IPv6 address", "http://[fd00::1]/", 97, "(8)"},
		{"a service that is stopped", "http://stopped.demo.rete/", 97, "(5)"},
		{"a machine that is away", "http://away.demo.rete/", 97, "(4)"},
		{"a service that breaks off", "http://breaks.demo.rete/", 56, "reset by peer"},
		{"a service that ends too early", "http://ends.demo.rete/", 18, "transfer closed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command("curl", "--silent", "--show-error", "--max-time", "30", "--socks5-hostname", socks, tt.url)
			code, said := exits(t, cmd)
			t.Logf("exit %d: %s", code, strings.TrimSpace(said))
			if code != tt.exit || !strings.Contains(said, tt.says) {
				t.Errorf("curl %s: exit %d, want %d and %q:\n%s", tt.url, code, tt.exit, tt.says, said)
			}
		})
	}
}

// VTX-7: "printf question | nc -N": a client that ends its direction gets the
// whole answer of a service that waits for the end of the question.
func TestHalfClosedRequestGetsTheWholeAnswer(t *testing.T) {
	t.Parallel()
	const size = 5 << 20
	socks := startPair(t, map[string]string{"web": service(t, func(c *net.TCPConn) {
		question, err := io.ReadAll(c)
		if err == nil {
			_, _ = c.Write(append([]byte(strconv.Itoa(len(question))+"\n"), make([]byte, size)...))
		}
		_ = c.Close()
	})})
	c := connect(t, socks)
	_ = c.SetDeadline(time.Now().Add(patience))
	_, err := io.WriteString(c, strings.Repeat("q", 1000))
	if err := errors.Join(err, c.(*net.TCPConn).CloseWrite()); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(c)
	if err != nil || len(answer) != size+5 || !strings.HasPrefix(string(answer), "1000\n") {
		t.Errorf("an answer of %d bytes (%v), want %d", len(answer), err, size+5)
	}
}
