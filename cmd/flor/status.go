package main

import (
	"context"
	"encoding/json"
	"io"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/florete/flor/supervise/control"
)

func statusCommand(c *console) *cli.Command {
	return &cli.Command{
		Name:  "status",
		Usage: "tell how a scope is doing, what is wrong first",
		Flags: []cli.Flag{
			reteFlag(), jsonFlag(),
			&cli.BoolFlag{Name: "watch", Usage: "go on telling at each change; with --json one document a line"},
		},
		Action: c.status,
	}
}

func (c *console) status(ctx context.Context, cmd *cli.Command) error {
	if err := misused.NoArguments(cmd); err != nil {
		return err
	}
	client, err := c.client(cmd)
	if err != nil {
		return err
	}
	if cmd.Bool("watch") {
		return c.watch(ctx, client, cmd.Bool("json"))
	}
	doc, err := client.status(ctx)
	if err != nil {
		return err
	}
	if cmd.Bool("json") {
		if err := c.tellJSON(doc); err != nil {
			return err
		}
	} else {
		render(c.out, doc, time.Now())
	}
	return degraded(doc)
}

// watch follows the agent until ctx is done or it ends, which is an error. An
// agent that does not give a first document in time is not waited for.
func (c *console) watch(ctx context.Context, client served, asJSON bool) error {
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	late := time.AfterFunc(answerWithin, func() { giveUp(errNoAnswer) })
	defer late.Stop()
	draw := c.drawer(asJSON)
	began := false
	for doc, err := range client.Watch(ctx) {
		late.Stop()
		switch {
		case err != nil && began:
			return err // its process ends at this moment
		case err != nil:
			return client.explain(ctx, err)
		}
		began = true
		if err := draw(doc); err != nil {
			return err
		}
	}
	return client.explain(ctx, nil)
}

// drawer gives what writes one document after the other: as a line of JSON, or
// for a person, with an empty line in between.
func (c *console) drawer(asJSON bool) func(control.StatusDoc) error {
	if asJSON {
		lines := json.NewEncoder(c.out)
		return func(doc control.StatusDoc) error { return lines.Encode(doc) }
	}
	between := ""
	return func(doc control.StatusDoc) error {
		_, err := io.WriteString(c.out, between)
		between = "\n"
		render(c.out, doc, time.Now())
		return err
	}
}

// degraded is the exit code of a status: 1 when anything is wrong (AGT-10).
func degraded(doc control.StatusDoc) error {
	if len(doc.Health) == 0 {
		return nil
	}
	return &ended{code: exitNo}
}
