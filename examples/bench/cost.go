package main

import (
	"context"
	"math"
	"time"
)

const (
	gigabyte  = 1e9
	kibibyte  = 1 << 10
	idleConns = 512
)

// unknown stands for what this way or this system does not tell.
var unknown = []float64{math.NaN()}

// cpuPerGigabyte gives CPU seconds of the way's processes for a gigabyte down.
func cpuPerGigabyte(ctx context.Context, l load) ([]float64, error) {
	before, ok := cpuTime(l.procs)
	if !ok {
		return unknown, nil
	}
	rate, err := l.pull(ctx, 4)
	after, ok := cpuTime(l.procs)
	if err != nil || !ok {
		return unknown, err
	}
	bytes := rate * (l.span + l.settle()).Seconds()
	return []float64{(after - before).Seconds() / (bytes / gigabyte)}, nil
}

// memoryPerIdle gives the KiB by which the way's processes grow for each idle
// connection, after one round trip on it.
func memoryPerIdle(ctx context.Context, l load) ([]float64, error) {
	before, ok := resident(l.procs)
	if !ok {
		return unknown, nil
	}
	callers, err := l.callers(idleConns)
	if err != nil {
		return nil, err
	}
	wait(ctx, time.Second)
	after, ok := resident(l.procs)
	for _, r := range callers {
		_ = r.conn.Close()
	}
	if !ok {
		return unknown, nil
	}
	return []float64{float64(after-before) / idleConns / kibibyte}, nil
}
