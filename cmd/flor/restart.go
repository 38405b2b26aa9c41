package main

import (
	"context"

	"github.com/urfave/cli/v3"
)

func restartCommand(c *console) *cli.Command {
	return &cli.Command{
		Name:      "restart",
		Usage:     "restart a workload, and revive one that was given up",
		ArgsUsage: "<workload>",
		Flags:     []cli.Flag{reteFlag()},
		Action:    c.restart,
	}
}

func (c *console) restart(ctx context.Context, cmd *cli.Command) error {
	name, err := misused.OneArgument(cmd, "the workload")
	if err != nil {
		return err
	}
	client, err := c.client(cmd)
	if err != nil {
		return err
	}
	err = client.soon(ctx, func(ctx context.Context) error { return client.Restart(ctx, name) })
	if err != nil {
		return err
	}
	c.say("restart of %s is under way; flor agent status tells how it goes", name)
	return nil
}
