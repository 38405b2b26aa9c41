package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/florete/flor/envelope"
	"github.com/florete/flor/relay/internal/wire"
)

// Options say where the coordinator is and how patient to be. The zero value of
// each duration means its default.
type Options struct {
	// BaseURL is the coordinator's listener, for example
	// "http://coordinator.service.my-rete". Scheme http, no path.
	BaseURL string
	// SOCKS5 is the host:port of the proxy to dial through; empty dials directly.
	SOCKS5 string
	// Answer is how long the header of a fetch may take beyond its wait (10 s).
	Answer time.Duration
	// Stall is how long a body may stand still (30 s).
	Stall time.Duration
	// Verdict is how long the answer to a publish may take once the body is out
	// (2 min): the relay parses, judges and syncs up to 256 MiB.
	Verdict time.Duration
}

const (
	defaultAnswer  = 10 * time.Second
	defaultStall   = 30 * time.Second
	defaultVerdict = 2 * time.Minute
)

// Client fetches from and publishes to one coordinator (CRD-9).
type Client struct {
	base *url.URL
	opts Options
	http *http.Client
}

// New makes a client. It dials nothing; a BaseURL that is not a plain http
// origin and a SOCKS5 that is not host:port are refused.
func New(opts Options) (*Client, error) {
	base, err := parseBase(opts.BaseURL)
	if err != nil {
		return nil, err
	}
	dial, err := dialer(opts.SOCKS5)
	if err != nil {
		return nil, err
	}
	opts = opts.withDefaults()
	return &Client{base: base, opts: opts, http: &http.Client{
		Transport:     newTransport(dial),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// Close lets the idle connections go. Calls that are under way are not ended;
// cancel their contexts for that.
func (c *Client) Close() { c.http.CloseIdleConnections() }

func (o Options) withDefaults() Options {
	if o.Answer <= 0 {
		o.Answer = defaultAnswer
	}
	if o.Stall <= 0 {
		o.Stall = defaultStall
	}
	if o.Verdict <= 0 {
		o.Verdict = defaultVerdict
	}
	return o
}

func parseBase(text string) (*url.URL, error) {
	base, err := url.Parse(text)
	if err != nil || base.Scheme != "http" || base.Host == "" || base.User != nil ||
		base.RawQuery != "" || base.Fragment != "" || (base.Path != "" && base.Path != "/") {
		return nil, fmt.Errorf("coordinator address %q: want http://host[:port] and nothing else", text)
	}
	return base, nil
}

// Status is what a coordinator said about a node's set.
type Status int

// The answers to a fetch that are not errors.
const (
	// Set: Reply.Document holds the published set.
	Set Status = iota + 1
	// NotModified: the version asked about is the published one.
	NotModified
	// UnknownNode: the published tree has no such node.
	UnknownNode
	// NotPublished: nothing has been published to this coordinator yet.
	NotPublished
)

// String gives the status as logs and status documents show it.
func (s Status) String() string {
	switch s {
	case Set:
		return "set"
	case NotModified:
		return "not-modified"
	case UnknownNode:
		return "unknown-node"
	case NotPublished:
		return "not-published"
	default:
		return "status-" + strconv.Itoa(int(s))
	}
}

// Reply is one answer to a fetch.
type Reply struct {
	Status Status
	// Document is the set document (ENV-17), nil unless Status is Set.
	Document []byte
	// Members are the exact bytes of each artifact, sub-slices of Document.
	Members [][]byte
	// Version is what the relay says the set's version is, 0 when it does not
	// say. It is for people; only the signed versions count.
	Version uint64
	// Waits tells that the coordinator knows how to hold an answer (CRD-1).
	Waits bool
	// RetryAfter is how long the coordinator asks to be left alone, 0 when it
	// does not say.
	RetryAfter time.Duration
}

// Fetch asks for the set of node. have is the version held already, 0 for none;
// wait, in whole seconds, asks the coordinator to hold an answer that would say
// nothing new (CRD-1). It returns a Reply for 200, 304, 404 and 503 of the
// protocol and otherwise an error: *BadRequest, *Unavailable, *TooLarge,
// *Unexpected, *ProxyRefused, *Unreachable, or the context's own.
func (c *Client) Fetch(ctx context.Context, node string, have uint64, wait time.Duration) (Reply, error) {
	if err := envelope.SafeName(node); err != nil {
		return Reply{}, &BadRequest{Reason: err.Error()}
	}
	ctx, dog := watch(ctx, wait+c.opts.Answer, "waiting for the answer")
	defer dog.stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.fetchURL(node, have, wait), nil)
	if err != nil {
		return Reply{}, fmt.Errorf("request for the set of %s: %w", node, err)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return Reply{}, c.transportError(ctx, err)
	}
	defer resp.Body.Close()
	dog.grant(c.opts.Stall, "reading the answer")
	resp.Body = dog.body(resp.Body, c.opts.Stall)
	reply, err := readReply(resp, have)
	return reply, c.transportError(ctx, err)
}

func (c *Client) fetchURL(node string, have uint64, wait time.Duration) string {
	query := url.Values{}
	if have > 0 {
		query.Set("have", strconv.FormatUint(have, 10))
	}
	if seconds := int64(wait / time.Second); seconds > 0 {
		query.Set("wait", strconv.FormatInt(seconds, 10))
	}
	target := c.base.JoinPath(wire.ArtifactPath, node)
	target.RawQuery = query.Encode()
	return target.String()
}

// Result is what became of an accepted publish: Result is "accepted" or
// "unchanged", Nodes how many nodes the tree has, Changed the sorted names of
// those that were added, altered or removed.
type Result = wire.Outcome

// Conflict is one node that the monotonic gate refused (CRD-3).
type Conflict = wire.Conflict

// Publish offers the tree in doc, size bytes long or -1 when that is not known.
// Publishing the same tree twice is harmless. A doc that is an io.Closer is closed
// when the call is cut short; another one must not block for ever. The error is *Malformed,
// *VersionConflict, *TooLarge, *NotStored, *OutcomeUnknown, *Unavailable,
// *Unexpected, *ProxyRefused, *Unreachable, or the context's own.
func (c *Client) Publish(ctx context.Context, doc io.Reader, size int64) (Result, error) {
	if doc == nil {
		return Result{}, errors.New("there is no tree to publish: doc is nil")
	}
	if size > envelope.MaxSetPublish {
		return Result{}, &TooLarge{Limit: envelope.MaxSetPublish, Reason: fmt.Sprintf("the tree has %d bytes", size)}
	}
	ctx, dog := watch(ctx, c.opts.Stall, "sending the tree")
	defer dog.stop()
	// net/http waits for a read of the body to return, whatever became of the call.
	if source, ok := doc.(io.Closer); ok {
		defer context.AfterFunc(ctx, func() { _ = source.Close() })()
	}
	req, err := c.publishRequest(ctx, dog.upload(doc, c.opts.Stall, c.opts.Verdict), size)
	if err != nil {
		return Result{}, err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return Result{}, c.transportError(ctx, err)
	}
	defer resp.Body.Close()
	dog.grant(c.opts.Stall, "reading the answer")
	resp.Body = dog.body(resp.Body, c.opts.Stall)
	result, err := readResult(resp)
	return result, c.transportError(ctx, err)
}

func (c *Client) publishRequest(ctx context.Context, body io.Reader, size int64) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base.JoinPath(wire.PublishPath).String(), body)
	if err != nil {
		return nil, fmt.Errorf("request to publish: %w", err)
	}
	req.ContentLength = size
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Expect", "100-continue")
	return req, nil
}
