package vertex

import (
	"context"
	"io"
	"net"
	"net/netip"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/spiffe/go-spiffe/v2/spiffeid"

	"github.com/florete/flor/conformance/lab/netns"
)

// On every host of the field.
const (
	fieldSOCKS   = "127.0.0.1:1080"
	fieldService = "127.0.0.1:8080"
	fieldPort    = ":4433" // of vertices that are dialled
)

// field is a switch and hosts on it, with alice's vertex on one and web's on
// another, each a process in the network of its host.
type field struct {
	t         *testing.T
	net       *netns.Switch
	near, far *netns.Host
	target    string // where web's vertex is dialled
	farIDs    *wallet
	farPlan   *plan
	vertex    *outside // web's
}

func newField(t *testing.T) *field {
	t.Helper()
	if err := netns.Unavailable(); err != nil {
		t.Skip(err)
	}
	s, err := netns.NewSwitch()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	f := &field{t: t, net: s}
	f.near, f.far = f.host("near", "10.0.0.1/24"), f.host("far", "10.0.0.2/24")
	f.target = f.far.Addr.String() + fieldPort
	return f
}

func (f *field) host(name, at string) *netns.Host {
	f.t.Helper()
	h, err := f.net.Host(name, netip.MustParsePrefix(at))
	if err != nil {
		f.t.Fatal(err)
	}
	return h
}

// serve starts web's vertex, and an echo service beside it.
func (f *field) serve(initiators ...spiffeid.ID) {
	f.t.Helper()
	l, err := f.far.ListenTCP(netip.MustParseAddrPort(fieldService))
	if err != nil {
		f.t.Fatal(err)
	}
	accept(f.t, l, echo)
	web := service("web")
	f.farIDs = newWallet(authority.Issue(web))
	f.farPlan = &plan{
		listen: "[::]" + fieldPort, tcp: map[spiffeid.ID]string{web: fieldService},
		ingress: map[spiffeid.ID][]spiffeid.ID{web: initiators},
	}
	f.restart()
}

func (f *field) restart() { f.vertex = launch(f.t, f.farPlan.payload(f.t), f.farIDs, f.far.Start) }

// initiate starts the vertex of an initiator on a host.
func (f *field) initiate(h *netns.Host, who spiffeid.ID) {
	f.t.Helper()
	web := service("web")
	p := &plan{
		anywhere: true, socks: []spiffeid.ID{who}, ports: map[spiffeid.ID]string{who: fieldSOCKS},
		links: map[spiffeid.ID]string{web: f.target}, egress: map[spiffeid.ID][]spiffeid.ID{web: {who}},
	}
	launch(f.t, p.payload(f.t), newWallet(authority.Issue(who)), h.Start)
}

// ask requests web from a host and returns the SOCKS5 reply.
func (f *field) ask(h *netns.Host) (*net.TCPConn, byte) {
	f.t.Helper()
	c, err := h.DialContext(context.Background(), "tcp", fieldSOCKS)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(time.Now().Add(2 * patience))
	answer := make([]byte, 12)
	if _, err := c.Write(connectTo(host(f.t, service("web")))); err != nil {
		f.t.Fatal(err)
	}
	if _, err := io.ReadFull(c, answer); err != nil {
		f.t.Fatal(err)
	}
	return c.(*net.TCPConn), answer[3]
}

// carries sends something to web and back.
func (f *field) carries(c *net.TCPConn, text string) {
	f.t.Helper()
	send(f.t, c, text)
	expect(f.t, c, text)
}

// next asks once more, which must be answered within a time.
func (f *field) next(within time.Duration) *net.TCPConn {
	f.t.Helper()
	begun := time.Now()
	c, reply := f.ask(f.near)
	if reply != 0 {
		f.t.Fatalf("reply %d after %v", reply, time.Since(begun))
	}
	f.carries(c, "next")
	checkTook(f.t, begun, within)
	return c
}

// ip runs the command of that name on a host.
func (f *field) ip(h *netns.Host, args string) {
	f.t.Helper()
	cmd := exec.Command("ip", strings.Fields(args)...)
	err := h.Start(cmd)
	if err == nil {
		err = cmd.Wait()
	}
	if err != nil {
		f.t.Fatalf("ip %s: %v", args, err)
	}
}

func (f *field) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

