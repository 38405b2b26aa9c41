package vertex

import (
	"errors"
	"net"
	"syscall"
)

// outlasting is a UDP socket on which an outage of this host's own network ends
// no connection. When a cable is out, a radio is off or an address is gone, the
// kernel refuses to send, and quic-go gives a connection up for that at once.
// Here such a packet counts as sent and lost, like one that the network lost,
// so that a short outage costs nobody a stream (VTX-5). It is a
// quic.OOBCapablePacketConn, and safe for use by several goroutines.
type outlasting struct {
	*net.UDPConn
	out messageWriter
}

// messageWriter is what a socket sends with: itself, or something faster.
type messageWriter interface {
	WriteMsgUDP(b, oob []byte, addr *net.UDPAddr) (n, oobn int, err error)
}

// WriteMsgUDP is that of net.UDPConn. A packet of a handshake that cannot be
// sent fails still, so that a dial does not wait for its time-out.
func (c outlasting) WriteMsgUDP(b, oob []byte, addr *net.UDPAddr) (n, oobn int, err error) {
	n, oobn, err = c.out.WriteMsgUDP(b, oob, addr)
	if err != nil && !ofHandshake(b) && !informative(err) {
		return len(b), len(oob), nil
	}
	return n, oobn, err
}

// ofHandshake tells packets with a long header from those of connections that
// have been established (RFC 9000 §17).
func ofHandshake(packet []byte) bool { return len(packet) > 0 && packet[0]&0x80 != 0 }

// informative tells errors from which quic-go learns something: that a packet
// is too large for the path, that the network card cannot split packets (GSO),
// and that the socket is closed.
func informative(err error) bool {
	return errors.Is(err, syscall.EMSGSIZE) || errors.Is(err, syscall.EIO) || errors.Is(err, net.ErrClosed)
}
