package program

import "errors"

// Exit codes of a supervised program (SUP-3).
const (
	// ExitOK is a clean stop after having been told to.
	ExitOK = 0
	// ExitCrash is any failure that is worth another try.
	ExitCrash = 1
	// ExitUsage is a command line that cannot be understood.
	ExitUsage = 2
	// ExitUnavailable: a host service does not answer; try again.
	ExitUnavailable = 69
	// ExitRejected: this configuration cannot be served; do not try again.
	ExitRejected = 78
)

// exitError is an error that knows its exit code.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

// Reject marks err as a configuration that this program cannot serve: Main
// exits with 78 and the agent does not try again until it changes. Nil stays nil.
func Reject(err error) error { return withExit(ExitRejected, err) }

// Unavailable marks err as a host service that does not answer: Main exits
// with 69 and the agent tries again without counting a crash. Nil stays nil.
func Unavailable(err error) error { return withExit(ExitUnavailable, err) }

func withExit(code int, err error) error {
	if err == nil {
		return nil
	}
	return &exitError{code: code, err: err}
}

// ExitCode returns the exit code that err stands for: 0 for nil, 78 and 69 for
// what [Reject] and [Unavailable] marked (the outermost mark counts), else 1.
func ExitCode(err error) int {
	if err == nil {
		return ExitOK
	}
	if marked, ok := errors.AsType[*exitError](err); ok {
		return marked.code
	}
	return ExitCrash
}
