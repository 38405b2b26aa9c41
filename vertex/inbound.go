package vertex

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"slices"
	"sync"
)

// inbounds keeps the local ports open that the tables name.
type inbounds struct {
	serve func(*net.TCPConn, inbound)
	run   func(func()) // starts a goroutine that the vertex waits for
	log   *slog.Logger

	mu     sync.Mutex
	ports  map[inbound]*port
	closed bool
}

// port is one local port: open, or busy and tried again (VTX-13).
type port struct {
	inbound
	cancel   context.CancelFunc
	ended    chan struct{}
	mu       sync.Mutex
	listener *net.TCPListener // nil while the port is busy
}

// set opens and closes ports so that exactly those wanted are there. Each new
// port has been tried once when it returns.
func (i *inbounds) set(want []inbound) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for in, p := range i.ports {
		if !slices.Contains(want, in) {
			p.close()
			delete(i.ports, in)
		}
	}
	for _, in := range want {
		if i.ports[in] == nil && !i.closed {
			i.ports[in] = i.start(in)
		}
	}
}

// close closes every port for good.
func (i *inbounds) close() {
	i.mu.Lock()
	i.closed = true
	i.mu.Unlock()
	i.set(nil)
}

// open lists the addresses that listen.
func (i *inbounds) open() []string {
	i.mu.Lock()
	defer i.mu.Unlock()
	var listening []string
	for in, p := range i.ports {
		if p.isOpen() {
			listening = append(listening, in.listen)
		}
	}
	return listening
}

func (i *inbounds) start(in inbound) *port {
	ctx, cancel := context.WithCancel(context.Background())
	p := &port{inbound: in, cancel: cancel, ended: make(chan struct{})}
	err := p.listen(ctx)
	if err != nil {
		i.log.Warn("local port busy", "listen", in.listen, "principal", in.principal, "error", err)
	}
	i.run(func() {
		defer close(p.ended)
		if err != nil && !i.retry(ctx, p) {
			return
		}
		i.accept(ctx, p)
	})
	return p
}

// retry tries a busy port until it is free or no longer wanted.
func (i *inbounds) retry(ctx context.Context, p *port) bool {
	attempts := 1
	for wait := portRetryFirst; pause(ctx, wait) == nil; wait = min(2*wait, portRetryMax) {
		attempts++
		if p.listen(ctx) == nil {
			i.log.Info("local port open", "listen", p.inbound.listen, "attempts", attempts)
			return true
		}
	}
	return false
}

// accept serves clients until the port is closed. A failure to accept, such
// as too many open files, passes; it is told of once until a client is served.
func (i *inbounds) accept(ctx context.Context, p *port) {
	told := false
	for {
		conn, err := p.listener.AcceptTCP()
		if err == nil {
			told = false
			i.run(func() { i.serve(conn, p.inbound) })
			continue
		}
		if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
			return
		}
		if !told {
			i.log.Warn("local port takes no client", "listen", p.inbound.listen, "principal", p.inbound.principal, "error", err)
			told = true
		}
		if pause(ctx, portRetryFirst) != nil {
			return
		}
	}
}

func (p *port) listen(ctx context.Context) error {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", p.inbound.listen)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if ctx.Err() != nil {
		return errors.Join(ctx.Err(), l.Close())
	}
	p.listener = l.(*net.TCPListener)
	return nil
}

func (p *port) isOpen() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.listener != nil
}

// close closes the port and waits for its accept loop; clients that are being
// served go on.
func (p *port) close() {
	p.cancel()
	p.mu.Lock()
	if p.listener != nil {
		_ = p.listener.Close()
	}
	p.mu.Unlock()
	<-p.ended
}
