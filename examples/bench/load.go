package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// messageSize is the size of a request and of its answer, in bytes.
const messageSize = 64

// load is one way under load.
type load struct {
	way
	service *service
	span    time.Duration
}

// settle is the part of a run's start that is not counted.
func (l load) settle() time.Duration { return l.span / 4 }

// open opens n connections that have asked the service for something.
func (l load) open(n int, ask byte) ([]net.Conn, error) {
	var conns []net.Conn
	for range n {
		c, err := l.dial()
		if err == nil {
			conns = append(conns, c)
			_, err = c.Write([]byte{ask})
		}
		if err != nil {
			closeAll(conns)
			return nil, err
		}
	}
	return conns, nil
}

func closeAll(conns []net.Conn) {
	for _, c := range conns {
		_ = c.Close()
	}
}

// over runs work on each connection until the run's time is over, and gives
// how much a counter grew a second after it had settled. A run in which nothing
// came yet is prolonged until something does, startWithin at most.
func (l load) over(ctx context.Context, conns []net.Conn, work func(net.Conn), count func() int64) float64 {
	var running sync.WaitGroup
	for _, c := range conns {
		running.Go(func() { work(c) })
	}
	wait(ctx, l.settle())
	before, begun := count(), time.Now()
	wait(ctx, l.span)
	for count() == before && ctx.Err() == nil && time.Since(begun) < startWithin {
		wait(ctx, l.span)
	}
	grown, took := count()-before, time.Since(begun)
	closeAll(conns)
	running.Wait()
	return float64(grown) / took.Seconds()
}

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

const megabyte = 1e6

// bulkUp gives megabytes a second that arrive at the service.
func bulkUp(n int) measurement {
	return func(ctx context.Context, l load) ([]float64, error) {
		conns, err := l.open(n, askSink)
		if err != nil {
			return nil, err
		}
		return []float64{l.over(ctx, conns, pour, l.service.received.Load) / megabyte}, nil
	}
}

// bulkDown gives megabytes a second that arrive from the service.
func bulkDown(n int) measurement {
	return func(ctx context.Context, l load) ([]float64, error) {
		rate, err := l.pull(ctx, n)
		return []float64{rate / megabyte}, err
	}
}

// pull gives bytes a second that arrive from the service.
func (l load) pull(ctx context.Context, n int) (float64, error) {
	conns, err := l.open(n, askSource)
	if err != nil {
		return 0, err
	}
	var received atomic.Int64
	return l.over(ctx, conns, func(c net.Conn) { discard(c, &received) }, received.Load), nil
}

func discard(c net.Conn, received *atomic.Int64) {
	buf := make([]byte, blockSize)
	for {
		n, err := c.Read(buf)
		received.Add(int64(n))
		if err != nil {
			return
		}
	}
}

// requester makes round trips on one connection and keeps their times.
type requester struct {
	conn  net.Conn
	asked bool
	times []time.Duration
}

func newRequester(c net.Conn) *requester { return &requester{conn: c} }

// once makes one round trip.
func (r *requester) once() error {
	var out [messageSize + 1]byte
	message := out[1:]
	if !r.asked {
		out[0], message, r.asked = askEcho, out[:], true
	}
	begun := time.Now()
	if _, err := r.conn.Write(message); err != nil {
		return err
	}
	if _, err := io.ReadFull(r.conn, out[:messageSize]); err != nil {
		return err
	}
	r.times = append(r.times, time.Since(begun))
	return nil
}

// requests gives round trips a second, their median and 99th percentile, and
// the CPU time of the way's processes for each, all in microseconds.
func requests(n int) measurement {
	return func(ctx context.Context, l load) ([]float64, error) {
		callers, err := l.callers(n)
		if err != nil {
			return nil, err
		}
		before, _ := cpuTime(l.procs)
		begun := time.Now()
		deadline := begun.Add(l.span)
		var running sync.WaitGroup
		for _, r := range callers {
			running.Go(func() {
				defer r.conn.Close()
				for r.once() == nil && time.Now().Before(deadline) && ctx.Err() == nil {
				}
			})
		}
		running.Wait()
		values, err := summary(callers, time.Since(begun))
		if err != nil {
			return nil, err
		}
		return append(values, perRoundTrip(l.procs, before, callers)), nil
	}
}

// perRoundTrip gives the CPU time that processes have used since before, for
// each round trip, in microseconds.
func perRoundTrip(procs []*os.Process, before time.Duration, callers []*requester) float64 {
	now, ok := cpuTime(procs)
	if !ok {
		return math.NaN()
	}
	n := 0
	for _, r := range callers {
		n += len(r.times)
	}
	return float64(now-before) / float64(time.Microsecond) / float64(n)
}

// callers are connections on which one round trip has been made.
func (l load) callers(n int) ([]*requester, error) {
	var callers []*requester
	for range n {
		c, err := l.dial()
		if err == nil {
			r := newRequester(c)
			callers = append(callers, r)
			err = r.once()
			r.times = nil
		}
		if err != nil {
			for _, r := range callers {
				_ = r.conn.Close()
			}
			return nil, err
		}
	}
	return callers, nil
}

func summary(callers []*requester, took time.Duration) ([]float64, error) {
	var all []time.Duration
	for _, r := range callers {
		all = append(all, r.times...)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no round trip on %d connections", len(callers))
	}
	slices.Sort(all)
	at := func(part float64) float64 {
		return float64(all[int(part*float64(len(all)-1))]) / float64(time.Microsecond)
	}
	return []float64{float64(len(all)) / took.Seconds(), at(0.5), at(0.99)}, nil
}

// connects gives new connections a second, each with one round trip.
func connects(clients int) measurement {
	return func(ctx context.Context, l load) ([]float64, error) {
		var done, failed atomic.Int64
		var running sync.WaitGroup
		begun := time.Now()
		for range clients {
			running.Go(func() {
				for time.Since(begun) < l.span && ctx.Err() == nil {
					if l.connect() == nil {
						done.Add(1)
					} else {
						failed.Add(1)
					}
				}
			})
		}
		running.Wait()
		if f := failed.Load(); f > done.Load()/100 {
			return nil, fmt.Errorf("%d of %d connections failed", f, f+done.Load())
		}
		return []float64{float64(done.Load()) / time.Since(begun).Seconds()}, nil
	}
}

// connect makes a connection, asks for a byte, and waits for the end.
func (l load) connect() error {
	c, err := l.dial()
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := c.Write([]byte{askOnce}); err != nil {
		return err
	}
	got, err := io.ReadAll(c)
	if err == nil && len(got) != 1 {
		err = io.ErrUnexpectedEOF
	}
	return err
}
