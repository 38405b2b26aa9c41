package traffic

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
)

// Stock is a service that greets first, as databases and mail servers do, then
// answers one line a question.
type Stock struct {
	listener net.Listener
	work     sync.WaitGroup
	mu       sync.Mutex
	conns    map[net.Conn]bool
	closed   bool
}

const stockGreeting = "stock on beta, ready"

// ServeStock serves at a listener until it is closed.
func ServeStock(l net.Listener) *Stock {
	s := &Stock{listener: l, conns: map[net.Conn]bool{}}
	s.work.Go(s.serve)
	return s
}

// Close cuts all connections.
func (s *Stock) Close() error {
	s.mu.Lock()
	s.closed = true
	err := s.listener.Close()
	for conn := range s.conns {
		conn.Close()
	}
	s.mu.Unlock()
	s.work.Wait()
	return err
}

func (s *Stock) serve() {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.work.Go(func() { s.answer(conn) })
	}
}

func (s *Stock) answer(conn net.Conn) {
	defer conn.Close()
	if !s.keep(conn) {
		return
	}
	defer s.drop(conn)
	fmt.Fprintln(conn, stockGreeting)
	for lines := bufio.NewScanner(conn); lines.Scan(); {
		item := lines.Text()
		fmt.Fprintf(conn, "%s: %d euros\n", item, 10+len(item))
	}
}

func (s *Stock) keep(conn net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conns[conn] = true
	return !s.closed
}

func (s *Stock) drop(conn net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, conn)
}

// AskStock waits for the greeting before it asks for the price of an item.
func AskStock(ctx context.Context, client *Client, item string) (string, error) {
	conn, err := client.Dial(ctx, "stock")
	if err != nil {
		return "", err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	lines := bufio.NewReader(conn)
	if greeting, err := lines.ReadString('\n'); err != nil || strings.TrimSpace(greeting) != stockGreeting {
		return "", fmt.Errorf("the stock greeted with %q: %w", greeting, err)
	}
	if _, err := fmt.Fprintln(conn, item); err != nil {
		return "", err
	}
	answer, err := lines.ReadString('\n')
	return strings.TrimSpace(answer), err
}
