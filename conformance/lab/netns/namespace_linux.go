package netns

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// Unavailable says why no namespaces can be made here; nil when they can.
func Unavailable() error { return unavailable() }

var unavailable = sync.OnceValue(func() error {
	if os.Geteuid() != 0 {
		return errors.New("network namespaces need root")
	}
	for _, tool := range []string{"ip", "tc"} {
		if _, err := exec.LookPath(tool); err != nil {
			return fmt.Errorf("network namespaces need %s of iproute2: %w", tool, err)
		}
	}
	s, err := NewSwitch()
	if err != nil {
		return fmt.Errorf("network namespaces cannot be made here: %w", err)
	}
	return s.Close()
})

// Namespace is a network stack of its own. Its methods may be used by any
// number of goroutines, and fail once it is closed: an HTTP client goes on to dial
// for a request that nobody waits for any more.
type Namespace struct {
	file *os.File // of the kernel's; keeps the namespace
}

// newNamespace makes one whose loopback is up.
func newNamespace() (*Namespace, error) {
	made, err := onThread(func() (*Namespace, error) {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return nil, fmt.Errorf("make a network namespace: %w", err)
		}
		file, err := os.Open(ownNamespace)
		if err != nil {
			return nil, fmt.Errorf("make a network namespace: %w", err)
		}
		return &Namespace{file}, nil
	})
	if err != nil {
		return nil, err
	}
	if err := made.ip("link", "set", "lo", "up"); err != nil {
		return nil, errors.Join(err, made.Close())
	}
	return made, nil
}

const ownNamespace = "/proc/thread-self/ns/net"

// onThread runs f, which changes its thread's namespace, and brings the thread
// back. One that cannot come back ends with its goroutine.
func onThread[T any](f func() (T, error)) (result T, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		home, homeErr := os.Open(ownNamespace)
		if homeErr != nil {
			err = homeErr
			return
		}
		defer home.Close()
		result, err = f()
		if unix.Setns(int(home.Fd()), unix.CLONE_NEWNET) == nil {
			runtime.UnlockOSThread()
		}
	}()
	<-done
	return result, err
}

// Close lets the namespace go. The kernel removes it, with its cables, when
// also the last program and socket in it have ended.
func (n *Namespace) Close() error { return n.file.Close() }

// inside runs f on a thread that is in the namespace. What f opens or starts
// stays in it; goroutines of f do not run in it.
func inside[T any](n *Namespace, f func() (T, error)) (T, error) {
	return onThread(func() (T, error) {
		if err := n.enter(); err != nil {
			var none T
			return none, fmt.Errorf("enter a network namespace: %w", err)
		}
		return f()
	})
}

// enter moves the calling thread into the namespace, which stays open meanwhile.
func (n *Namespace) enter() error {
	raw, err := n.file.SyscallConn()
	if err != nil {
		return err
	}
	var entered error
	err = raw.Control(func(fd uintptr) { entered = unix.Setns(int(fd), unix.CLONE_NEWNET) })
	return errors.Join(err, entered)
}

// Start starts a command in the namespace. Whoever started it waits for it.
func (n *Namespace) Start(cmd *exec.Cmd) error {
	_, err := inside(n, func() (struct{}, error) { return struct{}{}, cmd.Start() })
	return err
}

// DialContext connects from inside the namespace. The address is literal, since
// a name would be looked up outside.
func (n *Namespace) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	if _, err := netip.ParseAddrPort(address); err != nil {
		return nil, fmt.Errorf("dial in a network namespace: %w", err)
	}
	return inside(n, func() (net.Conn, error) {
		var dialer net.Dialer
		return dialer.DialContext(ctx, network, address)
	})
}

// ListenTCP listens inside the namespace.
func (n *Namespace) ListenTCP(at netip.AddrPort) (*net.TCPListener, error) {
	return inside(n, func() (*net.TCPListener, error) { return net.ListenTCP("tcp", net.TCPAddrFromAddrPort(at)) })
}

// ListenUDP opens a UDP socket inside the namespace.
func (n *Namespace) ListenUDP(at netip.AddrPort) (*net.UDPConn, error) {
	return inside(n, func() (*net.UDPConn, error) { return net.ListenUDP("udp", net.UDPAddrFromAddrPort(at)) })
}

// path is how ip, which inherits nothing, finds the namespace.
func (n *Namespace) path() string { return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), n.file.Fd()) }

func (n *Namespace) ip(args ...string) error { return n.run("ip", args...) }

// run runs a command in the namespace to its end.
func (n *Namespace) run(program string, args ...string) error {
	cmd := exec.Command(program, args...)
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	err := n.Start(cmd)
	if err == nil {
		err = cmd.Wait()
	}
	if err != nil {
		return fmt.Errorf("%s: %w: %s", cmd, err, strings.TrimSpace(said.String()))
	}
	return nil
}
