package main

import (
	"context"

	"github.com/urfave/cli/v3"

	"github.com/florete/flor/cmd/internal/misuse"
)

// newApp builds the command tree. Nothing in it exits the process.
func newApp(c *console) *cli.Command {
	return c.offerCompletion(misused.Settle(&cli.Command{
		Name:           "flor",
		Usage:          "make this machine a member of a rete",
		Writer:         c.out,
		ErrWriter:      c.err,
		HideVersion:    true,
		Suggest:        true,
		ExitErrHandler: func(context.Context, *cli.Command, error) {},
		Commands: []*cli.Command{
			enrollCommand(c),
			{
				Name:  "agent",
				Usage: "run the agent of a scope, or ask a running one",
				Commands: []*cli.Command{
					runCommand(c), statusCommand(c), syncCommand(c), restartCommand(c), enableCommand(c), disableCommand(c),
				},
			},
			pingCommand(c),
			installCommand(c),
			uninstallCommand(c),
			versionCommand(c),
		},
	}))
}

// misused refuses a command line with a code and the exit code 2.
var misused = misuse.Refusal(func(err error) error { return &refusal{wrongUsage, err} })
