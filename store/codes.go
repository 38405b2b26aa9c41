package store

import "fmt"

// Reason is why the store refused something, or could not serve it. The list
// is closed.
type Reason string

// Reasons of this package. A program that meets one of them at its start ends
// with exit code 78 unless the comment says otherwise.
const (
	BadLayout       Reason = "bad-layout"         // an override or the environment names no usable directory
	RuntimeBase     Reason = "runtime-base"       // the runtime base is not ours alone
	PathTooLong     Reason = "path-too-long"      // a socket path over the platform's limit
	BadScope        Reason = "bad-scope"          // not a name that a scope can have
	NotEnrolled     Reason = "not-enrolled"       // no such scope on this machine
	AmbiguousScope  Reason = "ambiguous-scope"    // several scopes, none named
	ScopeHeld       Reason = "scope-held"         // another process holds the scope's lock
	AlreadyEnrolled Reason = "already-enrolled"   // the scope exists
	BadAnchor       Reason = "bad-anchor"         // identity/ has no usable ca.crt and rete.json
	StateTooNew     Reason = "state-too-new"      // a file was written by a newer flor; nothing was touched
	NothingUsable   Reason = "nothing-usable"     // no set of which any member can run
	TrustStateLost  Reason = "trust-state-lost"   // state.json is lost; the scope cannot admit sets
	SetConflict     Reason = "set-conflict"       // sets/vN exists with other content
	NotActive       Reason = "not-active"         // a mark for a set that is not the active one
	BadWorkloadName Reason = "bad-workload-name"  // not a name that a workload can have
	StagedElsewhere Reason = "staged-for-dry-run" // a dry run's set cannot be admitted
	OlderThanMark   Reason = "older-than-mark"    // an enrolment that would let the mark fall
	HalfEnrolled    Reason = "half-enrolled"      // a re-enrolment that cannot be finished
	ReadOnly        Reason = "read-only"          // the disk takes no change; what is on it can be served
	RuntimeHeld     Reason = "runtime-held"       // another agent has the scope's runtime directory
)

var codes = map[Reason]struct{ code, meaning string }{
	BadLayout:       {"FL2001", "an override or the environment names no usable directory"},
	RuntimeBase:     {"FL2002", "the runtime base belongs to somebody else or is writable for others"},
	PathTooLong:     {"FL2003", "a socket path is longer than the platform allows"},
	BadScope:        {"FL2004", "not a name that a scope can have"},
	NotEnrolled:     {"FL2005", "no such scope is enrolled on this machine"},
	AmbiguousScope:  {"FL2006", "several scopes are enrolled and none was named"},
	ScopeHeld:       {"FL2007", "another process holds the scope's lock"},
	AlreadyEnrolled: {"FL2008", "the scope is enrolled already"},
	BadAnchor:       {"FL2009", "the scope's trust anchor cannot be read"},
	StateTooNew:     {"FL2010", "a file of the scope was written by a newer flor"},
	NothingUsable:   {"FL2011", "the scope holds no set that can run"},
	TrustStateLost:  {"FL2012", "the scope's record of admitted sets and trust is lost"},
	SetConflict:     {"FL2013", "another set of the same version is on disk"},
	NotActive:       {"FL2014", "the mark can only be moved to the active set"},
	BadWorkloadName: {"FL2015", "not a name that a workload can have"},
	StagedElsewhere: {"FL2016", "a set staged for a dry run cannot be admitted"},
	OlderThanMark:   {"FL2017", "an enrolment older than the scope's mark"},
	HalfEnrolled:    {"FL2018", "a re-enrolment was cut short and cannot be finished"},
	ReadOnly:        {"FL2019", "the scope's file system is mounted read-only"},
	RuntimeHeld:     {"FL2020", "another agent serves from the scope's runtime directory"},
}

// Code returns the reason's stable code; a word that is not in the list has none.
func (r Reason) Code() string { return codes[r].code }

// Codes maps every code this package raises to its reason and its meaning, in
// one line.
func Codes() map[string]string {
	m := make(map[string]string, len(codes))
	for reason, c := range codes {
		m[c.code] = string(reason) + ": " + c.meaning
	}
	return m
}

// Refusal says what the store turned down, and what to do about it. Match it
// with errors.As; what the operating system refused comes as its own error.
type Refusal struct {
	Reason Reason
	Scope  string // empty where no scope is concerned
	Err    error  // what was wrong and the next step, in words; never nil
}

// Error prints code, reason, scope and words.
func (r *Refusal) Error() string {
	if r.Scope == "" {
		return fmt.Sprintf("%s %s: %v", r.Code(), r.Reason, r.Err)
	}
	return fmt.Sprintf("%s %s: scope %s: %v", r.Code(), r.Reason, r.Scope, r.Err)
}

// Code returns the stable code of the reason.
func (r *Refusal) Code() string { return r.Reason.Code() }

// Unwrap returns the cause.
func (r *Refusal) Unwrap() error { return r.Err }

func refuse(reason Reason, scope, format string, args ...any) *Refusal {
	return &Refusal{Reason: reason, Scope: scope, Err: fmt.Errorf(format, args...)}
}
