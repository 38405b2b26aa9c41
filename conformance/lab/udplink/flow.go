package udplink

import (
	"net"
	"net/netip"
	"sync"
	"time"
)

// queueSize is how many packets may be on their way in a direction.
const queueSize = 1 << 14

// held is a packet on its way.
type held struct {
	due  time.Time
	late bool
	data []byte
}

// flow is what one client and the target exchange.
type flow struct {
	socket      *net.UDPConn // stands for the client
	forth, back chan held
	done        chan struct{} // closed with the socket
}

func newFlow(socket *net.UDPConn) *flow {
	return &flow{socket: socket, forth: make(chan held, queueSize), back: make(chan held, queueSize), done: make(chan struct{})}
}

// close is called once, by whoever takes the flow out of its link's table.
func (f *flow) close() {
	close(f.done)
	_ = f.socket.Close()
}

// release sends each packet on when it is due, until the flow is closed. A
// packet that is late does not hold up those behind it.
func (f *flow) release(queue <-chan held, out *net.UDPConn, to netip.AddrPort) {
	var late sync.WaitGroup
	defer late.Wait()
	for {
		select {
		case <-f.done:
			return
		case p := <-queue:
			if p.late {
				late.Go(func() { f.send(p, out, to) })
				continue
			}
			f.send(p, out, to)
		}
	}
}

// send waits until a packet is due; one whose flow ends before is lost.
func (f *flow) send(p held, out *net.UDPConn, to netip.AddrPort) {
	if wait := time.Until(p.due); wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-f.done:
			return
		}
	}
	_, _ = out.WriteToUDPAddrPort(p.data, to)
}
