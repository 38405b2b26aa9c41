package control

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"net/url"

	"github.com/florete/flor/supervise/internal/unixhttp"
)

// Client calls the agent on its control socket. When nobody serves the
// socket, every call returns a *[NotRunning]; a call that was refused returns
// an *[Error]. It sets no time limit but that of the context. Its methods may
// be called from any goroutine.
type Client struct {
	socket string
	http   *unixhttp.Client
}

// NewClient returns a client of the socket at path. It connects per call.
func NewClient(path string) *Client {
	return &Client{socket: path, http: unixhttp.NewClient(path)}
}

// Status returns the state of the agent.
func (c *Client) Status(ctx context.Context) (StatusDoc, error) {
	return ask[StatusDoc](ctx, c, http.MethodGet, "/v1/status", nil)
}

// Watch yields the state of the agent at once and at each change, until ctx
// is done (silently) or the agent ends (with an error, which is the last).
func (c *Client) Watch(ctx context.Context) iter.Seq2[StatusDoc, error] {
	return func(yield func(StatusDoc, error) bool) {
		resp, err := c.http.Do(ctx, http.MethodGet, "/v1/status?watch=1", nil)
		if err != nil {
			c.yieldEnd(ctx, yield, c.explain(err))
			return
		}
		defer resp.Body.Close()
		lines := bufio.NewScanner(resp.Body)
		lines.Buffer(nil, unixhttp.MaxAnswer)
		for lines.Scan() {
			doc, err := decode[StatusDoc](lines.Bytes())
			if !yield(doc, err) || err != nil {
				return
			}
		}
		c.yieldEnd(ctx, yield, c.watchEnd(lines.Err()))
	}
}

func (c *Client) watchEnd(broken error) error {
	why := errors.New("the agent ended the watch")
	if broken != nil {
		why = fmt.Errorf("the agent ended the watch: %w", broken)
	}
	return &NotRunning{Socket: c.socket, Err: why}
}

func (c *Client) yieldEnd(ctx context.Context, yield func(StatusDoc, error) bool, err error) {
	if ctx.Err() == nil {
		yield(StatusDoc{}, err)
	}
}

// Sync asks for a sync and waits until it has ended. A nil set is fetched; one
// that is empty or over [MaxSetBody] is refused before it is sent: to the agent
// an empty body is none, and it would fetch.
func (c *Client) Sync(ctx context.Context, dryRun bool, set io.Reader) (SyncResult, error) {
	body, err := readBody(set)
	if err != nil {
		return SyncResult{}, err
	}
	target := "/v1/sync"
	if dryRun {
		target += "?dry_run=1"
	}
	return ask[SyncResult](ctx, c, http.MethodPost, target, body)
}

func readBody(set io.Reader) (io.Reader, error) {
	if set == nil {
		return nil, nil
	}
	text, err := io.ReadAll(io.LimitReader(set, MaxSetBody+1))
	if err != nil {
		return nil, fmt.Errorf("read the set document: %w", err)
	}
	switch {
	case len(text) > MaxSetBody:
		return nil, tooLarge()
	case len(text) == 0:
		return nil, &Error{FL: "FL3309", Status: http.StatusBadRequest, Message: "the set document is empty: offer one, or none to have the newest fetched"}
	}
	return bytes.NewReader(text), nil
}

// Inbounds maps each principal of the node to where it connects.
func (c *Client) Inbounds(ctx context.Context) (map[string]Inbound, error) {
	return ask[map[string]Inbound](ctx, c, http.MethodGet, "/v1/inbounds", nil)
}

// Restart restarts a workload; it does not wait for it.
func (c *Client) Restart(ctx context.Context, name string) error {
	_, err := ask[accepted](ctx, c, http.MethodPost, "/v1/workloads/"+url.PathEscape(name)+"/restart", nil)
	return err
}

// Metrics returns the counters as OpenMetrics text.
func (c *Client) Metrics(ctx context.Context) ([]byte, error) {
	text, err := c.http.Read(ctx, http.MethodGet, "/metrics", nil)
	if err != nil {
		return nil, c.explain(err)
	}
	return text, nil
}

func ask[T any](ctx context.Context, c *Client, method, target string, body io.Reader) (T, error) {
	var none T
	text, err := c.http.Read(ctx, method, target, body)
	if err != nil {
		return none, c.explain(err)
	}
	return decode[T](text)
}

func decode[T any](text []byte) (T, error) {
	var doc T
	if err := json.Unmarshal(text, &doc); err != nil {
		return doc, &Error{FL: "FL3307", Status: http.StatusOK, Message: fmt.Sprintf("the answer on the control socket is not the agent's: %v", err)}
	}
	return doc, nil
}

// explain turns what went wrong into what the caller can act upon.
func (c *Client) explain(err error) error {
	if answer, ok := errors.AsType[*unixhttp.Error](err); ok {
		return c.explainAnswer(answer)
	}
	if dial, ok := errors.AsType[*net.OpError](err); ok && dial.Op == "dial" {
		return &NotRunning{Socket: c.socket, Err: dial.Err}
	}
	return fmt.Errorf("call the agent on %s: %w", c.socket, err)
}

func (c *Client) explainAnswer(answer *unixhttp.Error) error {
	if answer.Code == "" {
		return &Error{FL: "FL3307", Status: answer.Status, Message: c.socket + " answered with " + answer.Message}
	}
	return &Error{FL: answer.Code, Status: answer.Status, Message: answer.Message}
}
