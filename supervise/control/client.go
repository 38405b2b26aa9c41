package control

import (
	"context"
	"io"
	"iter"
)

// Client calls the agent on its control socket. When nobody serves the
// socket, every call returns a *[NotRunning]; a call that was refused returns
// an *[Error]. Its methods may be called from any goroutine.
type Client struct{ socket string }

// NewClient returns a client of the socket at path. It connects per call.
func NewClient(path string) *Client { return &Client{socket: path} }

// Status returns the state of the agent.
func (c *Client) Status(ctx context.Context) (StatusDoc, error) { return StatusDoc{}, nil }

// Watch yields the state of the agent at once and at each change, until ctx
// is done (silently) or the agent ends (with an error, which is the last).
func (c *Client) Watch(ctx context.Context) iter.Seq2[StatusDoc, error] { return nil }

// Sync asks for a sync and waits until it has ended. A nil set is fetched.
func (c *Client) Sync(ctx context.Context, dryRun bool, set io.Reader) (SyncResult, error) {
	return SyncResult{}, nil
}

// Inbounds maps each principal of the node to where it connects.
func (c *Client) Inbounds(ctx context.Context) (map[string]Inbound, error) { return nil, nil }

// Restart restarts a workload; it does not wait for it.
func (c *Client) Restart(ctx context.Context, name string) error { return nil }

// Metrics returns the counters as OpenMetrics text.
func (c *Client) Metrics(ctx context.Context) ([]byte, error) { return nil, nil }
