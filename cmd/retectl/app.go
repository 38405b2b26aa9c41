package main

import (
	"context"

	"github.com/urfave/cli/v3"
)

// newApp builds the command tree. Nothing in it exits the process.
func newApp(c *console) *cli.Command {
	return offerCompletion(misused.Settle(&cli.Command{
		Name:           "retectl",
		Usage:          "describe a private network in YAML, sign it, publish it",
		Writer:         c.out,
		ErrWriter:      c.err,
		HideVersion:    true,
		ExitErrHandler: func(context.Context, *cli.Command, error) {},
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "repo", TakesFile: true, Usage: "the repository; default is the nearest parent `DIR` with rete.yaml"},
		},
		Commands: []*cli.Command{
			initCommand(c),
			validateCommand(c),
			compileCommand(c),
			diffCommand(c),
			accessCommand(c),
			publishCommand(c),
			issueBundleCommand(c),
			exportSetCommand(c),
			caCommand(c),
			trustBundleCommand(c),
			explainCommand(c),
			versionCommand(c),
		},
	}))
}
