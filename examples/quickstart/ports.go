package main

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
)

// Ports are drawn from below the range that kernels hand out by themselves, so
// that a connection of somebody else seldom takes one between probe and use.
const firstPort, lastPort = 20000, 30000

// portProber hands out loopback addresses whose port is free for TCP and UDP
// at the moment. Nothing holds such a port: whoever loses one to somebody else
// starts again with new ones.
type portProber struct {
	given map[uint16]bool
}

func (p *portProber) next() (netip.AddrPort, error) {
	if p.given == nil {
		p.given = map[uint16]bool{}
	}
	for range 1000 {
		port := uint16(firstPort + rand.IntN(lastPort-firstPort))
		addr := netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), port)
		if !p.given[port] && isFree(addr) {
			p.given[port] = true
			return addr, nil
		}
	}
	return netip.AddrPort{}, fmt.Errorf("no free loopback port between %d and %d: stop what uses them and try again", firstPort, lastPort)
}

func isFree(addr netip.AddrPort) bool {
	tcp, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(addr))
	if err != nil {
		return false
	}
	defer tcp.Close()
	udp, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(addr))
	if err != nil {
		return false
	}
	return udp.Close() == nil
}
