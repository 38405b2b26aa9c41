package netns

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 20 * time.Second

func needNamespaces(t *testing.T) {
	t.Helper()
	if err := Unavailable(); err != nil {
		t.Skip(err)
	}
}

func newSwitch(t *testing.T) *Switch {
	t.Helper()
	s, err := NewSwitch()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func newHost(t *testing.T, s *Switch, name, at string) *Host {
	t.Helper()
	h, err := s.Host(name, netip.MustParsePrefix(at))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// serveHello answers every connection on a port of a host with its name.
func serveHello(t *testing.T, h *Host, port uint16) netip.AddrPort {
	t.Helper()
	at := netip.AddrPortFrom(h.Addr, port)
	l, err := h.ListenTCP(at)
	if err != nil {
		t.Fatal(err)
	}
	var work sync.WaitGroup
	work.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			fmt.Fprintln(c, h.Name)
			c.Close()
		}
	})
	t.Cleanup(work.Wait)
	t.Cleanup(func() { l.Close() })
	return at
}

func ask(h *Host, at netip.AddrPort, within time.Duration) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	c, err := h.DialContext(ctx, "tcp", at.String())
	if err != nil {
		return "", err
	}
	defer c.Close()
	return bufio.NewReader(c).ReadString('\n')
}

// askFromHere is what this machine's own network has to say at an address; it
// may have a machine of its own there.
func askFromHere(at netip.AddrPort) string {
	c, err := net.DialTimeout("tcp", at.String(), 300*time.Millisecond)
	if err != nil {
		return ""
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(300 * time.Millisecond))
	answer, _ := bufio.NewReader(c).ReadString('\n')
	return answer
}

func awaitAnswer(t *testing.T, h *Host, at netip.AddrPort) {
	t.Helper()
	var err error
	for began := time.Now(); time.Since(began) < patience; {
		if _, err = ask(h, at, time.Second); err == nil {
			return
		}
	}
	t.Fatalf("no answer from %v: %v", at, err)
}

func TestHostsReachOneAnotherAndNobodyElse(t *testing.T) {
	t.Parallel()
	needNamespaces(t)
	s := newSwitch(t)
	a, b := newHost(t, s, "a", "10.1.0.1/24"), newHost(t, s, "b", "10.1.0.2/24")
	at := serveHello(t, b, 80)
	got, err := ask(a, at, patience)
	if err != nil || got != "b\n" {
		t.Errorf("a asked b and read %q (%v)", got, err)
	}
	if got := askFromHere(at); got == "b\n" {
		t.Error("this machine's own network reaches b")
	}
}

func TestHostsMayUseTheSamePortOfTheirLoopback(t *testing.T) {
	t.Parallel()
	needNamespaces(t)
	s := newSwitch(t)
	for _, name := range []string{"a", "b"} {
		h := newHost(t, s, name, "10.1.0.1/24")
		l, err := h.ListenTCP(netip.MustParseAddrPort("127.0.0.1:1080"))
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
	}
}

func TestCutCableCarriesNothing(t *testing.T) {
	t.Parallel()
	needNamespaces(t)
	left, right := newSwitch(t), newSwitch(t)
	trunk, err := left.Join(right)
	if err != nil {
		t.Fatal(err)
	}
	a, b, c := newHost(t, left, "a", "10.1.0.1/24"), newHost(t, right, "b", "10.1.0.2/24"), newHost(t, left, "c", "10.1.0.3/24")
	far, near := serveHello(t, b, 80), serveHello(t, c, 80)
	awaitAnswer(t, a, far)
	for _, cable := range []*Cable{trunk, b.Cable} {
		if err := cable.Cut(); err != nil {
			t.Fatal(err)
		}
		if got, err := ask(a, far, 300*time.Millisecond); err == nil {
			t.Errorf("%q passed a cut cable", got)
		}
		awaitAnswer(t, a, near)
		if err := cable.Mend(); err != nil {
			t.Fatal(err)
		}
		awaitAnswer(t, a, far)
	}
}

