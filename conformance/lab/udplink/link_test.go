package udplink

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 20 * time.Second

// target is a socket that records whom packets come from, and answers them.
type target struct {
	*net.UDPConn
	mu    sync.Mutex
	froms []netip.AddrPort
}

func newTarget(t *testing.T) *target {
	t.Helper()
	socket := open(t)
	e := &target{UDPConn: socket}
	var work sync.WaitGroup
	work.Go(func() {
		read(socket, func(packet []byte, from netip.AddrPort) {
			e.mu.Lock()
			e.froms = append(e.froms, from)
			e.mu.Unlock()
			_, _ = socket.WriteToUDPAddrPort(packet, from)
		})
	})
	t.Cleanup(work.Wait)
	t.Cleanup(func() { socket.Close() })
	return e
}

func (e *target) clients() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	seen := slices.Clone(e.froms)
	slices.SortFunc(seen, netip.AddrPort.Compare)
	return len(slices.Compact(seen))
}

func open(t *testing.T) *net.UDPConn {
	t.Helper()
	c, err := listenUDP(netip.MustParseAddrPort("127.0.0.1:0"))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func openLink(t *testing.T, to *target, p Path) *Link {
	t.Helper()
	l, err := Open(Options{To: to.LocalAddr().(*net.UDPAddr).AddrPort(), Path: p})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// client sends through a link and reads what comes back.
type client struct {
	*net.UDPConn
	link *Link
}

func newClient(t *testing.T, l *Link) client {
	t.Helper()
	c := open(t)
	t.Cleanup(func() { c.Close() })
	return client{c, l}
}

func (c client) send(t *testing.T, text string) {
	t.Helper()
	if _, err := c.WriteToUDPAddrPort([]byte(text), c.link.Addr()); err != nil {
		t.Fatal(err)
	}
}

// read gives the next packet that comes back within the time; "" when none.
func (c client) read(t *testing.T, within time.Duration) string {
	t.Helper()
	buf := make([]byte, 64<<10)
	_ = c.SetReadDeadline(time.Now().Add(within))
	n, _, err := c.ReadFromUDPAddrPort(buf)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return ""
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(buf[:n])
}

func TestPacketsComeLaterByTheDelayOfBothWays(t *testing.T) {
	t.Parallel()
	c := newClient(t, openLink(t, newTarget(t), Path{Delay: 50 * time.Millisecond}))
	began := time.Now()
	c.send(t, "hello")
	if got := c.read(t, patience); got != "hello" {
		t.Fatalf("read %q, want what was sent", got)
	}
	if took := time.Since(began); took < 100*time.Millisecond {
		t.Errorf("there and back took %v, want at least twice the delay", took)
	}
}

func TestClientsAreToldApart(t *testing.T) {
	t.Parallel()
	e := newTarget(t)
	l := openLink(t, e, Path{})
	for i := range 3 {
		c := newClient(t, l)
		text := fmt.Sprint("from client ", i)
		c.send(t, text)
		if got := c.read(t, patience); got != text {
			t.Errorf("read %q, want %q", got, text)
		}
	}
	if got := e.clients(); got != 3 {
		t.Errorf("the target saw %d clients, want 3", got)
	}
}

func TestRebindChangesTheSourcePort(t *testing.T) {
	t.Parallel()
	e := newTarget(t)
	l := openLink(t, e, Path{})
	c := newClient(t, l)
	for range 2 {
		c.send(t, "x")
		if got := c.read(t, patience); got != "x" {
			t.Fatalf("read %q", got)
		}
		l.Rebind()
	}
	if got := e.clients(); got != 2 {
		t.Errorf("the target saw %d source ports, want 2", got)
	}
}

func TestWhatDoesNotPassIsCounted(t *testing.T) {
	t.Parallel()
	l := openLink(t, newTarget(t), Path{MTU: 10})
	c := newClient(t, l)
	c.send(t, "eleven byte")
	c.send(t, "ten bytes.")
	if got := c.read(t, patience); got != "ten bytes." {
		t.Errorf("read %q, want only what fits", got)
	}
	l.SetCut(true)
	c.send(t, "lost")
	for began := time.Now(); l.Counts().Lost < 2 && time.Since(began) < patience; {
		c.read(t, time.Millisecond)
	}
	l.SetCut(false)
	c.send(t, "again")
	if got := c.read(t, patience); got != "again" {
		t.Errorf("read %q after the cut was mended", got)
	}
	want := Counts{Forth: 4, Back: 2, Lost: 2, Widest: 11}
	if diff := cmp.Diff(want, l.Counts()); diff != "" {
		t.Error(diff)
	}
}

func TestLatePacketsAreOvertaken(t *testing.T) {
	t.Parallel()
	p := Path{Reorder: 0.3, Delay: 20 * time.Millisecond, Seed: 7}
	c := newClient(t, openLink(t, newTarget(t), p))
	const count = 60
	for i := range count {
		c.send(t, fmt.Sprintf("%03d", i))
	}
	var got []string
	for range count {
		got = append(got, c.read(t, patience))
	}
	if slices.IsSorted(got) {
		t.Error("all packets came in order")
	}
	slices.Sort(got)
	if got[0] != "000" || got[count-1] != "059" {
		t.Errorf("packets were lost: %q", got)
	}
}

// The law that makes runs comparable: fate depends on seed, direction, number
// and size, and shares come out as asked for.
func TestFateIsDecidedBySeedDirectionAndNumber(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := Path{Loss: rapid.Float64Range(0, 1).Draw(t, "loss"), Reorder: rapid.Float64Range(0, 1).Draw(t, "reorder"), Seed: rapid.Uint64().Draw(t, "seed")}
		n := rapid.Uint64().Draw(t, "n")
		if first, again := p.Fate(Forth, n, 1200), p.Fate(Forth, n, 1200); first != again {
			t.Fatal("the same packet met two fates")
		}
	})
	for _, loss := range []float64{0, 0.01, 0.5, 1} {
		p, lost, alike := Path{Loss: loss, Seed: 1}, 0, 0
		const count = 20_000
		for n := range uint64(count) {
			forth, back := p.Fate(Forth, n, 1), p.Fate(Back, n, 1)
			if forth.Lost {
				lost++
			}
			if forth == back {
				alike++
			}
		}
		if got := float64(lost) / count; got < loss*0.8 || got > loss*1.2 {
			t.Errorf("%.3f of packets were lost, want %.3f", got, loss)
		}
		if loss == 0.5 && (alike < count/3 || alike > count*2/3) {
			t.Errorf("the directions share %d of %d fates at evens", alike, count)
		}
	}
}

func TestCloseEndsWhatIsOnItsWay(t *testing.T) {
	t.Parallel()
	l := openLink(t, newTarget(t), Path{Delay: time.Hour})
	c := newClient(t, l)
	c.send(t, "never arrives")
	for began := time.Now(); l.Counts().Forth == 0 && time.Since(began) < patience; {
		c.read(t, time.Millisecond)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}
