package main

import (
	"context"

	"github.com/urfave/cli/v3"
)

// newApp builds the command tree. Nothing in it exits the process.
func newApp(c *console) *cli.Command {
	return c.offerCompletion(settle(&cli.Command{
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

// settle makes wrong usage of a command, and of all below it, an error of ours,
// so that it has a code and the exit code 2.
func settle(cmd *cli.Command) *cli.Command {
	cmd.OnUsageError = func(_ context.Context, _ *cli.Command, err error, _ bool) error {
		return refuse(wrongUsage, "%w", err)
	}
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
		return refuse(wrongUsage, "%s has no command %q; try %q", cmd.FullName(), cmd.Args().First(), cmd.FullName()+" --help")
	}
	if err := cli.ShowSubcommandHelp(cmd); err != nil {
		return err
	}
	return refuse(wrongUsage, "say which command")
}

// oneArgument returns the only argument of a command.
func oneArgument(cmd *cli.Command, what string) (string, error) {
	if cmd.Args().Len() != 1 {
		return "", refuse(wrongUsage, "%s takes one argument, %s", cmd.FullName(), what)
	}
	return cmd.Args().First(), nil
}

// noArguments refuses arguments where none are taken.
func noArguments(cmd *cli.Command) error {
	if cmd.Args().Present() {
		return refuse(wrongUsage, "%s takes no argument, and was given %q", cmd.FullName(), cmd.Args().First())
	}
	return nil
}
