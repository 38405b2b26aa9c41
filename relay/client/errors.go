package client

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Unreachable says that no answer came: the connection could not be made, broke,
// or stood still. Err is the cause, While what was being done.
type Unreachable struct {
	Target, Via, While string
	Err                error
}

// Code is the registry code.
func (*Unreachable) Code() string { return "FL3201" }

func (e *Unreachable) Error() string {
	via := ""
	if e.Via != "" {
		via = " through the SOCKS5 proxy " + e.Via
	}
	return fmt.Sprintf("FL3201 unreachable: coordinator %s%s: %s: %v", e.Target, via, e.While, e.Err)
}

func (e *Unreachable) Unwrap() error { return e.Err }

// SOCKSReply is the reply field of a SOCKS5 answer (RFC 1928).
type SOCKSReply byte

// The replies that a proxy may give.
const (
	GeneralFailure     SOCKSReply = 1
	NotAllowed         SOCKSReply = 2
	NetworkUnreachable SOCKSReply = 3
	HostUnreachable    SOCKSReply = 4
	ConnectionRefused  SOCKSReply = 5
	TTLExpired         SOCKSReply = 6
)

// Reason is a kebab-case word for the reply: "denied", "refused", "unreachable",
// "timed-out" or "failed".
func (r SOCKSReply) Reason() string {
	switch r {
	case NotAllowed:
		return "denied"
	case ConnectionRefused:
		return "refused"
	case NetworkUnreachable, HostUnreachable:
		return "unreachable"
	case TTLExpired:
		return "timed-out"
	default:
		return "failed"
	}
}

func (r SOCKSReply) hint() string {
	switch r.Reason() {
	case "denied":
		return "the access list of the rete does not let this principal reach it; check its role"
	case "refused":
		return "the node was reached, but nothing listens there; check that the coordinator runs"
	case "unreachable":
		return "the node of the coordinator, or the name, is not known or not up"
	case "timed-out":
		return "the node of the coordinator did not answer in time"
	default:
		return "the log of the vertex says why"
	}
}

// ProxyRefused says that the SOCKS5 proxy was reached and turned the connection
// down.
type ProxyRefused struct {
	Proxy, Target string
	Reply         SOCKSReply
}

// Code is the registry code.
func (*ProxyRefused) Code() string { return "FL3202" }

func (e *ProxyRefused) Error() string {
	return fmt.Sprintf("FL3202 proxy-refused: SOCKS5 proxy %s to %s: %s (reply %d): %s",
		e.Proxy, e.Target, e.Reply.Reason(), e.Reply, e.Reply.hint())
}

// Unexpected says that something answered that does not speak the coordinator's
// protocol. Excerpt is the beginning of its body, quoted so that it can be
// printed anywhere.
type Unexpected struct {
	Status                       int
	ContentType, Detail, Excerpt string
}

// Code is the registry code.
func (*Unexpected) Code() string { return "FL3203" }

func (e *Unexpected) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "FL3203 unexpected-answer: %d %s", e.Status, http.StatusText(e.Status))
	if e.ContentType != "" {
		fmt.Fprintf(&b, ", content type %q", e.ContentType)
	}
	fmt.Fprintf(&b, ": %s", e.Detail)
	if e.Excerpt != "" {
		fmt.Fprintf(&b, "; the body begins %s", e.Excerpt)
	}
	b.WriteString("; check that the address is a coordinator's")
	return b.String()
}

// BadRequest says that the coordinator, or this client before it, refused what
// was asked.
type BadRequest struct{ Reason string }

// Code is the registry code.
func (*BadRequest) Code() string { return "FL3204" }

func (e *BadRequest) Error() string { return "FL3204 bad-request: " + e.Reason }

// Unavailable says that the coordinator is there but does not serve now.
type Unavailable struct {
	Reason     string
	RetryAfter time.Duration
}

// Code is the registry code.
func (*Unavailable) Code() string { return "FL3205" }

func (e *Unavailable) Error() string {
	return fmt.Sprintf("FL3205 unavailable: the coordinator says %s; try again shortly", e.Reason)
}

// Malformed says that the structural gate refused the tree (CRD-2).
type Malformed struct{ Reason string }

// Code is the registry code.
func (*Malformed) Code() string { return "FL3206" }

func (e *Malformed) Error() string {
	return fmt.Sprintf("FL3206 malformed-tree: %s; nothing was published; compile again", e.Reason)
}

// VersionConflict says that the monotonic gate refused the tree (CRD-3). Nodes
// has every node that is in the way, sorted.
type VersionConflict struct{ Nodes []Conflict }

// Code is the registry code.
func (*VersionConflict) Code() string { return "FL3207" }

func (e *VersionConflict) Error() string {
	const shown = 5
	var b strings.Builder
	fmt.Fprintf(&b, "FL3207 version-conflict: nothing was published; %d of the nodes offered are in the way:", len(e.Nodes))
	for i, n := range e.Nodes {
		if i == shown {
			fmt.Fprintf(&b, " and %d more", len(e.Nodes)-shown)
			break
		}
		fmt.Fprintf(&b, " %s (stored %d, offered %d: %s)", n.Node, n.Stored, n.Offered, conflictHint(n))
	}
	b.WriteString("; pull the newest compiled tree, compile on top of it and publish that")
	return b.String()
}

func conflictHint(c Conflict) string {
	switch {
	case c.Offered < c.Stored:
		return "older"
	case c.Offered == c.Stored:
		return "same version, other bytes"
	default:
		return "too far ahead"
	}
}

// TooLarge says that a tree or an answer goes over the limit, in bytes; Limit is
// 0 when only the coordinator knows it.
type TooLarge struct {
	Limit  int64
	Reason string
}

// Code is the registry code.
func (*TooLarge) Code() string { return "FL3208" }

func (e *TooLarge) Error() string {
	if e.Limit == 0 {
		return "FL3208 too-large: " + e.Reason
	}
	return fmt.Sprintf("FL3208 too-large: %s, the limit is %d", e.Reason, e.Limit)
}

// NotStored says that the coordinator could not write the tree; what it served
// before it still serves.
type NotStored struct{ Reason string }

// Code is the registry code.
func (*NotStored) Code() string { return "FL3209" }

func (e *NotStored) Error() string {
	return fmt.Sprintf("FL3209 not-stored: %s; nothing changed; make room on the coordinator's disk, or mend there what is named here, and publish again", e.Reason)
}

// OutcomeUnknown says that the coordinator lost track in the middle of writing.
type OutcomeUnknown struct{ Reason string }

// Code is the registry code.
func (*OutcomeUnknown) Code() string { return "FL3210" }

func (e *OutcomeUnknown) Error() string {
	return fmt.Sprintf("FL3210 outcome-unknown: %s; publish the same tree again, which is harmless", e.Reason)
}

// Transient tells whether the call that gave err may succeed later without
// anybody doing anything, and how long the coordinator asks to be left alone
// first (0 when it does not say). It is false for every verdict on what was
// asked, for a denial and for the caller's own cancellation (CRD-9).
func Transient(err error) (after time.Duration, ok bool) {
	var (
		unavailable *Unavailable
		unreachable *Unreachable
		unknown     *OutcomeUnknown
		refused     *ProxyRefused
	)
	switch {
	case errors.As(err, &unavailable):
		return unavailable.RetryAfter, true
	case errors.As(err, &refused):
		return 0, refused.Reply != NotAllowed
	case errors.As(err, &unreachable), errors.As(err, &unknown):
		return 0, true
	default:
		return 0, false
	}
}
