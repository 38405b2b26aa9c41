// Package loopback finds addresses of this machine for programs of a test that
// must be told where to listen. An address that was found free is taken by nobody
// else before its program does, however long that takes: on Linux it is on an
// address of loopback that belongs to the process alone (127.0.0.0/8 by the
// process's number), where no other one listens and where no connection starts,
// and of which no port is given out twice. The ports are below those that kernels
// hand out by themselves: a socket on all addresses, as of a vertex that only
// dials, would keep its port from them, too. Elsewhere it is on 127.0.0.1, and was
// free a moment ago.
package loopback

import (
	"errors"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"runtime"
	"sync"
	"syscall"
	"testing"
)

// The range from which ports are drawn, the last one not included.
const firstPort, endOfPorts = 10000, 30000

// Address returns one as a text, host:port.
func Address(t testing.TB) string {
	t.Helper()
	return Free(t).String()
}

// Free returns an address that is free for TCP and UDP alike.
func Free(t testing.TB) netip.AddrPort {
	t.Helper()
	addr, err := Find()
	if err != nil {
		t.Fatal(err)
	}
	return addr
}

// Find is [Free] for those that are no test.
func Find() (netip.AddrPort, error) {
	for range endOfPorts - firstPort {
		addr := netip.AddrPortFrom(own(os.Getpid()), uint16(firstPort+rand.IntN(endOfPorts-firstPort)))
		switch err := probe(addr); {
		case errors.Is(err, syscall.EADDRINUSE):
			continue
		case err != nil:
			return netip.AddrPort{}, err
		}
		if given.add(addr) {
			return addr, nil
		}
	}
	return netip.AddrPort{}, errors.New("no address of loopback is free that was not given out before")
}

// own is the address of a process.
func own(pid int) netip.Addr {
	if runtime.GOOS != "linux" {
		return netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	return netip.AddrFrom4([4]byte{127, 1 + byte(pid>>16&63), byte(pid >> 8), byte(pid)})
}

// probe tries an address for TCP and for UDP.
func probe(addr netip.AddrPort) error {
	tcp, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(addr))
	if err != nil {
		return err
	}
	defer tcp.Close()
	udp, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(addr))
	if err != nil {
		return err
	}
	return udp.Close()
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
