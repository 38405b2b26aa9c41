// Package loopback finds addresses of this machine for programs of a test that
// must be told where to listen. An address that was found free is taken by nobody
// else before its program does, however long that takes: on Linux it is on an
// address of loopback that belongs to the test's process alone (127.0.0.0/8 by
// the process's number), where no other one listens, where no connection starts,
// and of which no port is given out twice. Elsewhere it is on 127.0.0.1, and was
// free a moment ago.
package loopback

import (
	"net"
	"net/netip"
	"os"
	"runtime"
	"sync"
	"testing"
)

// Address returns one as a text, host:port.
func Address(t testing.TB) string {
	t.Helper()
	return Free(t).String()
}

// Free returns an address that is free for TCP and UDP alike.
func Free(t testing.TB) netip.AddrPort {
	t.Helper()
	for {
		addr, free, err := probe(own(os.Getpid()))
		if err != nil {
			t.Fatalf("no address of loopback is free: %v", err)
		}
		if free && given.add(addr) {
			return addr
		}
	}
}

// own is the address of a process.
func own(pid int) netip.Addr {
	if runtime.GOOS != "linux" {
		return netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	return netip.AddrFrom4([4]byte{127, 1 + byte(pid>>16&63), byte(pid >> 8), byte(pid)})
}

// probe asks the kernel for a port of TCP, and tells whether it is free for UDP,
// too.
func probe(ip netip.Addr) (addr netip.AddrPort, free bool, err error) {
	tcp, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(netip.AddrPortFrom(ip, 0)))
	if err != nil {
		return netip.AddrPort{}, false, err
	}
	defer tcp.Close()
	addr = tcp.Addr().(*net.TCPAddr).AddrPort()
	udp, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(addr))
	if err != nil {
		return addr, false, nil
	}
	udp.Close()
	return addr, true, nil
}

// addresses are those that this process has given out.
type addresses struct {
	mu   sync.Mutex
	have map[netip.AddrPort]bool
}

var given = addresses{have: map[netip.AddrPort]bool{}}

// add tells whether the address was not among them.
func (a *addresses) add(addr netip.AddrPort) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	fresh := !a.have[addr]
	a.have[addr] = true
	return fresh
}
