package vertex

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spiffe/go-spiffe/v2/spiffeid"

	"github.com/florete/flor/envelope/schema"
)

// ErrRestart says that a payload differs in more than tables, so that only a
// new vertex can serve it (VTX-16).
var ErrRestart error = restartNeeded{}

type restartNeeded struct{}

func (restartNeeded) Error() string {
	return codeRestart + " restart-needed: the payload differs in more than its access lists, links, revocations and local ports; restart the vertex with it"
}

// Code is the stable code of the refusal.
func (restartNeeded) Code() string { return codeRestart }

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
	if payload == nil {
		return nil, &PayloadError{codePayload, "unservable-payload", errors.New("there is no payload: it is nil")}
	}
	if err := payload.Validate(); err != nil {
		return nil, &PayloadError{codePayload, "unservable-payload", err}
	}
	if payload.Kind != "link" {
		return nil, &PayloadError{codeMesh, "mesh-engine-absent", errors.New("mesh engine not in this build")}
	}
	t, err := newTables(clone(payload))
	if err != nil {
		return nil, &PayloadError{codePayload, "unservable-payload", err}
	}
	if len(t.locals) > 0 && t.domain != domain {
		err := fmt.Errorf("the payload is for trust domain %s and this node's identities are of %s; enrol the node in the right one", t.domain, domain)
		return nil, &PayloadError{codeTrustDomain, "foreign-trust-domain", err}
	}
	return t, nil
}

// clone copies a payload with all that it refers to. Tables keep theirs to tell
// what a later one changes, and a program that embeds a vertex may well change
// the one it has and apply that.
func clone(p *schema.Vertex) *schema.Vertex {
	c := *p
	c.ConnectionManager.Adapters = slices.Clone(p.ConnectionManager.Adapters)
	c.Workloads = slices.Clone(p.Workloads)
	for i := range c.Workloads {
		c.Workloads[i].IO = slices.Clone(c.Workloads[i].IO)
	}
	c.Links = slices.Clone(p.Links)
	for i := range c.Links {
		c.Links[i].Members = slices.Clone(c.Links[i].Members)
	}
	c.Ingress, c.Egress = cloneRules(p.Ingress), cloneRules(p.Egress)
	c.Revoked = slices.Clone(p.Revoked)
	return &c
}

func cloneRules(rules []schema.Rule) []schema.Rule {
	rules = slices.Clone(rules)
	for i := range rules {
		rules[i].Allow = slices.Clone(rules[i].Allow)
	}
	return rules
}
