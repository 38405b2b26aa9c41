package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/florete/flor/compiler"
	"github.com/florete/flor/compiler/diag"
)

// codeNoRete is what package facade says of a directory without rete.yaml.
const codeNoRete = "FL0001"

// Exit codes (CLI-5).
const (
	exitDone   = 0
	exitFaults = 1
	exitUsage  = 2
	exitCould  = 3
)

// refusal is something that retectl itself turns down.
type refusal struct {
	reason reason
	err    error
}

type reason string

const (
	reasonNoRepository     reason = "no-repository"
	reasonExists           reason = "exists"
	reasonWouldChange      reason = "would-change"
	reasonNoAgent          reason = "no-agent"
	reasonNoOperator       reason = "no-operator"
	reasonSeveralOperators reason = "several-operators"
	reasonNoPassphrase     reason = "no-passphrase"
	reasonConflict         reason = "conflict"
	reasonInsideRepository reason = "inside-repository"
	reasonTooLarge         reason = "too-large"
	reasonNotTaken         reason = "not-taken"
	reasonUnknownName      reason = "unknown-name"
)

var reasons = map[reason]struct{ code, meaning string }{
	reasonNoRepository:     {"FL0702", "no-repository: no rete.yaml here or in a directory above, or --repo names no directory"},
	reasonExists:           {"FL0703", "exists: a file or directory is there already and is not overwritten"},
	reasonWouldChange:      {"FL0704", "would-change: with --check, a compile would change the tree"},
	reasonNoAgent:          {"FL0705", "no-agent: no agent of this rete runs on this machine"},
	reasonNoOperator:       {"FL0706", "no-operator: the local agent has no inbound for an operator of this rete"},
	reasonSeveralOperators: {"FL0707", "several-operators: several operators have an inbound here, and --as does not choose"},
	reasonNoPassphrase:     {"FL0708", "no-passphrase: a passphrase is needed and there is nobody to ask"},
	reasonConflict:         {"FL0709", "conflict: the coordinator holds newer sets than the compiled tree"},
	reasonInsideRepository: {"FL0710", "inside-repository: a private key would be written into the repository"},
	reasonTooLarge:         {"FL0711", "too-large: a file that was named is larger than what is read of it"},
	reasonNotTaken:         {"FL0720", "not-taken: the tree is published, and the local agent did not take its set"},
	reasonUnknownName:      {"FL0712", "unknown-name: the rete has nothing of the name that was asked for"},
}

// Codes lists the codes of the command, with their meanings.
func Codes() map[string]string {
	codes := map[string]string{"FL0701": "usage: the command line was wrong"}
	for _, r := range reasons {
		codes[r.code] = r.meaning
	}
	return codes
}

func refuse(r reason, format string, args ...any) error {
	return &refusal{reason: r, err: fmt.Errorf(format, args...)}
}

func (r *refusal) Code() string { return reasons[r.reason].code }

func (r *refusal) Error() string {
	return r.Code() + " " + string(r.reason) + ": " + r.err.Error()
}

func (r *refusal) Unwrap() error { return r.err }

// exitCode says how it went, for CLI-5: what was understood and turned down is
// a fault; what was tried and broke could not be done.
func exitCode(err error) int {
	var coded interface {
		error
		Code() string
	}
	var wrong *usageError
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &wrong), isRefusal(err, reasonNoRepository), lacksAnchor(err):
		return exitUsage
	case unreachable(err):
		return exitCould
	case errors.As(err, &coded):
		return exitFaults
	}
	return exitCould
}

// lacksAnchor tells that retectl was pointed at a directory that is no
// repository, as far as that shows only when the source is read.
func lacksAnchor(err error) bool {
	var faults *compiler.SourceError
	return errors.As(err, &faults) && slices.ContainsFunc(faults.Diagnostics, func(d diag.Diagnostic) bool { return d.Code == codeNoRete })
}
