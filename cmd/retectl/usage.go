package main

import (
	"errors"
	"fmt"

	"github.com/florete/flor/cmd/internal/misuse"
	"github.com/florete/flor/envelope"
)

// usageError says that the command line was wrong.
type usageError struct{ err error }

func (*usageError) Code() string    { return "FL0701" }
func (e *usageError) Error() string { return e.Code() + " usage: " + e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usage(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

// misused refuses a command line with a code and the exit code 2 (CLI-5).
var misused = misuse.Refusal(func(err error) error { return &usageError{err} })

// inWords is what a refusal of package envelope says, without its code: one code
// is enough for an error.
func inWords(err error) error {
	var refused *envelope.Refusal
	if errors.As(err, &refused) {
		return refused.Err
	}
	return err
}
