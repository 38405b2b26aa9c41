package control

import (
	"fmt"
	"strings"
)

// Codes lists every refusal this package raises: its code and what it means.
func Codes() map[string]string {
	return map[string]string{
		"FL3301": "unknown-path: the control socket has no such call",
		"FL3302": "wrong-method: the call exists under another method",
		"FL3303": "bad-request: the request cannot be understood",
		"FL3304": "too-large: the body of the request is over its limit",
		"FL3305": "unknown-workload: the set has no such workload",
		"FL3306": "not-running: no agent answers on the control socket",
		"FL3307": "bad-answer: the answer on the control socket is not the agent's",
		"FL3308": "internal: the agent could not carry the call out",
		"FL3309": "empty-set: a set document was offered that has nothing in it",
	}
}

// Error is what a call was answered with. The server sends the code and words
// of an error that has a Code method, and Err otherwise as FL3308; the client
// returns it.
type Error struct {
	// FL is the stable code, "FLnnnn".
	FL string
	// Status is the HTTP status.
	Status int
	// Message says what was refused and what to do next.
	Message string
}

// Error prints code, reason and words. The words of a refusal that comes from
// below the control socket have code and reason already.
func (e *Error) Error() string {
	if strings.Contains(e.Message, e.FL) {
		return e.Message
	}
	reason, _, _ := strings.Cut(Codes()[e.FL], ":")
	return strings.TrimSpace(e.FL+" "+reason) + ": " + e.Message
}

// Code returns the stable code.
func (e *Error) Code() string { return e.FL }

// NotRunning is the error of a client whose socket nobody serves.
type NotRunning struct {
	// Socket is the path that was tried.
	Socket string
	// Err is why it did not answer.
	Err error
}

// Error names the socket and what to do.
func (e *NotRunning) Error() string {
	return fmt.Sprintf("FL3306 not-running: no agent answers on %s: start it with \"flor agent run\" (%v)", e.Socket, e.Err)
}

// Code returns the stable code.
func (e *NotRunning) Code() string { return "FL3306" }

// Unwrap returns the cause.
func (e *NotRunning) Unwrap() error { return e.Err }

// ErrUnknownWorkload is what a Backend wraps when it is asked to restart a
// workload that the set does not have. It has a code and prints none, since the
// answer says it beside the words.
var ErrUnknownWorkload error = unknownWorkload{}

type unknownWorkload struct{}

func (unknownWorkload) Error() string { return "the active set has no such workload" }

func (unknownWorkload) Code() string { return "FL3305" }
