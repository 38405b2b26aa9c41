package supervise

import "fmt"

// Codes lists every refusal this package raises: its code and what it means.
func Codes() map[string]string {
	return map[string]string{
		"FL2301": "bad-spec: a list of specs that cannot be supervised",
		"FL2302": "bad-record: the record of children cannot be read or is of a newer version",
		"FL2303": "unknown-name: no such workload is supervised",
		"FL2304": "not-running: the supervisor has ended, or was started a second time",
		"FL2305": "spawn-failed: the executable could not be started",
		"FL2306": "unverified: the caller refuses to have this workload run",
	}
}

// Error is a refusal of this package with its code (see [Codes]).
type Error struct {
	// FL is the code, "FL23nn".
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
