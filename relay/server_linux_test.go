package relay_test

import (
	"net"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/florete/flor/relay"
)

// CRD-6: the system asks by itself whether a client is there that has been silent
// for 15 s, and gives it up 15 s later.
func TestTheSystemAsksForSilentClients(t *testing.T) {
	t.Parallel()
	listener, err := relay.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
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
	for _, c := range []struct {
		what        string
		level, name int
		want        int
	}{
		{"asks", unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1},
		{"seconds of silence", unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, 15},
		{"seconds between", unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, 5},
		{"questions", unix.IPPROTO_TCP, unix.TCP_KEEPCNT, 3},
	} {
		var got int
		var optErr error
		if err := raw.Control(func(fd uintptr) { got, optErr = unix.GetsockoptInt(int(fd), c.level, c.name) }); err != nil || optErr != nil {
			t.Fatal(err, optErr)
		}
		if got != c.want {
			t.Errorf("%s: %d, want %d", c.what, got, c.want)
		}
	}
}
