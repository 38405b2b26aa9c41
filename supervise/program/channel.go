package program

import (
	"context"
	"time"
)

// Channel is the agent's end of a workload's control channel (SUP-11). It
// connects per call. Its methods may be called from any goroutine.
type Channel struct{ socket string }

// AnswerTimeout is how long a workload may take to answer an apply or a ready
// (SUP-11).
const AnswerTimeout = 2 * time.Second

// DialControl returns the channel at the path of a workload's socket. It does
// not connect yet.
func DialControl(socket string) *Channel { return &Channel{socket: socket} }

// Apply offers the artifact at a path and tells whether the workload runs on
// it now, or with dryRun whether it would. Any error means restart.
func (c *Channel) Apply(ctx context.Context, artifact string, dryRun bool) (swapped bool, err error) {
	return false, nil
}

// Ready asks whether the workload serves.
func (c *Channel) Ready(ctx context.Context) (Readiness, error) { return Readiness{}, nil }

// Drain tells the workload that it has the given time to finish what it is
// doing, and returns when it has, or when the time is over.
func (c *Channel) Drain(ctx context.Context, within time.Duration) error { return nil }

// Metrics returns the workload's counters as text.
func (c *Channel) Metrics(ctx context.Context) ([]byte, error) { return nil, nil }
