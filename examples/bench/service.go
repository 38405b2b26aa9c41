package main

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
)

// What a client asks of the service with its first byte.
const (
	askEcho   = 'e' // send back what comes
	askSink   = 's' // swallow what comes
	askSource = 'd' // send without end
	askOnce   = 'o' // send one byte and end
)

const blockSize = 64 << 10

// service is what the ways lead to.
type service struct {
	listener net.Listener
	received atomic.Int64 // bytes swallowed
	work     sync.WaitGroup
	mu       sync.Mutex
	conns    map[net.Conn]struct{}
	closed   bool
}

func serve(address string) (*service, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	s := &service{listener: l, conns: map[net.Conn]struct{}{}}
	s.work.Go(s.accept)
	return s, nil
}

func (s *service) address() string { return s.listener.Addr().String() }

func (s *service) close() {
	_ = s.listener.Close()
	s.mu.Lock()
	s.closed = true
	for c := range s.conns {
		_ = c.Close()
	}
	s.mu.Unlock()
	s.work.Wait()
}

func (s *service) accept() {
	for {
		c, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.work.Go(func() { s.answer(c) })
	}
}

// keep remembers a connection for close.
func (s *service) keep(c net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conns[c] = struct{}{}
	return !s.closed
}

func (s *service) forget(c net.Conn) {
	_ = c.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
}

func (s *service) answer(c net.Conn) {
	defer s.forget(c)
	var ask [1]byte
	if !s.keep(c) {
		return
	}
	if _, err := io.ReadFull(c, ask[:]); err != nil {
		return
	}
	switch ask[0] {
	case askEcho:
		echo(c)
	case askSink:
		s.swallow(c)
	case askSource:
		pour(c)
	case askOnce:
		_, _ = c.Write(ask[:])
	}
}

func echo(c net.Conn) {
	var buf [messageSize]byte
	for {
		n, err := c.Read(buf[:])
		if err != nil {
			return
		}
		if _, err := c.Write(buf[:n]); err != nil {
			return
		}
	}
}

func (s *service) swallow(c net.Conn) {
	buf := make([]byte, blockSize)
	for {
		n, err := c.Read(buf)
		s.received.Add(int64(n))
		if err != nil {
			return
		}
	}
}

func pour(c net.Conn) {
	buf := make([]byte, blockSize)
	for {
		if _, err := c.Write(buf); err != nil {
			return
		}
	}
}
