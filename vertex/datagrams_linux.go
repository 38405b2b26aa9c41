package vertex

import (
	"encoding/binary"
	"errors"
	"net"
	"os"
	"strconv"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/net/ipv4"
	"golang.org/x/sys/unix"
)

// datagramsIn takes datagrams from a UDP socket into messages that it was made
// for, several with one system call. It serves one reader.
type datagramsIn struct {
	raw     syscall.RawConn
	try     func(fd uintptr) bool
	into    []ipv4.Message
	headers []unix.Mmsghdr
	froms   []from
	zones   map[uint32]string
	n       int
	err     error
}

// from is who sent a datagram: what the kernel wrote, and what was made of it,
// which is used again for the next one of the same sender.
type from struct {
	name, known unix.RawSockaddrInet6
	addr        *net.UDPAddr
}

// newDatagramsIn is for messages of one buffer each.
func newDatagramsIn(raw syscall.RawConn, into []ipv4.Message) *datagramsIn {
	in := &datagramsIn{
		raw: raw, into: into, zones: map[uint32]string{},
		headers: make([]unix.Mmsghdr, len(into)), froms: make([]from, len(into)),
	}
	vectors := make([]unix.Iovec, len(into))
	for i := range into {
		h := &in.headers[i].Hdr
		vectors[i].Base = unsafe.SliceData(into[i].Buffers[0])
		vectors[i].SetLen(len(into[i].Buffers[0]))
		h.Iov = &vectors[i]
		h.SetIovlen(1)
		h.Name = (*byte)(unsafe.Pointer(&in.froms[i].name))
		h.Control = unsafe.SliceData(into[i].OOB)
	}
	in.try = in.ask
	return in
}

// receive waits for datagrams and tells how many messages they fill.
func (in *datagramsIn) receive() (int, error) {
	in.n, in.err = 0, nil
	if err := in.raw.Read(in.try); err != nil {
		return 0, err
	}
	if in.err != nil {
		return 0, &net.OpError{Op: "read", Net: "udp", Err: os.NewSyscallError("recvmmsg", in.err)}
	}
	for i := range in.n {
		h := &in.headers[i]
		m := &in.into[i]
		m.N, m.NN, m.Flags = int(h.Len), int(h.Hdr.Controllen), int(h.Hdr.Flags)
		m.Addr = in.sender(&in.froms[i])
	}
	return in.n, nil
}

func (in *datagramsIn) ask(fd uintptr) (done bool) {
	for i := range in.headers { // the kernel writes how much of each it used
		h := &in.headers[i].Hdr
		h.Namelen = unix.SizeofSockaddrInet6
		h.SetControllen(len(in.into[i].OOB))
	}
	for {
		in.n, in.err = receiveNow(fd, in.headers)
		switch in.err {
		case unix.EINTR:
		case unix.EAGAIN:
			return false
		default:
			return true
		}
	}
}

func (in *datagramsIn) sender(f *from) *net.UDPAddr {
	if f.addr == nil || f.name != f.known {
		f.known, f.addr = f.name, in.udpAddr(&f.name)
	}
	return f.addr
}

func (in *datagramsIn) udpAddr(name *unix.RawSockaddrInet6) *net.UDPAddr {
	if name.Family == unix.AF_INET {
		four := (*unix.RawSockaddrInet4)(unsafe.Pointer(name))
		addr := four.Addr
		return &net.UDPAddr{IP: addr[:], Port: hostOrder(four.Port)}
	}
	addr := name.Addr
	return &net.UDPAddr{IP: addr[:], Port: hostOrder(name.Port), Zone: in.zone(name.Scope_id)}
}

// zone names the interface of a link-local address.
func (in *datagramsIn) zone(index uint32) string {
	if index == 0 {
		return ""
	}
	if name, known := in.zones[index]; known {
		return name
	}
	name := strconv.Itoa(int(index))
	if i, err := net.InterfaceByIndex(int(index)); err == nil {
		name = i.Name
	}
	in.zones[index] = name
	return name
}

