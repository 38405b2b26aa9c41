package client_test

import (
	"fmt"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/florete/flor/relay/client"
)

// socksProxy answers each CONNECT with one reply, and after reply 0 carries the
// connection to target. It gives its address and the names it was asked for.
func socksProxy(t *testing.T, reply byte, target string) (address string, asked func() []string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var names []string
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			running.Go(func() {
				defer conn.Close()
				name, err := readConnect(conn)
				if err != nil {
					t.Errorf("SOCKS request: %v", err)
					return
				}
				mu.Lock()
				names = append(names, name)
				mu.Unlock()
				if _, err := conn.Write([]byte{5, reply, 0, 1, 0, 0, 0, 0, 0, 0}); err == nil && reply == 0 {
					carry(conn, target)
				}
			})
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		running.Wait()
	})
	return listener.Addr().String(), func() []string {
		mu.Lock()
		defer mu.Unlock()
		return names
	}
}

func readConnect(conn net.Conn) (string, error) {
	hello := make([]byte, 2)
	if _, err := io.ReadFull(conn, hello); err != nil {
		return "", err
	}
	if _, err := io.CopyN(io.Discard, conn, int64(hello[1])); err != nil {
		return "", err
	}
	if _, err := conn.Write([]byte{5, 0}); err != nil {
		return "", err
	}
	head := make([]byte, 5)
	if _, err := io.ReadFull(conn, head); err != nil {
		return "", err
	}
	if head[1] != 1 || head[3] != 3 {
		return "", fmt.Errorf("command %d, address type %d: want CONNECT by name", head[1], head[3])
	}
	rest := make([]byte, int(head[4])+2)
	if _, err := io.ReadFull(conn, rest); err != nil {
		return "", err
	}
	port := int(rest[len(rest)-2])<<8 | int(rest[len(rest)-1])
	return fmt.Sprintf("%s:%d", rest[:len(rest)-2], port), nil
}

func carry(conn net.Conn, target string) {
	onward, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	var back sync.WaitGroup
	back.Go(func() {
		_, _ = io.Copy(conn, onward)
		_ = conn.Close()
	})
	_, _ = io.Copy(onward, conn)
	_ = onward.Close()
	back.Wait()
}

// CRD-9, AGT-4.1: through a proxy, which resolves the name, on port 80.
func TestFetchThroughAProxy(t *testing.T) {
	t.Parallel()
	coordinator := answering(t, canned(200, jsonType, setDoc))
	proxy, asked := socksProxy(t, 0, coordinator[len("http://"):])
	c := newClient(t, client.Options{BaseURL: "http://coordinator.service.my-rete", SOCKS5: proxy})
	reply, err := c.Fetch(t.Context(), "alpha", 0, 0)
	if err != nil || reply.Status != client.Set {
		t.Fatalf("%+v, %v", reply, err)
	}
	if got := asked(); len(got) != 1 || got[0] != "coordinator.service.my-rete:80" {
		t.Errorf("the proxy was asked for %q", got)
	}
	c.Close() // the proxy waits for its connections
}

// CRD-9: what a proxy refuses with is told apart, with the next step.
func TestTheProxysRefusalIsExplained(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reply     byte
		transient bool
		says      []string
	}{
		"general failure":      {1, true, []string{"failed", "reply 1", "log of the vertex"}},
		"denied by the rules":  {2, false, []string{"denied", "access list", "check its role"}},
		"network unreachable":  {3, true, []string{"unreachable"}},
		"host unreachable":     {4, true, []string{"unreachable", "not known or not up"}},
		"connection refused":   {5, true, []string{"refused", "check that the coordinator runs"}},
		"time to live expired": {6, true, []string{"timed-out", "in time"}},
		"a reply of tomorrow":  {200, true, []string{"failed", "reply 200"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			proxy, _ := socksProxy(t, c.reply, "")
			_, err := newClient(t, client.Options{BaseURL: "http://coordinator.service.my-rete", SOCKS5: proxy}).Fetch(t.Context(), "alpha", 0, 0)
			checkFault(t, err, fault{"*client.ProxyRefused", "FL3202", c.transient}, append(c.says, proxy, "coordinator.service.my-rete:80"))
		})
	}
}

// CRD-9: a port that speaks something else is no refusal of a proxy.
func TestWhatIsNoProxyIsUnreachable(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var web sync.WaitGroup
	web.Go(func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		_, _ = io.WriteString(conn, "HTTP/1.1 400 Bad Request\r\n\r\n")
		_, _ = io.Copy(io.Discard, conn)
		_ = conn.Close()
	})
	t.Cleanup(func() {
		_ = listener.Close()
		web.Wait()
	})
	_, err = newClient(t, client.Options{BaseURL: "http://x", SOCKS5: listener.Addr().String()}).Fetch(t.Context(), "alpha", 0, 0)
	checkFault(t, err, fault{"*client.Unreachable", "FL3201", true}, []string{"asking the SOCKS5 proxy"})
}
