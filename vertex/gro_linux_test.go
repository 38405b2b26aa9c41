package vertex

import (
	"bytes"
	"net"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/net/ipv4"
	"golang.org/x/sys/unix"
)

// VTX-9: packets that the kernel joined come out one by one, in order, whole,
// with the control messages that came with them.
func TestJoinedPacketsAreTakenApart(t *testing.T) {
	t.Parallel()
	in, out := anyUDP(t), anyUDP(t)
	defer in.Close()
	defer out.Close()
	raw, err := in.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	_ = raw.Control(func(fd uintptr) { _, err = unix.GetsockoptInt(int(fd), unix.IPPROTO_UDP, unix.UDP_GRO) })
	if err != nil {
		t.Skip("the kernel does not join UDP packets (UDP_GRO):", err)
	}
	conn, on := offload(in)
	joins := 0
	_ = raw.Control(func(fd uintptr) { joins, _ = unix.GetsockoptInt(int(fd), unix.IPPROTO_UDP, unix.UDP_GRO) })
	if !on || joins != 1 {
		t.Fatalf("joining is on: %v by its own word, %v by the kernel's", on, joins)
	}
	_ = raw.Control(func(fd uintptr) { _ = unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_RECVTOS, 1) })
	var data []byte
	want := []int{1000, 1000, 1000, 1000, 300, 7}
	for i, size := range want {
		data = append(data, bytes.Repeat([]byte{byte('a' + i)}, size)...)
	}
	to := in.LocalAddr().(*net.UDPAddr)
	if _, _, err := out.WriteMsgUDP(data[:4300], segments(1000), to); err != nil {
		t.Skip("the kernel does not split UDP packets (UDP_SEGMENT):", err)
	}
	if _, err := out.WriteTo(data[4300:], to); err != nil {
		t.Fatal(err)
	}
	_ = in.SetReadDeadline(time.Now().Add(patience))
	got := readPackets(t, conn.(*groConn), len(want), out.LocalAddr())
	for i, size := range want {
		if !bytes.Equal(got[i], data[:size]) {
			t.Errorf("packet %d has %d bytes, want %d of %q", i, len(got[i]), size, data[0])
		}
		data = data[size:]
	}
}

// segments is the control message that makes the kernel split what is sent.
func segments(size uint16) []byte {
	control := make([]byte, unix.CmsgSpace(2))
	header := (*unix.Cmsghdr)(unsafe.Pointer(&control[0]))
	header.Level, header.Type = unix.IPPROTO_UDP, unix.UDP_SEGMENT
	header.SetLen(unix.CmsgLen(2))
	control[unix.CmsgLen(0)], control[unix.CmsgLen(0)+1] = byte(size), byte(size>>8)
	return control
}

// readPackets reads with room for three at a time, so that what was joined
// spans several calls.
func readPackets(t *testing.T, conn *groConn, n int, from net.Addr) [][]byte {
	t.Helper()
	var got [][]byte
	for len(got) < n {
		room := make([]ipv4.Message, 3)
		for i := range room {
			room[i].Buffers, room[i].OOB = [][]byte{make([]byte, 1500)}, make([]byte, groControl)
		}
		count, err := conn.ReadBatch(room, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range room[:count] {
			if m.Addr.String() != from.String() || m.NN == 0 {
				t.Errorf("a packet from %v with %d bytes of control messages, want %v and some", m.Addr, m.NN, from)
			}
			got = append(got, m.Buffers[0][:m.N])
		}
	}
	return got
}

// FuzzSegmentSize: control messages come from the kernel, but a size that is
// wrong would make a loop endless or a slice too long.
func FuzzSegmentSize(f *testing.F) {
	f.Add(segments(1000), 4300)
	f.Fuzz(func(t *testing.T, control []byte, whole int) {
		whole = int(uint16(whole))
		if size := segmentSize(control, whole); size < 1 && whole > 0 {
			t.Errorf("size %d of %d bytes", size, whole)
		}
	})
}
