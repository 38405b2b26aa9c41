//go:build !linux

package vertex

import (
	"net"

	"github.com/quic-go/quic-go"
)

// offload leaves the socket as it is: joined packets are known to Linux only.
func offload(udp *net.UDPConn) (conn quic.OOBCapablePacketConn, on bool) {
	return outlasting{udp, udp}, false
}

// splits is known to Linux only, too.
func splits(*net.UDPConn) bool { return false }
