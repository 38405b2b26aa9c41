package vertex

import (
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
)

// The pair of these benchmarks lives in one process with its load; see
// examples/bench for processes of their own.

const benchBlock = 64 << 10

// BenchmarkBulk carries b.N blocks of 64 KiB, shared by a number of connections.
func BenchmarkBulk(b *testing.B) {
	for _, n := range []int{1, 4, 64} {
		b.Run(fmt.Sprintf("up-%d", n), func(b *testing.B) {
			benchBulk(b, n, func(client, service net.Conn) (net.Conn, net.Conn) { return client, service })
		})
		b.Run(fmt.Sprintf("down-%d", n), func(b *testing.B) {
			benchBulk(b, n, func(client, service net.Conn) (net.Conn, net.Conn) { return service, client })
		})
	}
}

func benchBulk(b *testing.B, n int, direction func(client, service net.Conn) (from, to net.Conn)) {
	upstream, conns := parked(b)
	d := newDuo(b, upstream)
	var left atomic.Int64
	left.Store(int64(b.N))
	var work sync.WaitGroup
	type ends struct{ from, to net.Conn }
	var pairs []ends
	for range n {
		c := d.dial(b)
		from, to := direction(c, <-conns)
		pairs = append(pairs, ends{from, to})
	}
	b.SetBytes(benchBlock)
	b.ResetTimer()
	for _, p := range pairs {
		work.Go(func() {
			block := make([]byte, benchBlock)
			for left.Add(-1) >= 0 {
				if _, err := p.from.Write(block); err != nil {
					b.Error(err)
					return
				}
			}
			_ = p.from.(*net.TCPConn).CloseWrite()
		})
		work.Go(func() {
			_, _ = io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{p.to}, make([]byte, benchBlock))
		})
	}
	work.Wait()
}

// BenchmarkRequest is a round trip of 64 bytes on one connection, or on each
// of several at once.
func BenchmarkRequest(b *testing.B) {
	for _, n := range []int{1, 64} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			d := newDuo(b, backend(b, echo))
			var left atomic.Int64
			left.Store(int64(b.N))
			var conns []net.Conn
			for range n {
				conns = append(conns, d.dial(b))
			}
			b.ResetTimer()
			var work sync.WaitGroup
			for _, c := range conns {
				work.Go(func() {
					message := make([]byte, 64)
					for left.Add(-1) >= 0 {
						_, _ = c.Write(message)
						if _, err := io.ReadFull(c, message); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			work.Wait()
		})
	}
}

// BenchmarkConnect is a new connection with one round trip.
func BenchmarkConnect(b *testing.B) {
	for _, n := range []int{1, 32} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			d := newDuo(b, backend(b, echo))
			var left atomic.Int64
			left.Store(int64(b.N))
			b.ResetTimer()
			var work sync.WaitGroup
			for range n {
				work.Go(func() {
					for left.Add(-1) >= 0 {
						c := d.dial(b)
						_, _ = io.WriteString(c, "x")
						_, _ = io.ReadFull(c, make([]byte, 1))
						c.Close()
					}
				})
			}
			work.Wait()
		})
	}
}
