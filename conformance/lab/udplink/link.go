package udplink

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// Options say where a link stands.
type Options struct {
	To     netip.AddrPort // the target
	Listen netip.AddrPort // where clients send; zero: a free port of 127.0.0.1
	Path   Path
	// Socket opens the sockets of the link; nil: net.ListenUDP. A lab opens
	// them in a network namespace.
	Socket func(local netip.AddrPort) (*net.UDPConn, error)
}

// Link carries packets between clients and one target until it is closed. Its
// methods may be called at any time by any number of goroutines.
type Link struct {
	to     netip.AddrPort
	socket func(netip.AddrPort) (*net.UDPConn, error)
	front  *net.UDPConn
	path   atomic.Pointer[Path]
	cut    atomic.Bool
	seen   [Back + 1]atomic.Uint64 // packets, per direction
	lost   atomic.Uint64
	widest atomic.Int64
	work   sync.WaitGroup

	mu     sync.Mutex
	closed bool
	flows  map[netip.AddrPort]*flow // by client
}

// readBuffer is asked for on every socket, in bytes; the kernel may grant less.
const readBuffer = 7 << 20

// Open starts a link. Close ends it.
func Open(o Options) (*Link, error) {
	if o.Socket == nil {
		o.Socket = listenUDP
	}
	if !o.Listen.IsValid() {
		o.Listen = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), 0)
	}
	front, err := o.Socket(o.Listen)
	if err != nil {
		return nil, fmt.Errorf("open a link to %v: %w", o.To, err)
	}
	_ = front.SetReadBuffer(readBuffer)
	l := &Link{to: o.To, socket: o.Socket, front: front, flows: map[netip.AddrPort]*flow{}}
	l.SetPath(o.Path)
	l.work.Go(l.forth)
	return l, nil
}

func listenUDP(local netip.AddrPort) (*net.UDPConn, error) {
	return net.ListenUDP("udp", net.UDPAddrFromAddrPort(local))
}

// Addr is where clients send.
func (l *Link) Addr() netip.AddrPort { return l.front.LocalAddr().(*net.UDPAddr).AddrPort() }

// SetPath changes what happens to packets that come from now on.
func (l *Link) SetPath(p Path) { l.path.Store(&p) }

// SetCut lets nothing pass, or again what the path lets pass.
func (l *Link) SetCut(cut bool) { l.cut.Store(cut) }

// Rebind gives every client another source port at the target, as a NAT does
// that has forgotten them. Packets on their way are lost.
func (l *Link) Rebind() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for client, f := range l.flows {
		f.close()
		delete(l.flows, client)
	}
}

// Counts are the packets that a link has seen.
type Counts struct {
	Forth, Back uint64 // came, per direction
	Lost        uint64 // of both: by chance, by size, by a cut, or from a full queue
	Widest      int    // bytes of the largest that came
}

// Counts tells what has come so far.
func (l *Link) Counts() Counts {
	return Counts{l.seen[Forth].Load(), l.seen[Back].Load(), l.lost.Load(), int(l.widest.Load())}
}

// Close ends the link and waits until none of its goroutines is left.
func (l *Link) Close() error {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	err := l.front.Close()
	l.Rebind()
	l.work.Wait()
	return err
}

// forth takes what clients send.
func (l *Link) forth() {
	read(l.front, func(packet []byte, client netip.AddrPort) {
		f, err := l.flow(client)
		if err != nil {
			l.lost.Add(1)
			return
		}
		l.admit(Forth, packet, f.forth)
	})
}

// flow is the one of a client, made with its first packet.
func (l *Link) flow(client netip.AddrPort) (*flow, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if have, ok := l.flows[client]; ok {
		return have, nil
	}
	if l.closed {
		return nil, net.ErrClosed
	}
	socket, err := l.socket(netip.AddrPortFrom(l.Addr().Addr(), 0))
	if err != nil {
		return nil, err
	}
	_ = socket.SetReadBuffer(readBuffer)
	f := newFlow(socket)
	l.flows[client] = f
	l.carry(f, client)
	return f, nil
}

// carry starts the goroutines of a flow, which end when it is closed.
func (l *Link) carry(f *flow, client netip.AddrPort) {
	l.work.Go(func() {
		read(f.socket, func(packet []byte, _ netip.AddrPort) { l.admit(Back, packet, f.back) })
	})
	l.work.Go(func() { f.release(f.forth, f.socket, l.to) })
	l.work.Go(func() { f.release(f.back, l.front, client) })
}

// admit decides on a packet and queues the one that passes.
func (l *Link) admit(way Direction, packet []byte, queue chan<- held) {
	n := l.seen[way].Add(1)
	raise(&l.widest, int64(len(packet)))
	fate := l.path.Load().Fate(way, n, len(packet))
	if fate.Lost || l.cut.Load() {
		l.lost.Add(1)
		return
	}
	select {
	case queue <- held{time.Now().Add(fate.Delay), fate.Late, append([]byte(nil), packet...)}:
	default: // a full queue loses packets too
		l.lost.Add(1)
	}
}

func raise(top *atomic.Int64, to int64) {
	for have := top.Load(); to > have && !top.CompareAndSwap(have, to); {
		have = top.Load()
	}
}

// read gives every packet of a socket to take, until the socket is closed.
// What take keeps, it copies.
func read(socket *net.UDPConn, take func(packet []byte, from netip.AddrPort)) {
	buf := make([]byte, 64<<10)
	for {
		n, from, err := socket.ReadFromUDPAddrPort(buf)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err == nil {
			take(buf[:n], from)
		}
	}
}
