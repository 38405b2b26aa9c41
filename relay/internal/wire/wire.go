// Package wire holds the vocabulary that both ends of the coordinator's two
// listeners speak: paths, header names, the one-word errors and the JSON bodies
// (CRD-1 to CRD-4). relay writes it and relay/client reads it, so a word that
// changes on one side changes on the other.
package wire

import "time"

// Paths and headers of the protocol.
const (
	ArtifactPath  = "/artifact/mgmt/"
	PublishPath   = "/publish/mgmt"
	VersionHeader = "Flor-Set-Version"
	WaitHeader    = "Flor-Wait"
)

// MaxWait is the longest time an answer is held; a longer wish is cut to it.
const MaxWait = 60 * time.Second

// The words an error body may carry.
const (
	UnknownNode      = "unknown_node"
	NotPublished     = "not_published"
	BadRequest       = "bad_request"
	Draining         = "draining"
	NotFound         = "not_found"
	MethodNotAllowed = "method_not_allowed"
	MalformedTree    = "malformed_tree"
	VersionConflict  = "version_conflict"
	TooLarge         = "too_large"
	Busy             = "busy"
	TooSlow          = "too_slow"
	NotStored        = "not_stored"
	OutcomeUnknown   = "outcome_unknown"
)

// The words of an accepted publish.
const (
	Accepted  = "accepted"
	Unchanged = "unchanged"
)

// Fault is the body of every answer that is neither a set nor an outcome.
type Fault struct {
	Error  string `json:"error"`
	Reason string `json:"reason,omitempty"`
}

// Conflict names one node whose offered version the relay may not take: below
// what is on record, equal to it with other bytes, or too far above it.
type Conflict struct {
	Node    string `json:"node"`
	Stored  uint64 `json:"stored"`
	Offered uint64 `json:"offered"`
}

// Conflicts is the body of a publish that the monotonic gate refused.
type Conflicts struct {
	Error string     `json:"error"`
	Nodes []Conflict `json:"nodes"`
}

// Outcome is the body of a publish that was taken. Changed is sorted, and empty
// rather than null when nothing changed.
type Outcome struct {
	Result  string   `json:"result"`
	Nodes   int      `json:"nodes"`
	Changed []string `json:"changed"`
}
