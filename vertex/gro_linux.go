package vertex

import (
	"encoding/binary"
	"net"
	"syscall"

	"github.com/quic-go/quic-go"
	"golang.org/x/net/ipv4"
	"golang.org/x/sys/unix"
)

const (
	groMessages = 8        // taken from the kernel with one system call
	groBuffer   = 64 << 10 // of one: what the kernel joins at most
	groControl  = 128      // bytes of control messages of one; quic-go reads as many
)

// groConn is a UDP socket whose kernel joins packets of one flow (UDP_GRO) and
// hands them over with one system call, which is most of what a packet costs.
// It takes them apart again for quic-go, which knows nothing of that.
type groConn struct {
	outlasting
	in      *datagramsIn
	joined  []ipv4.Message // as the kernel gave them
	at      int            // the one that is being taken apart
	rest    []byte         // what is left of it
	segment int            // the size of its packets
}

// offload makes the socket one that receives joined packets, where the kernel
// can; on tells whether it does (VTX-9).
func offload(udp *net.UDPConn) (conn quic.OOBCapablePacketConn, on bool) {
	raw, err := udp.SyscallConn()
	if err != nil {
		return outlasting{udp, udp}, false
	}
	lasting := outlasting{udp, udp}
	if out, err := newDatagramsOut(udp); err == nil {
		lasting.out = out
	}
	var failed error
	if err := raw.Control(func(fd uintptr) {
		failed = unix.SetsockoptInt(int(fd), unix.IPPROTO_UDP, unix.UDP_GRO, 1)
	}); err != nil || failed != nil {
		return lasting, false
	}
	return newGROConn(lasting, raw), true
}

// splits tells whether the kernel takes several packets with one system call
// (GSO). quic-go finds it out in the same way, and does without towards peers
// whose network card cannot.
func splits(udp *net.UDPConn) bool {
	raw, err := udp.SyscallConn()
	if err != nil {
		return false
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		_, failed = unix.GetsockoptInt(int(fd), unix.IPPROTO_UDP, unix.UDP_SEGMENT)
	})
	return err == nil && failed == nil
}

func newGROConn(lasting outlasting, raw syscall.RawConn) *groConn {
	c := &groConn{outlasting: lasting, joined: make([]ipv4.Message, groMessages)}
	for i := range c.joined {
		c.joined[i].Buffers = [][]byte{make([]byte, groBuffer)}
		c.joined[i].OOB = make([]byte, groControl)
	}
	c.in = newDatagramsIn(raw, c.joined)
	c.at = len(c.joined)
	return c
}

// ReadBatch gives quic-go single packets, each with the control messages of
// those it was joined with. Like a kernel's it is called by one goroutine.
func (c *groConn) ReadBatch(out []ipv4.Message, _ int) (int, error) {
	if len(c.rest) == 0 {
		if err := c.next(); err != nil {
			return 0, err
		}
	}
	n := 0
	for n < len(out) && len(c.rest) > 0 {
		c.take(&out[n])
		n++
		if len(c.rest) == 0 && c.at+1 < len(c.joined) {
			c.turnTo(c.at + 1)
		}
	}
	return n, nil
}

// next asks the kernel once all that it gave has been taken apart.
func (c *groConn) next() error {
	c.joined = c.joined[:groMessages]
	n, err := c.in.receive()
	if err != nil {
		return err
	}
	c.joined = c.joined[:n]
	c.turnTo(0)
	return nil
}

func (c *groConn) turnTo(i int) {
	m := &c.joined[i]
	c.at, c.rest = i, m.Buffers[0][:m.N]
	c.segment = segmentSize(m.OOB[:m.NN], m.N)
}

// take moves one packet to where quic-go wants it; what does not fit is cut
// off, as the kernel does it.
func (c *groConn) take(out *ipv4.Message) {
	from := &c.joined[c.at]
	size := min(c.segment, len(c.rest))
	out.N = copy(out.Buffers[0], c.rest[:size])
	out.NN = copy(out.OOB, from.OOB[:from.NN])
	out.Flags, out.Addr = from.Flags, from.Addr
	c.rest = c.rest[size:]
}

// segmentSize reads from control messages how large the packets are that were
// joined; without such a word it is one packet.
func segmentSize(control []byte, whole int) int {
	for len(control) > 0 {
		header, body, rest, err := unix.ParseOneSocketControlMessage(control)
		if err != nil {
			return whole
		}
		if header.Level == unix.IPPROTO_UDP && header.Type == unix.UDP_GRO && len(body) >= 4 {
			if size := int(binary.NativeEndian.Uint32(body)); size > 0 {
				return size
			}
			return whole
		}
		control = rest
	}
	return whole
}
