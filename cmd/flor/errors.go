package main

import (
	"errors"
	"fmt"

	"github.com/florete/flor/store"
	"github.com/florete/flor/supervise/control"
)

// Exit codes of all commands but "agent run" (AGT-10).
const (
	exitOK    = 0
	exitNo    = 1
	exitUsage = 2
	exitCould = 3
)

// reason is why the command itself turned something down.
type reason string

const (
	wrongUsage  reason = "usage"
	badConfig   reason = "bad-config"
	wrongCA     reason = "wrong-ca"
	setTooLarge reason = "set-too-large"
	// noPassphrase is refused, as retectl does: the command line was right, and
	// who asked has nothing to give.
	noPassphrase reason = "no-passphrase"
	noAnswer     reason = "no-answer"
	noAccount    reason = "no-account"
	notInstalled reason = "not-installed"
	runsByHand   reason = "runs-by-hand"
	// noManager is tried and not found, as an agent that does not run.
	noManager reason = "no-service-manager"
)

var reasons = map[reason]struct{ code, meaning string }{
	wrongUsage:   {"FL2601", "the command line is wrong"},
	badConfig:    {"FL2602", "config.toml cannot be read, or has what it must not have"},
	wrongCA:      {"FL2603", "the bundle's CA is not the one that was expected"},
	setTooLarge:  {"FL2604", "a set document over its limit"},
	noPassphrase: {"FL2606", "a passphrase is needed and there is nobody to ask"},
	noAnswer:     {"FL2605", "a process holds the scope and does not answer"},
	noAccount:    {"FL2607", "the account that is to run agents does not exist"},
	notInstalled: {"FL2608", "flor was not placed by flor install, and has no service"},
	runsByHand:   {"FL2609", "an agent runs that no service manager started"},
	noManager:    {"FL2610", "no service manager runs on this machine"},
}

// exit is the exit code of what was turned down for this reason.
func (r reason) exit() int {
	switch r {
	case wrongUsage:
		return exitUsage
	case noAnswer, noManager:
		return exitCould
	}
	return exitNo
}

// Codes lists the codes of the command, with their meanings.
func Codes() map[string]string {
	codes := make(map[string]string, len(reasons))
	for _, r := range reasons {
		codes[r.code] = r.meaning
	}
	return codes
}

// refusal is something that flor itself turns down.
type refusal struct {
	reason reason
	err    error
}

func refuse(r reason, format string, args ...any) error {
	return &refusal{reason: r, err: fmt.Errorf(format, args...)}
}

func (r *refusal) Code() string { return reasons[r.reason].code }

func (r *refusal) Error() string { return fmt.Sprintf("%s %s: %v", r.Code(), r.reason, r.err) }

func (r *refusal) Unwrap() error { return r.err }

// ended is how a command ended when its output has said why already, or when
// the contract gives it a code of its own.
type ended struct {
	code int
	err  error // nil: nothing more to say
}

func (e *ended) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *ended) Unwrap() error { return e.err }

// spoken tells whether nothing is left to say of err, and otherwise what.
func spoken(err error) (said bool, message string) {
	if err == nil {
		return true, ""
	}
	if e, ok := errors.AsType[*ended](err); ok && e.err == nil {
		return true, ""
	}
	return false, err.Error()
}

// exitCode says how it went: what was understood and turned down is 1, what was
// tried and broke is 3.
func exitCode(err error) int {
	if err == nil {
		return exitOK
	}
	if e, ok := errors.AsType[*ended](err); ok {
		return e.code
	}
	if ours, ok := errors.AsType[*refusal](err); ok {
		return ours.reason.exit()
	}
	if kept, ok := errors.AsType[*store.Refusal](err); ok {
		return storeExit(kept.Reason)
	}
	if _, ok := errors.AsType[*control.NotRunning](err); ok {
		return exitCould
	}
	if answer, ok := errors.AsType[*control.Error](err); ok {
		return answerExit(answer)
	}
	if _, ok := errors.AsType[interface {
		error
		Code() string
	}](err); ok {
		return exitNo
	}
	return exitCould
}

// storeExit tells what is wrong with the command line or the variables beside
// it, and a scope that is not there or cannot be reached, from what the store
// refuses.
func storeExit(r store.Reason) int {
	switch r {
	case store.AmbiguousScope, store.BadScope, store.BadLayout:
		return exitUsage
	case store.NotEnrolled, store.RuntimeBase, store.PathTooLong:
		return exitCould
	}
	return exitNo
}

// answerExit tells an answer that is none of an agent, and one that says that
// the agent broke, from what the agent refuses.
func answerExit(e *control.Error) int {
	switch e.FL {
	case "FL3307", "FL3308":
		return exitCould
	}
	return exitNo
}
