package main

import (
	"context"
	"encoding/json"
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
	if err := noArguments(cmd); err != nil {
		return err
	}
	client, err := c.client(cmd)
	if err != nil {
		return err
	}
	if cmd.Bool("watch") {
		return c.watch(ctx, client, cmd.Bool("json"))
	}
	doc, err := client.Status(ctx)
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

// watch follows the agent until ctx is done or it ends, which is an error.
func (c *console) watch(ctx context.Context, client *control.Client, asJSON bool) error {
	lines := json.NewEncoder(c.out)
	first := true
	for doc, err := range client.Watch(ctx) {
		if err != nil {
			return err
		}
		if asJSON {
			if err := lines.Encode(doc); err != nil {
				return err
			}
			continue
		}
		if !first {
			c.tell("")
		}
		first = false
		render(c.out, doc, time.Now())
	}
	return nil
}

// degraded is the exit code of a status: 1 when anything is wrong (AGT-10).
func degraded(doc control.StatusDoc) error {
	if len(doc.Health) == 0 {
		return nil
	}
	return &ended{code: exitNo}
}
