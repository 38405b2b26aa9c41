package main

import (
	"context"

	"github.com/urfave/cli/v3"

	"github.com/florete/flor/cmd/internal/build"
	"github.com/florete/flor/store"
	"github.com/florete/flor/supervise/agent"
	"github.com/florete/flor/supervise/program"
)

func runCommand(c *console) *cli.Command {
	return &cli.Command{
		Name:  "run",
		Usage: "serve a scope until SIGTERM",
		Flags: []cli.Flag{
			reteFlag(),
			&cli.BoolFlag{Name: "log-stderr", Usage: "log to standard error, the workloads too"},
		},
		Action: c.run,
	}
}

// run is the daemon. Its exit codes are those of a supervised program, because
// a service manager acts on them: 78 is not tried again (SUP-3, INS-2).
func (c *console) run(ctx context.Context, cmd *cli.Command) error {
	if err := misused.NoArguments(cmd); err != nil {
		return err
	}
	layout, scope, err := c.scope(cmd)
	if err != nil {
		return &ended{program.ExitRejected, err}
	}
	if err := c.serve(ctx, layout, scope, cmd.Bool("log-stderr")); err != nil {
		return &ended{program.ExitCode(err), err}
	}
	return nil
}

func (c *console) serve(ctx context.Context, layout store.Layout, scope string, stderr bool) error {
	configured, err := readConfig(layout.Config)
	if err != nil {
		return program.Reject(err)
	}
	daemon, err := agent.New(agent.Options{
		Layout: layout, Scope: scope, Build: build.Version(),
		LogStderr: stderr, OwnProcess: true,
		LogDestination: destination(c.getenv(destinationVariable), configured),
	})
	if err != nil {
		return err
	}
	defer outlast()()
	return daemon.Run(ctx)
}