// hostOrder and networkOrder turn a port from and into what the kernel reads.
func hostOrder(raw uint16) int {
	return int(binary.BigEndian.Uint16((*[2]byte)(unsafe.Pointer(&raw))[:]))
}

func networkOrder(port int) (raw uint16) {
	binary.BigEndian.PutUint16((*[2]byte)(unsafe.Pointer(&raw))[:], uint16(port))
	return raw
}

// datagramsOut sends from a UDP socket. It is safe for use by several goroutines.
type datagramsOut struct {
	udp  *net.UDPConn
	raw  syscall.RawConn
	six  bool // an IPv6 socket, to which IPv4 is ::ffff:a.b.c.d
	idle sync.Pool
}

// datagram is one that is being sent.
type datagram struct {
	try    func(fd uintptr) bool
	header unix.Msghdr
	vector unix.Iovec
	four   unix.RawSockaddrInet4
	six    unix.RawSockaddrInet6
	n      int
	err    error
}

func newDatagramsOut(udp *net.UDPConn) (*datagramsOut, error) {
	raw, err := udp.SyscallConn()
	if err != nil {
		return nil, err
	}
	domain := 0
	if failed := raw.Control(func(fd uintptr) { domain, err = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_DOMAIN) }); failed != nil || err != nil {
		return nil, errors.Join(failed, err)
	}
	out := &datagramsOut{udp: udp, raw: raw, six: domain == unix.AF_INET6}
	out.idle.New = func() any {
		d := &datagram{}
		d.try = d.offer
		return d
	}
	return out, nil
}

// WriteMsgUDP is that of net.UDPConn, which it leaves whatever is unusual.
func (out *datagramsOut) WriteMsgUDP(b, oob []byte, addr *net.UDPAddr) (n, oobn int, err error) {
	d := out.idle.Get().(*datagram)
	defer out.idle.Put(d)
	if len(b) == 0 || !d.address(addr, out.six) {
		return out.udp.WriteMsgUDP(b, oob, addr)
	}
	d.vector.Base, d.header.Control = unsafe.SliceData(b), unsafe.SliceData(oob)
	d.vector.SetLen(len(b))
	d.header.SetControllen(len(oob))
	d.header.Iov = &d.vector
	d.header.SetIovlen(1)
	err = out.raw.Write(d.try)
	d.vector.Base, d.header.Control = nil, nil
	switch {
	case err != nil:
		return 0, 0, err
	case d.err != nil:
		return 0, 0, &net.OpError{Op: "write", Net: "udp", Addr: addr, Err: os.NewSyscallError("sendmsg", d.err)}
	}
	return d.n, len(oob), nil
}

// address fills in whom it is for; ok is false for what the kernel would have
// to be asked about, such as the interface of a link-local address.
func (d *datagram) address(to *net.UDPAddr, six bool) (ok bool) {
	if to == nil || to.Zone != "" || to.IP.IsUnspecified() {
		return false
	}
	if four := to.IP.To4(); !six && four != nil {
		d.four = unix.RawSockaddrInet4{Family: unix.AF_INET, Port: networkOrder(to.Port), Addr: [4]byte(four)}
		d.header.Name, d.header.Namelen = (*byte)(unsafe.Pointer(&d.four)), unix.SizeofSockaddrInet4
		return true
	}
	sixteen := to.IP.To16()
	if !six || sixteen == nil {
		return false
	}
	d.six = unix.RawSockaddrInet6{Family: unix.AF_INET6, Port: networkOrder(to.Port), Addr: [16]byte(sixteen)}
	d.header.Name, d.header.Namelen = (*byte)(unsafe.Pointer(&d.six)), unix.SizeofSockaddrInet6
	return true
}

func (d *datagram) offer(fd uintptr) (done bool) {
	for {
		d.n, d.err = sendNow(fd, &d.header)
		switch d.err {
		case unix.EINTR:
		case unix.EAGAIN:
			return false
		default:
			return true
		}
	}
}
