package main

import (
	"net"
	"net/netip"
	"sync"
	"time"
)

// path is a long and lossy way for packets, each way.
type path struct {
	delay    time.Duration
	dropEach int // one packet in so many is lost; 0: none
}

// open gives the address of a path to another address. The client is whoever
// sent there last, since a vertex dials from one socket.
func (p path) open(to string) (address string, stop func(), err error) {
	loopback := &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)}
	front, err := net.ListenUDP("udp", loopback)
	if err != nil {
		return "", nil, err
	}
	back, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(netip.MustParseAddrPort(to)))
	if err != nil {
		_ = front.Close()
		return "", nil, err
	}
	_ = front.SetReadBuffer(bufferSize)
	_ = back.SetReadBuffer(bufferSize)
	r := &relay{path: p, front: front, back: back}
	r.carry()
	return front.LocalAddr().String(), r.close, nil
}

const bufferSize = 7 << 20

// held is a packet on its way.
type held struct {
	due  time.Time
	data []byte
}

// relay carries packets between a client and one vertex.
type relay struct {
	path
	front, back *net.UDPConn
	mu          sync.Mutex
	client      netip.AddrPort
	work        sync.WaitGroup
}

func (r *relay) carry() {
	up, down := make(chan held, 1<<16), make(chan held, 1<<16)
	r.work.Go(func() { r.read(r.front, up) })
	r.work.Go(func() { r.read(r.back, down) })
	r.work.Go(func() { release(up, func(b []byte) { _, _ = r.back.Write(b) }) })
	r.work.Go(func() { release(down, func(b []byte) { _, _ = r.front.WriteToUDPAddrPort(b, r.to()) }) })
}

// read takes packets in until the socket is closed.
func (r *relay) read(in *net.UDPConn, out chan<- held) {
	defer close(out)
	buf := make([]byte, blockSize)
	for count := 1; ; count++ {
		n, from, err := in.ReadFromUDPAddrPort(buf)
		if err != nil {
			return
		}
		if in == r.front {
			r.from(from)
		}
		if r.dropEach > 0 && count%r.dropEach == 0 {
			continue
		}
		select {
		case out <- held{time.Now().Add(r.delay), append([]byte(nil), buf[:n]...)}:
		default: // a full queue loses packets too
		}
	}
}

// release sends each packet on when it is due.
func release(in <-chan held, send func([]byte)) {
	for p := range in {
		time.Sleep(time.Until(p.due))
		send(p.data)
	}
}

func (r *relay) from(client netip.AddrPort) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.client = client
}

func (r *relay) to() netip.AddrPort {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.client
}

func (r *relay) close() {
	_ = r.front.Close()
	_ = r.back.Close()
	r.work.Wait()
}
