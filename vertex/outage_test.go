package vertex

import (
	"net"
	"testing"
)

// VTX-5: what the kernel refuses to send is lost for a connection that has been
// established, and an error for a handshake. From loopback nothing leaves.
func TestPacketThatCannotLeaveIsLost(t *testing.T) {
	t.Parallel()
	udp := anyUDP(t)
	defer udp.Close()
	conn, _ := offload(udp)
	elsewhere := &net.UDPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 9}
	if _, _, err := udp.WriteMsgUDP([]byte{0x40, 1}, nil, elsewhere); err == nil {
		t.Skip("this kernel sends from loopback to anywhere")
	}
	if n, _, err := conn.WriteMsgUDP([]byte{0x40, 1}, nil, elsewhere); err != nil || n != 2 {
		t.Errorf("a packet of a connection: %d bytes, %v, want 2 and no error", n, err)
	}
	if _, _, err := conn.WriteMsgUDP([]byte{0xc0, 1}, nil, elsewhere); err == nil {
		t.Error("a packet of a handshake that cannot be sent is no error")
	}
	if _, _, err := conn.WriteMsgUDP(make([]byte, 66_000), nil, elsewhere); err == nil {
		t.Error("a packet that is too large is no error")
	}
}
