package tunnel

import (
	"context"
	"errors"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/florete/flor/conformance/internal/trial"
)

// DeafTCP is an address whose machine takes no connection and says nothing: that
// of a listener with room for one client, which nobody accepts, and who more than
// one wait for.
func DeafTCP(t *trial.T) string {
	l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	t.Check(err, "listen")
	t.Cleanup(func() { _ = l.Close() })
	raw, err := l.SyscallConn()
	t.Check(err, "look at a listener")
	var narrowed error
	t.Check(raw.Control(func(fd uintptr) { narrowed = syscall.Listen(int(fd), 0) }), "look at a listener")
	t.Check(narrowed, "give a listener room for one client")
	crowd(t, l.Addr().String())
	return l.Addr().String()
}

// crowd has clients wait at an address until the case ends, and returns when the
// first of them has its place.
func crowd(t *trial.T, addr string) {
	const clients = 8
	ctx, leave := context.WithCancel(t.Context())
	var waiting sync.WaitGroup
	placed := make(chan struct{}, clients)
	for range clients {
		waiting.Go(func() {
			conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
			if err != nil {
				return
			}
			placed <- struct{}{}
			<-ctx.Done()
			_ = conn.Close()
		})
	}
	t.Cleanup(func() {
		leave()
		waiting.Wait()
	})
	select {
	case <-placed:
	case <-t.Context().Done():
		t.Fatalf("no client connects to a listener of this very process")
	}
}

// UnreachableTCP is an address that this machine calls unreachable at once,
// whatever its routes are: TCP has no connection to a group or to everybody.
func UnreachableTCP(t *trial.T) string {
	var said []error
	for _, host := range []string{"224.0.0.1", "255.255.255.255", "240.0.0.1"} {
		addr := net.JoinHostPort(host, "9")
		conn, err := net.DialTimeout("tcp", addr, time.Second)
		if err == nil {
			_ = conn.Close()
			continue
		}
		if errors.Is(err, syscall.ENETUNREACH) || errors.Is(err, syscall.EHOSTUNREACH) {
			return addr
		}
		said = append(said, err)
	}
	t.Fatalf("this machine calls no address unreachable, so that what a vertex makes of one cannot be seen here: %w", errors.Join(said...))
	return ""
}
