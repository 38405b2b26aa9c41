package program

import "fmt"

// Codes lists every refusal this package raises: its code and what it means.
func Codes() map[string]string {
	return map[string]string{
		"FL2501": "bad-context: the environment does not tell what the program needs",
		"FL2502": "bad-artifact: the artifact cannot be read or parsed",
		"FL2503": "bad-payload: the payload does not fit what the program expects",
		"FL2504": "bad-log-destination: the log destination is not a datagram socket",
		"FL2505": "log-unavailable: nothing answers at the log destination",
		"FL2506": "bad-log-levels: FLOR_LOG cannot be understood",
		"FL2507": "control-failed: the control channel could not be opened",
		"FL2508": "bad-request: a request on the control channel cannot be understood",
		"FL2509": "not-handled: the program has no handler for this request",
		"FL2510": "no-control: the workload did not answer on its control channel",
		"FL2511": "handler-failed: the program's handler returned an error",
	}
}

// Error is a refusal of this package with its code (see [Codes]).
type Error struct {
	// FL is the code, "FL25nn".
	FL string
	// Reason is the kebab-case word that goes with the code.
	Reason string
	// Err says what was refused and what to do next.
	Err error
}

// Error prints code, reason and words.
func (e *Error) Error() string { return fmt.Sprintf("%s %s: %v", e.FL, e.Reason, e.Err) }

// Code returns the stable code.
func (e *Error) Code() string { return e.FL }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

func refuse(code, reason, format string, args ...any) error {
	return &Error{FL: code, Reason: reason, Err: fmt.Errorf(format, args...)}
}
