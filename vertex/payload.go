package vertex

import (
	"errors"
	"fmt"

	"github.com/spiffe/go-spiffe/v2/spiffeid"

	"github.com/florete/flor/envelope/schema"
)

// ErrRestart says that a payload differs in more than tables, so that only a
// new vertex can serve it (VTX-16).
var ErrRestart = errors.New(codeRestart + " restart-needed: the payload differs in more than its access lists, links, revocations and local ports; restart the vertex with it")

// PayloadError is a payload that this build cannot serve; trying again does
// not help (exit code 78).
type PayloadError struct {
	code, reason string
	Err          error
}

func (e *PayloadError) Error() string {
	return fmt.Sprintf("%s %s: %v", e.code, e.reason, e.Err)
}

// Code is the stable code of the refusal.
func (e *PayloadError) Code() string { return e.code }

func (e *PayloadError) Unwrap() error { return e.Err }

// Check tells whether a payload can be served by this build under a trust
// domain, without serving it. The error is a *PayloadError (VTX-13, VTX-18).
func Check(payload *schema.Vertex, domain spiffeid.TrustDomain) error {
	_, err := readPayload(payload, domain)
	return err
}

func readPayload(payload *schema.Vertex, domain spiffeid.TrustDomain) (*tables, error) {
	if err := payload.Validate(); err != nil {
		return nil, &PayloadError{codePayload, "unservable-payload", err}
	}
	if payload.Kind != "link" {
		return nil, &PayloadError{codeMesh, "mesh-engine-absent", errors.New("mesh engine not in this build")}
	}
	t, err := newTables(payload)
	if err != nil {
		return nil, &PayloadError{codePayload, "unservable-payload", err}
	}
	if len(t.locals) > 0 && t.domain != domain {
		err := fmt.Errorf("the payload is for trust domain %s and this node's identities are of %s; enrol the node in the right one", t.domain, domain)
		return nil, &PayloadError{codeTrustDomain, "foreign-trust-domain", err}
	}
	return t, nil
}
