package agent

import "fmt"

// Reason says, in one kebab-case word, why a sync ended as it did. It is the
// value of "reason" in the status document, in the log and in the counter
// flor_agent_sync_total. A set that fails verification carries the reason of
// the envelope or of the set instead of one of these.
type Reason string

// The reasons that this package gives (AGT-4). Replay to Unservable are
// refusals: the offered set was understood and turned down. The others are
// failures: something was tried and did not work.
const (
	Replay       Reason = "replay"
	VersionJump  Reason = "version-jump"
	Equivocation Reason = "equivocation"
	Unservable   Reason = "unservable"
	CheckFailed  Reason = "check-failed"
	NotStaged    Reason = "not-staged"
	NotActivated Reason = "not-activated"
	NotConfirmed Reason = "not-confirmed"
	UnknownNode  Reason = "unknown-node"
	NotPublished Reason = "not-published"
	Stopping     Reason = "agent-stopping"
	TooSlow      Reason = "too-slow"
	InboundBusy  Reason = "inbound-busy"
)

// code is one row of the registry.
type code struct {
	number  string
	meaning string
}

// registry is the part of FL14xx that is given out.
var registry = map[Reason]code{
	Replay:       {"FL1401", "the offered set is older than what this node has accepted"},
	VersionJump:  {"FL1402", "the offered version is more than 2^20 above the mark"},
	Equivocation: {"FL1403", "the offered set has the active version and other content"},
	Unservable:   {"FL1404", "a program of this install cannot serve the offered set"},
	CheckFailed:  {"FL1405", "the offered set could not be checked; it is tried again"},
	NotStaged:    {"FL1406", "the offered set could not be written to disk"},
	NotActivated: {"FL1411", "the new set is active, but the supervisor could not be given it"},
	NotConfirmed: {"FL1407", "the new set is active, but not all of its workloads came up in time"},
	UnknownNode:  {"FL1408", "the published tree has no such node"},
	NotPublished: {"FL1409", "nothing is published at the coordinator yet"},
	Stopping:     {"FL1410", "the agent is stopping"},
	TooSlow:      {"FL1412", "the coordinator's answer took too long in all"},
	InboundBusy:  {"FL1413", "the address through which the coordinator is reached is another process's"},
}

// Codes lists the coded refusals of this package with their reason and meaning.
func Codes() map[string]string {
	codes := make(map[string]string, len(registry))
	for reason, c := range registry {
		codes[c.number] = string(reason) + ": " + c.meaning
	}
	return codes
}

// Refusal is an error of this package that has a code: what was turned down,
// or what failed, and why. It is matched with errors.As.
type Refusal struct {
	Reason Reason
	// Held and Offered are set versions, 0 where the reason has none.
	Held, Offered uint64
	// Err says what happened; it is never nil.
	Err error
}

// Code is the stable code of the reason, such as "FL1401".
func (r *Refusal) Code() string { return registry[r.Reason].number }

// Error gives code, reason and words on one line.
func (r *Refusal) Error() string {
	return fmt.Sprintf("%s %s: %v", r.Code(), r.Reason, r.Err)
}

// Unwrap gives the cause.
func (r *Refusal) Unwrap() error { return r.Err }

// refuse makes a Refusal out of words.
func refuse(reason Reason, format string, args ...any) *Refusal {
	return &Refusal{Reason: reason, Err: fmt.Errorf(format, args...)}
}