// VTX-1, VTX-5, VTX-10: hosts with networks of their own, and what happens to
// networks. With -v the times of the next requests are printed.
func TestNetns(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		prepare func(*field) // before the vertices start; nil: nothing
		happen  func(*field)
		within  time.Duration // for the next request
		live    string
	}{
		{"nothing happens", nil, func(*field) {}, noticed, "goes on"},
		{"IPv6", overIPv6, func(*field) {}, noticed, "goes on"},
		{"a cable is out for five seconds", nil, outage, found, "goes on"},
		{"the host's own interface is down for five seconds", nil, func(f *field) {
			f.ip(f.near, "link set eth0 down")
			time.Sleep(5 * time.Second)
			f.ip(f.near, "link set eth0 up")
		}, found, "goes on"},
		{"the peer's own interface is down for five seconds", nil, func(f *field) {
			f.ip(f.far, "link set eth0 down")
			time.Sleep(5 * time.Second)
			f.ip(f.far, "link set eth0 up")
		}, found, "goes on"},
		{"a cable is out for five seconds, over IPv6", overIPv6, outage, found, "goes on"},
		{"the host gets another address", nil, func(f *field) {
			f.ip(f.near, "address add 10.0.0.77/24 dev eth0")
			f.ip(f.near, "address del 10.0.0.1/24 dev eth0")
			f.ip(f.near, "address replace 10.0.0.77/24 dev eth0") // it went with the first one of its net
		}, found, "goes on"},
		{"the peer is killed and comes back", nil, func(f *field) {
			f.vertex.kill()
			f.restart()
		}, noticed, "reset"},
		{"a request comes while the cable is out", nil, func(f *field) {
			f.must(f.near.Cable.Cut())
			begun := time.Now()
			if _, reply := f.ask(f.near); reply != 4 {
				f.t.Errorf("reply %d, want 4", reply)
			}
			f.t.Logf("the request without network was refused after %v", time.Since(begun).Round(time.Millisecond))
			if took := time.Since(begun); took > connectWithin+leeway {
				f.t.Errorf("refused after %v, want at most %v", took, connectWithin)
			}
			f.must(f.near.Cable.Mend())
		}, found, "goes on"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newField(t)
			if tt.prepare != nil {
				tt.prepare(f)
			}
			f.serve(user("alice"))
			f.initiate(f.near, user("alice"))
			live := f.next(patience)
			tt.happen(f)
			f.next(tt.within)
			checkLive(t, live, tt.live)
		})
	}
}

func overIPv6(f *field) {
	f.ip(f.near, "address add fd00::1/64 dev eth0 nodad")
	f.ip(f.far, "address add fd00::2/64 dev eth0 nodad")
	f.target = "[fd00::2]" + fieldPort
}

func outage(f *field) {
	f.must(f.near.Cable.Cut())
	time.Sleep(5 * time.Second)
	f.must(f.near.Cable.Mend())
}

// VTX-5, VTX-9: over a cable of 4 Mbit/s bulk takes what the cable gives, is
// carried whole, and leaves room for others beside it.
func TestNetnsOverANarrowCable(t *testing.T) {
	t.Parallel()
	f := newField(t)
	f.serve(user("alice"))
	f.initiate(f.near, user("alice"))
	bulk := f.next(patience)
	const bits = 4000 * 1000
	f.must(f.far.Cable.Limit(bits / 1000))
	data := make([]byte, 1<<20)
	begun := time.Now()
	go func() {
		_, _ = bulk.Write(data)
		_ = bulk.CloseWrite()
	}()
	f.next(patience / 2)
	got, err := io.ReadAll(bulk)
	took := time.Since(begun)
	if err != nil || len(got) != len(data) {
		t.Fatalf("%d of %d bytes came back (%v)", len(got), len(data), err)
	}
	best := time.Duration(len(data)) * 8 * time.Second / bits
	t.Logf("%d bytes took %v, %.0f %% of the cable", len(data), took.Round(time.Millisecond), 100*best.Seconds()/took.Seconds())
	if took < best*3/4 {
		t.Errorf("took %v, less than the cable allows: it does not limit", took)
	}
}

// VTX-5: the trouble of one host is none of another's.
func TestNetnsTroubleOfOneHostIsNoneOfAnothers(t *testing.T) {
	t.Parallel()
	f := newField(t)
	other := f.host("other", "10.0.0.3/24")
	f.serve(user("alice"), user("bob"))
	f.initiate(f.near, user("alice"))
	f.initiate(other, user("bob"))
	f.next(patience)
	hers, reply := f.ask(other)
	if reply != 0 {
		t.Fatalf("reply %d", reply)
	}
	f.must(f.near.Cable.Cut())
	f.carries(hers, "still here")
	if _, reply := f.ask(other); reply != 0 {
		t.Errorf("reply %d to a new request, want 0", reply)
	}
}
