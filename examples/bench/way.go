package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"time"

	"golang.org/x/net/proxy"

	"github.com/florete/flor/conformance/lab/loopback"
)

// way is one way to the service: how to dial it, and the processes that it
// takes.
type way struct {
	name  string
	dial  func() (net.Conn, error)
	procs []*os.Process
	crowd *crowd // who may flood it; nil: nobody
	stop  func()
}

func direct(address string) way {
	return way{name: "direct", dial: dialTCP(address), stop: func() {}}
}

func dialTCP(address string) func() (net.Conn, error) {
	return func() (net.Conn, error) { return net.Dial("tcp", address) }
}

// dialSOCKS dials through a SOCKS5 port, and gives the TCP connection itself,
// which can be half-closed.
func dialSOCKS(port, target string) func() (net.Conn, error) {
	return func() (net.Conn, error) {
		dialer, err := proxy.SOCKS5("tcp", port, nil, proxy.Direct)
		if err != nil {
			return nil, err
		}
		c, err := dialer.Dial("tcp", target)
		if s, ok := c.(interface{ NetConn() net.Conn }); ok && err == nil {
			return s.NetConn(), nil
		}
		return c, err
	}
}

// tunnel is another one that somebody has set up before.
type tunnel struct{ name, entry, host string }

// parseTunnel reads NAME=tcp:ADDR or NAME=socks5:ADDR/HOST:PORT.
func parseTunnel(text string) (tunnel, error) {
	name, rest, named := strings.Cut(text, "=")
	kind, entry, _ := strings.Cut(rest, ":")
	entry, host, hosted := strings.Cut(entry, "/")
	if _, _, err := net.SplitHostPort(entry); err != nil || !named || hosted != (kind == "socks5") || kind != "tcp" && kind != "socks5" {
		return tunnel{}, fmt.Errorf("%q is neither NAME=tcp:ADDR nor NAME=socks5:ADDR/HOST:PORT", text)
	}
	return tunnel{name, entry, host}, nil
}

func (t tunnel) way() way {
	w := way{name: t.name, dial: dialTCP(t.entry), stop: func() {}}
	if t.host != "" {
		w.dial = dialSOCKS(t.entry, t.host)
	}
	return w
}

// startWithin is the time that a tunnel has to carry its first connection.
const startWithin = 20 * time.Second

// awaitWay waits until a way carries a round trip.
func awaitWay(w way) error {
	var err error
	for deadline := time.Now().Add(startWithin); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if err = tryOnce(w); err == nil {
			return nil
		}
	}
	return fmt.Errorf("%s carries nothing: %w", w.name, err)
}

func tryOnce(w way) error {
	c, err := w.dial()
	if err != nil {
		return err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(time.Second))
	return newRequester(c).once()
}

// stopAll ends programs and waits for them.
func stopAll(programs ...*exec.Cmd) {
	for _, p := range programs {
		_ = p.Process.Kill()
		_ = p.Wait()
	}
}

// freePort finds an address of this machine where nobody listens, nor will before
// a program of this run does.
func freePort() (string, error) {
	addr, err := loopback.Find()
	return addr.String(), err
}
