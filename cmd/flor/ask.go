package main

import (
	"context"
	"errors"
	"time"

	"github.com/florete/flor/store"
	"github.com/florete/flor/supervise/control"
)

// answerWithin is what an agent is given for an answer that it has at hand. One
// that is halted takes the call and never answers.
const answerWithin = 5 * time.Second

// served is a scope and a client of its agent.
type served struct {
	*control.Client
	layout store.Layout
	scope  string
}

// soon asks what the agent answers at once, and gives up after answerWithin.
func (s served) soon(ctx context.Context, ask func(context.Context) error) error {
	limited, cancel := context.WithTimeoutCause(ctx, answerWithin, errNoAnswer)
	defer cancel()
	return s.explain(limited, ask(limited))
}

var errNoAnswer = errors.New("no answer in time")

// status asks for the state of the agent.
func (s served) status(ctx context.Context) (doc control.StatusDoc, err error) {
	err = s.soon(ctx, func(ctx context.Context) error {
		doc, err = s.Status(ctx)
		return err
	})
	return doc, err
}

// explain tells of an agent that could not be asked which process it is, if it
// is one: to start another would not help then. ctx is that of the call.
func (s served) explain(ctx context.Context, err error) error {
	absent, down := errors.AsType[*control.NotRunning](err)
	late := context.Cause(ctx) == errNoAnswer
	if !down && !late {
		return err
	}
	pid := s.layout.Holder(s.scope)
	switch {
	case late && pid == 0:
		return refuse(noAnswer, "what listens for scope %s does not answer within %v", s.scope, answerWithin)
	case late:
		return refuse(noAnswer, "process %d holds the scope %s and does not answer within %v: have it go on, or end it", pid, s.scope, answerWithin)
	case pid != 0:
		return refuse(noAnswer, "process %d holds the scope %s and cannot be asked on %s (%w): it starts or stops just now, or else end it and start it anew", pid, s.scope, absent.Socket, absent.Err)
	}
	return err
}
