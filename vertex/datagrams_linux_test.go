package vertex

import (
	"net"
	"testing"
	"time"

	"golang.org/x/net/ipv4"
)

// VTX-1: whatever address family a socket has, it tells who sent, as the net
// package would, and what is sent there arrives.
func TestDatagramsComeFromAndGoToTheirAddress(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, listen, peer string }{
		{"IPv4", "127.0.0.1:0", "127.0.0.1:0"},
		{"IPv6", "[::1]:0", "[::1]:0"},
		{"IPv4 on a socket for both", "[::]:0", "127.0.0.1:0"},
		{"IPv6 on a socket for both", "[::]:0", "[::1]:0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			here, peer := listenUDP(t, tt.listen), listenUDP(t, tt.peer)
			conn, on := offload(here)
			if !on {
				t.Skip("the kernel does not join UDP packets (UDP_GRO)")
			}
			to := &net.UDPAddr{IP: peer.LocalAddr().(*net.UDPAddr).IP, Port: here.LocalAddr().(*net.UDPAddr).Port}
			for _, word := range []string{"one", "another"} {
				if _, err := peer.WriteTo([]byte(word), to); err != nil {
					t.Fatal(err)
				}
				room := []ipv4.Message{{Buffers: [][]byte{make([]byte, 1500)}, OOB: make([]byte, groControl)}}
				if _, err := conn.(*groConn).ReadBatch(room, 0); err != nil {
					t.Fatal(err)
				}
				if got := string(room[0].Buffers[0][:room[0].N]); got != word || room[0].Addr.String() != peer.LocalAddr().String() {
					t.Errorf("%q from %v, want %q from %v", got, room[0].Addr, word, peer.LocalAddr())
				}
				answer(t, conn.(*groConn), room[0].Addr.(*net.UDPAddr), peer)
			}
		})
	}
}

// answer sends to a peer, which must hear it from there.
func answer(t *testing.T, from *groConn, to *net.UDPAddr, peer *net.UDPConn) {
	t.Helper()
	if n, _, err := from.WriteMsgUDP([]byte("answer"), nil, to); n != len("answer") || err != nil {
		t.Fatalf("sent %d bytes, %v", n, err)
	}
	heard := make([]byte, 100)
	n, addr, err := peer.ReadFrom(heard)
	if err != nil || string(heard[:n]) != "answer" || addr.(*net.UDPAddr).Port != from.LocalAddr().(*net.UDPAddr).Port {
		t.Errorf("heard %q from %v, %v", heard[:n], addr, err)
	}
}

func listenUDP(t *testing.T, address string) *net.UDPConn {
	t.Helper()
	c, err := net.ListenPacket("udp", address)
	if err != nil {
		t.Skip("this host has no such address:", err)
	}
	t.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(time.Now().Add(patience))
	return c.(*net.UDPConn)
}
