package main

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v3"
)

// newApp builds the command tree. Nothing in it exits the process.
func newApp(c *console) *cli.Command {
	return offerCompletion(settle(&cli.Command{
		Name:           "retectl",
		Usage:          "describe a private network in YAML, sign it, publish it",
		Writer:         c.out,
		ErrWriter:      c.err,
		HideVersion:    true,
		Suggest:        true,
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

// settle makes wrong usage of a command, and of all below it, an error of ours,
// so that it has a code and the exit code 2 (CLI-5).
func settle(cmd *cli.Command) *cli.Command {
	cmd.OnUsageError = func(_ context.Context, _ *cli.Command, err error, _ bool) error { return &usageError{err} }
	if len(cmd.Commands) > 0 && cmd.Action == nil {
		cmd.Action = needCommand
	}
	for _, sub := range cmd.Commands {
		settle(sub)
	}
	return cmd
}

// needCommand is what a command does that has only sub-commands.
func needCommand(_ context.Context, cmd *cli.Command) error {
	if cmd.Args().Present() {
		return usage("%s has no command %q; try %q", cmd.FullName(), cmd.Args().First(), cmd.FullName()+" --help")
	}
	if err := cli.ShowSubcommandHelp(cmd); err != nil {
		return err
	}
	return usage("say which command")
}

// oneArgument returns the only argument of a command.
func oneArgument(cmd *cli.Command, what string) (string, error) {
	if cmd.Args().Len() != 1 {
		return "", usage("%s takes one argument, %s", cmd.FullName(), what)
	}
	return cmd.Args().First(), nil
}

// noArguments refuses arguments where none are taken.
func noArguments(cmd *cli.Command) error {
	if cmd.Args().Present() {
		return usage("%s takes no argument, and was given %q", cmd.FullName(), cmd.Args().First())
	}
	return nil
}

func usage(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }
