package vertex

import (
	"net"
	"net/netip"
	"testing"

	"github.com/florete/flor/conformance/lab/udplink"
)

// newRelay puts a path in front of an address.
func newRelay(t testing.TB, to string, p udplink.Path) *udplink.Link {
	t.Helper()
	l, err := udplink.Open(udplink.Options{To: netip.MustParseAddrPort(to), Path: p})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func anyUDP(t testing.TB) *net.UDPConn {
	t.Helper()
	c, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	return c
}
