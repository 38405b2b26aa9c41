package program

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"syscall"
	"time"

	"github.com/florete/flor/supervise/internal/unixhttp"
)

// AnswerTimeout is how long a workload may take to answer an apply or a ready
// (SUP-11).
const AnswerTimeout = 2 * time.Second

// Channel is the agent's end of a workload's control channel (SUP-11). It
// connects per call. Its methods may be called from any goroutine; each
// returns an error, FL2510, when the workload serves no such channel, does not
// answer in time, or answers with an error.
type Channel struct{ http *unixhttp.Client }

// DialControl returns the channel at the path of a workload's socket. It does
// not connect yet.
func DialControl(socket string) *Channel { return &Channel{http: unixhttp.NewClient(socket)} }

// Apply offers the artifact at an absolute path and tells whether the workload
// runs on it now, or with dryRun whether it would. Any error means restart.
func (c *Channel) Apply(ctx context.Context, artifact string, dryRun bool) (swapped bool, err error) {
	var answer resultAnswer
	req := applyRequest{MgmtArtifact: artifact, DryRun: dryRun}
	if err := c.call(ctx, AnswerTimeout, http.MethodPost, "/v1/apply", req, &answer); err != nil {
		return false, err
	}
	switch answer.Result {
	case resultSwapped:
		return true, nil
	case resultRestart:
		return false, nil
	default:
		return false, refuse("FL2510", "no-control", "/v1/apply answered %q", answer.Result)
	}
}

// Ready asks whether the workload serves.
func (c *Channel) Ready(ctx context.Context) (Readiness, error) {
	var answer Readiness
	err := c.call(ctx, AnswerTimeout, http.MethodGet, "/v1/ready", nil, &answer)
	return answer, err
}

// Drain tells the workload that it has the given time to finish what it is
// doing, and returns when it has, or when the time is over.
func (c *Channel) Drain(ctx context.Context, within time.Duration) error {
	var answer resultAnswer
	return c.call(ctx, within, http.MethodPost, "/v1/drain", drainRequest{WithinMS: within.Milliseconds()}, &answer)
}

// Metrics returns the workload's counters as text.
func (c *Channel) Metrics(ctx context.Context) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, AnswerTimeout)
	defer cancel()
	text, err := c.http.Read(ctx, http.MethodGet, "/metrics", nil)
	if err != nil {
		return nil, noControl("/metrics", err)
	}
	return text, nil
}

// NotServed tells an error of a [Channel] that means that nobody serves one
// there, which a workload need not, from one of a channel that fails.
func NotServed(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED)
}

func (c *Channel) call(ctx context.Context, within time.Duration, method, target string, in, out any) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	if err := c.http.JSON(ctx, method, target, in, out); err != nil {
		return noControl(target, err)
	}
	return nil
}

func noControl(target string, err error) error {
	return refuse("FL2510", "no-control", "%s: %w", target, err)
}