func TestLimitedCableIsSlow(t *testing.T) {
	t.Parallel()
	needNamespaces(t)
	s := newSwitch(t)
	a, b := newHost(t, s, "a", "10.1.0.1/24"), newHost(t, s, "b", "10.1.0.2/24")
	if err := b.Cable.Limit(8000); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if err := sendUnread(a, b, 500_000); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took < 300*time.Millisecond {
		t.Errorf("4 megabits passed a cable of 8 a second in %v", took)
	}
	if err := b.Cable.Limit(0); err != nil {
		t.Error(err)
	}
}

// sendUnread brings so many bytes from one host to another.
func sendUnread(from, to *Host, size int64) error {
	l, err := to.ListenTCP(netip.AddrPortFrom(to.Addr, 9))
	if err != nil {
		return err
	}
	defer l.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c, err := from.DialContext(ctx, "tcp", l.Addr().String())
	if err != nil {
		return err
	}
	defer c.Close()
	got, err := l.Accept()
	if err != nil {
		return err
	}
	defer got.Close()
	var sending sync.WaitGroup
	defer sending.Wait()
	sending.Go(func() { _, _ = c.Write(make([]byte, size)) })
	_, err = io.CopyN(io.Discard, got, size)
	return err
}

func TestCommandsRunOnTheirHost(t *testing.T) {
	t.Parallel()
	needNamespaces(t)
	s := newSwitch(t)
	h := newHost(t, s, "a", "10.1.0.7/24")
	cmd := exec.Command("ip", "-brief", "address")
	var out strings.Builder
	cmd.Stdout = &out
	if err := h.Start(cmd); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "10.1.0.7/24") {
		t.Errorf("the command saw\n%s", &out)
	}
}

func TestPulledPlugEndsEveryProcessOfTheHost(t *testing.T) {
	t.Parallel()
	needNamespaces(t)
	s := newSwitch(t)
	a, b := newHost(t, s, "a", "10.1.0.1/24"), newHost(t, s, "b", "10.1.0.2/24")
	var cmds []*exec.Cmd
	for _, h := range []*Host{a, a, b} {
		cmd := exec.Command("sleep", "1000")
		if err := h.Start(cmd); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
		cmds = append(cmds, cmd)
	}
	if err := a.PullPlug(); err != nil {
		t.Fatal(err)
	}
	for i, want := range []bool{false, false, true} {
		if got := slices.Contains(b.Processes(), cmds[i].Process.Pid); got != want {
			t.Errorf("process %d runs on b: %v, want %v", i, got, want)
		}
	}
	if left := a.Processes(); len(left) > 0 {
		t.Errorf("processes are left on a: %d", left)
	}
}

// Threads come back: goroutines that follow run in this machine's network.
func TestThreadsComeHome(t *testing.T) {
	t.Parallel()
	needNamespaces(t)
	s := newSwitch(t)
	h := newHost(t, s, "a", "10.1.0.1/24")
	home := namespaceOf(t)
	for range 100 {
		if _, err := inside(h.Namespace, func() (int, error) { return 0, errors.New("whatever happens") }); err == nil {
			t.Fatal("no error from inside")
		}
		if got := namespaceOf(t); got != home {
			t.Fatalf("this goroutine runs in %s, not %s", got, home)
		}
	}
}

func namespaceOf(t *testing.T) string {
	t.Helper()
	name, err := os.Readlink(ownNamespace)
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// A namespace may be closed while somebody is about to enter it.
func TestAClosedNamespaceLetsNobodyIn(t *testing.T) {
	t.Parallel()
	needNamespaces(t)
	n, err := newNamespace()
	if err != nil {
		t.Fatal(err)
	}
	entered := make(chan struct{}, 1)
	var dials sync.WaitGroup
	for range 4 {
		dials.Go(func() {
			for {
				_, err := inside(n, func() (struct{}, error) { return struct{}{}, nil })
				if err != nil {
					return
				}
				select {
				case entered <- struct{}{}:
				default:
				}
			}
		})
	}
	<-entered
	if err := n.Close(); err != nil {
		t.Error(err)
	}
	dials.Wait()
	if _, err := n.DialContext(t.Context(), "tcp", "127.0.0.1:1"); err == nil || !strings.Contains(err.Error(), "enter a network namespace") {
		t.Errorf("a dial in a namespace that is closed: %v", err)
	}
}
