package main

import (
	"errors"
	"fmt"

	"github.com/florete/flor/relay/client"
	"github.com/florete/flor/supervise/control"
)

// advised is an error together with what the operator does next.
type advised struct {
	err  error
	next string
}

func (a *advised) Error() string { return a.err.Error() + "\nnext: " + a.next }
func (a *advised) Unwrap() error { return a.err }

// advise turns each answer of a coordinator, and the lack of one, into the next
// step (CLI-4). A conflict of versions has its own way, see learn.
func advise(err error, w way) error {
	if next := nextStep(err, w); next != "" {
		return &advised{err: err, next: next}
	}
	return err
}

func nextStep(err error, w way) string {
	var (
		malformed *client.Malformed
		bad       *client.BadRequest
		large     *client.TooLarge
		full      *client.NotStored
		unknown   *client.OutcomeUnknown
		busy      *client.Unavailable
		strange   *client.Unexpected
		refused   *client.ProxyRefused
		silent    *client.Unreachable
	)
	switch {
	case errors.As(err, &malformed):
		return "retectl compile, then publish again; if it stays, retectl and the coordinator are of different versions (retectl version, and flor-coordinator --version there)"
	case errors.As(err, &bad):
		return "compare the versions of retectl and of the coordinator, and whether the URL is that of its publish listener"
	case errors.As(err, &large):
		return "split the rete, or what its principals may reach: no coordinator takes more"
	case errors.As(err, &full):
		return "make room on the management node, or mend there what is named here, then publish again; what was published before is still served"
	case errors.As(err, &unknown):
		return "publish again, which is harmless; if it stays, look at the coordinator's log on the management node"
	case errors.As(err, &busy):
		return busyStep(busy)
	case errors.As(err, &strange):
		return fmt.Sprintf("something else than a coordinator's publish listener answers at %s: check the URL, and services.coordinator-publisher in the YAML", w)
	case errors.As(err, &refused):
		return refusedStep(refused)
	case errors.As(err, &silent):
		return silentStep(w)
	}
	return ""
}

func busyStep(e *client.Unavailable) string {
	if e.RetryAfter > 0 {
		return fmt.Sprintf("publish again in %v", e.RetryAfter)
	}
	return "publish again in a moment: the coordinator is starting or stopping"
}

// refusedStep reads the vertex's answer: it knows whom it lets through.
func refusedStep(e *client.ProxyRefused) string {
	switch e.Reply {
	case client.NotAllowed:
		return fmt.Sprintf("%s does not let this user reach the publisher: choose another operator with --as, or publish the change that makes them one from the management node, with --direct", e.Proxy)
	case client.ConnectionRefused:
		return "the management node answers and its coordinator does not: there, flor agent status, then publish again"
	case client.HostUnreachable, client.NetworkUnreachable, client.TTLExpired:
		return "the management node cannot be reached from here: check its address and UDP port, or publish there, with --direct"
	}
	return "look at flor agent status here and on the management node, or publish there, with --direct"
}

func silentStep(w way) string {
	if w.socks5 != "" {
		return fmt.Sprintf("see whether the agent runs here (flor agent status) and its vertex listens at %s; on the management node, publish with --direct", w.socks5)
	}
	return "the publish listener is reached on the management node itself, at the address of services.coordinator-publisher, while its agent runs (flor agent status)"
}

// unreachable tells what could not be done from what was turned down (CLI-5).
func unreachable(err error) bool {
	var (
		noAnswer *client.Unreachable
		refused  *client.ProxyRefused
		busy     *client.Unavailable
		strange  *client.Unexpected
		full     *client.NotStored
		unknown  *client.OutcomeUnknown
		absent   *control.NotRunning
	)
	return errors.As(err, &noAnswer) || errors.As(err, &refused) || errors.As(err, &busy) || errors.As(err, &strange) ||
		errors.As(err, &full) || errors.As(err, &unknown) || errors.As(err, &absent) ||
		isRefusal(err, reasonNoAgent) || isRefusal(err, reasonNotTaken)
}

func isRefusal(err error, r reason) bool {
	var refused *refusal
	return errors.As(err, &refused) && refused.reason == r
}
