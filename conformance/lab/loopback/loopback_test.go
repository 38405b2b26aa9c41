package loopback_test

import (
	"net"
	"net/netip"
	"runtime"
	"testing"

	"github.com/florete/flor/conformance/lab/loopback"
)

// No address is given out twice, though nobody has listened on it yet, and none
// is one that the kernel gives to others.
func TestAnAddressIsGivenToOneCallerOnly(t *testing.T) {
	t.Parallel()
	seen := map[netip.AddrPort]bool{}
	for range 500 {
		addr := loopback.Free(t)
		if seen[addr] {
			t.Fatalf("%v was given out twice", addr)
		}
		seen[addr] = true
		if local := netip.MustParseAddr("127.0.0.1"); runtime.GOOS == "linux" && addr.Addr() == local {
			t.Fatalf("%v is where everybody listens", addr)
		}
	}
}

// An address is free for both protocols, and reached from this machine.
func TestAnAddressIsFree(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", loopback.Address(t))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	packets, err := net.ListenPacket("udp", loopback.Address(t))
	if err != nil {
		t.Fatal(err)
	}
	packets.Close()
}
