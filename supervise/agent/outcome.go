package agent

import (
	"errors"

	"github.com/florete/flor/envelope"
	"github.com/florete/flor/envelope/schema"
	"github.com/florete/flor/store"
	"github.com/florete/flor/supervise/control"
)

// Triggers of a sync, as status spells them.
const (
	byStart   = "start"
	byPoll    = "poll"
	byWatch   = "watch"
	byRequest = "request"
	byFile    = "file"
)

// outcome is how one sync ended: what status, log, counter and the requester
// are told alike.
type outcome struct {
	control.SyncResult
	// err is nil for applied and unchanged.
	err error
	// digest is that of a document that was offered in vain.
	digest string
	// gaveWay says that the sync was not done, because a document came in
	// meanwhile; it comes after that.
	gaveWay bool
	// fatal says that the state on disk is unknown, so that the agent must end
	// and read it again (SET-2).
	fatal bool
}

// fail enters an error into an outcome under a result.
func (o outcome) fail(result control.Result, err error) outcome {
	o.Result, o.err = result, err
	o.Code, o.Reason, o.Message = codeOf(err), reasonOf(err), err.Error()
	return o
}

// codeOf is the stable code of an error, or empty.
func codeOf(err error) string {
	if c, ok := errors.AsType[interface {
		error
		Code() string
	}](err); ok {
		return c.Code()
	}
	return ""
}

// reasonOf is the kebab-case word of a refusal, empty when it has none.
func reasonOf(err error) string {
	if ours, ok := errors.AsType[*Refusal](err); ok {
		return string(ours.Reason)
	}
	if signed, ok := errors.AsType[*envelope.Refusal](err); ok {
		return string(signed.Reason)
	}
	if incoherent, ok := errors.AsType[*schema.SetError](err); ok {
		return string(incoherent.Reason)
	}
	if kept, ok := errors.AsType[*store.Refusal](err); ok {
		return string(kept.Reason)
	}
	return ""
}
