package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"time"

	"github.com/florete/flor/envelope"
	"github.com/florete/flor/relay/internal/wire"
)

const (
	// maxFault bounds every body but a set: the conflicts of a large rete are
	// the longest of them.
	maxFault   = 16 << 20
	maxExcerpt = 96
	// maxRetryAfter keeps a hostile header from silencing a caller.
	maxRetryAfter = time.Hour
)

func readReply(resp *http.Response, have uint64) (Reply, error) {
	reply := Reply{
		Waits:      resp.Header.Get(wire.WaitHeader) != "",
		RetryAfter: retryAfter(resp.Header),
	}
	switch resp.StatusCode {
	case http.StatusOK:
		return readSet(resp, reply)
	case http.StatusNotModified:
		reply.Status = NotModified
		if have == 0 {
			return Reply{}, unexpected(resp, nil, "not modified, but no version was named")
		}
		return reply, nil
	}
	body, err := readBody(resp, maxFault)
	if err != nil {
		return Reply{}, err
	}
	return faultReply(resp, body, reply)
}

func readSet(resp *http.Response, reply Reply) (Reply, error) {
	doc, err := readBody(resp, envelope.MaxSetFetch)
	if err != nil {
		return Reply{}, err
	}
	if !isJSON(resp.Header) {
		return Reply{}, unexpected(resp, doc, "not JSON")
	}
	reply.Members, err = envelope.ParseSet(doc)
	if err != nil {
		return Reply{}, unexpected(resp, doc, fmt.Sprintf("not a set document: %v", err))
	}
	reply.Status, reply.Document = Set, doc
	// A version that does not parse is no version: only the signed ones count.
	reply.Version, _ = strconv.ParseUint(resp.Header.Get(wire.VersionHeader), 10, 64)
	return reply, nil
}

func faultReply(resp *http.Response, body []byte, reply Reply) (Reply, error) {
	fault, ok := readFault(resp.Header, body)
	if !ok {
		return Reply{}, unexpected(resp, body, "not an answer of the sync listener")
	}
	switch {
	case resp.StatusCode == http.StatusNotFound && fault.Error == wire.UnknownNode:
		reply.Status = UnknownNode
		return reply, nil
	case resp.StatusCode == http.StatusServiceUnavailable && fault.Error == wire.NotPublished:
		reply.Status = NotPublished
		return reply, nil
	case resp.StatusCode == http.StatusServiceUnavailable:
		return Reply{}, &Unavailable{Reason: printable(fault.Error), RetryAfter: reply.RetryAfter}
	case resp.StatusCode == http.StatusBadRequest && fault.Error == wire.BadRequest:
		return Reply{}, &BadRequest{Reason: printable(fault.Reason)}
	}
	return Reply{}, unexpected(resp, body, "not an answer of the sync listener")
}

func readResult(resp *http.Response) (Result, error) {
	body, err := readBody(resp, maxFault)
	if err != nil {
		return Result{}, err
	}
	if resp.StatusCode == http.StatusOK {
		return readOutcome(resp, body)
	}
	return Result{}, publishFault(resp, body)
}

func readOutcome(resp *http.Response, body []byte) (Result, error) {
	var result Result
	if !isJSON(resp.Header) || json.Unmarshal(body, &result) != nil ||
		(result.Result != wire.Accepted && result.Result != wire.Unchanged) {
		return Result{}, unexpected(resp, body, "not the outcome of a publish")
	}
	for i, node := range result.Changed {
		result.Changed[i] = printable(node)
	}
	return result, nil
}

func publishFault(resp *http.Response, body []byte) error {
	fault, ok := readFault(resp.Header, body)
	if !ok {
		return unexpected(resp, body, "not an answer of the publish listener")
	}
	reason := printable(fault.Reason)
	switch fault.Error {
	case wire.MalformedTree:
		return &Malformed{Reason: reason}
	case wire.VersionConflict:
		return readConflicts(resp, body)
	case wire.TooLarge:
		return &TooLarge{Reason: reason}
	case wire.NotStored:
		return &NotStored{Reason: reason}
	case wire.OutcomeUnknown:
		return &OutcomeUnknown{Reason: reason}
	case wire.TooSlow, wire.Draining, wire.Busy:
		return &Unavailable{Reason: printable(fault.Error), RetryAfter: retryAfter(resp.Header)}
	default:
		return unexpected(resp, body, "not an answer of the publish listener")
	}
}

func readConflicts(resp *http.Response, body []byte) error {
	var conflicts wire.Conflicts
	if err := json.Unmarshal(body, &conflicts); err != nil || len(conflicts.Nodes) == 0 {
		return unexpected(resp, body, "a version conflict that names no node")
	}
	for i := range conflicts.Nodes {
		conflicts.Nodes[i].Node = printable(conflicts.Nodes[i].Node)
	}
	return &VersionConflict{Nodes: conflicts.Nodes}
}

func readFault(header http.Header, body []byte) (wire.Fault, bool) {
	var fault wire.Fault
	if !isJSON(header) || json.Unmarshal(body, &fault) != nil || fault.Error == "" {
		return wire.Fault{}, false
	}
	return fault, true
}

// readBody reads at most limit bytes and refuses what is longer, by its
// announced length where there is one.
func readBody(resp *http.Response, limit int64) ([]byte, error) {
	if resp.ContentLength > limit {
		return nil, &TooLarge{Limit: limit, Reason: fmt.Sprintf("the answer announces %d bytes", resp.ContentLength)}
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(body)) > limit {
		return nil, &TooLarge{Limit: limit, Reason: "the answer goes on after its limit"}
	}
	return body, nil
}

func isJSON(header http.Header) bool {
	kind, _, err := mime.ParseMediaType(header.Get("Content-Type"))
	return err == nil && kind == "application/json"
}

// retryAfter reads the header in seconds; the form with a date is not used by
// the protocol and counts as silence.
func retryAfter(header http.Header) time.Duration {
	seconds, err := strconv.ParseUint(header.Get("Retry-After"), 10, 32)
	if err != nil {
		return 0
	}
	return min(time.Duration(seconds)*time.Second, maxRetryAfter)
}

func unexpected(resp *http.Response, body []byte, detail string) error {
	e := &Unexpected{Status: resp.StatusCode, ContentType: cut(resp.Header.Get("Content-Type")), Detail: detail}
	if len(body) > 0 {
		e.Excerpt = strconv.QuoteToASCII(cut(string(body)))
	}
	return e
}

func cut(s string) string {
	if len(s) <= maxExcerpt {
		return s
	}
	return s[:maxExcerpt]
}

// printable makes words of a relay fit for a terminal: what is not plain text
// is escaped, and the length is bounded.
func printable(s string) string {
	const longest = 1 << 10
	if len(s) > longest {
		s = s[:longest]
	}
	quoted := strconv.QuoteToGraphic(s)
	return quoted[1 : len(quoted)-1]
}

// transportError gives a failed call its type. A watchdog's cause comes before
// the error that its cancellation provoked; what has a type already keeps it.
func (c *Client) transportError(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	var typed interface{ Code() string }
	if errors.As(err, &typed) {
		return typed.(error)
	}
	unreachable := &Unreachable{Target: c.base.Host, Via: c.opts.SOCKS5, While: "talking to it", Err: err}
	var stalled *stall
	switch cause := context.Cause(ctx); {
	case errors.As(cause, &stalled):
		unreachable.While, unreachable.Err = stalled.while, stalled
	case cause != nil:
		return fmt.Errorf("call to the coordinator %s: %w", c.base.Host, cause)
	}
	return unreachable
}
