package main

import (
	"net"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/florete/flor/relay"
	"github.com/florete/flor/relay/config"
	"github.com/florete/flor/supervise/program"
)

// CRD-6: whoever has gone without a word is found out by either listener of the
// program, as soon as by one of package relay.
func TestBothListenersAskForSilentClients(t *testing.T) {
	t.Parallel()
	r, err := relay.New(t.Context(), new(relay.Memory), relay.Options{})
	if err != nil {
		t.Fatal(err)
	}
	const anyPort = "127.0.0.1:0"
	model, err := relay.Listen(t.Context(), anyPort)
	if err != nil {
		t.Fatal(err)
	}
	want := patience(t, model)
	listen := config.Listen{Sync: anyPort, Publish: anyPort}
	listeners, err := bind(t.Context(), r, &config.Config{Listen: listen}, new(program.Context))
	if err != nil {
		t.Fatal(err)
	}
	for i, which := range []string{"sync", "publish"} {
		if got := patience(t, listeners[i].socket); got != want {
			t.Errorf("the %s listener asks a silent client after %d s, every %d s, %d times; want %d", which, got[0], got[1], got[2], want)
		}
	}
}

// patience is after how many seconds of silence the system asks a client of this
// listener, how many seconds lie between two questions and how many it asks. It
// closes the listener.
func patience(t *testing.T, listener net.Listener) (p [3]int) {
	t.Helper()
	defer listener.Close()
	client, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	conn, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	raw, err := conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range []int{unix.TCP_KEEPIDLE, unix.TCP_KEEPINTVL, unix.TCP_KEEPCNT} {
		var optErr error
		if err := raw.Control(func(fd uintptr) { p[i], optErr = unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, name) }); err != nil || optErr != nil {
			t.Fatal(err, optErr)
		}
	}
	return p
}
