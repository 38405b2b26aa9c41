package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/florete/flor/compiler/diag"
	"github.com/florete/flor/envelope"
)

// usageError says that the command line was wrong.
type usageError struct{ err error }

func (*usageError) Code() string    { return "FL0701" }
func (e *usageError) Error() string { return e.Code() + " usage: " + e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usage(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

// inWords is what a refusal of package envelope says, without its code: one code
// is enough for an error.
func inWords(err error) error {
	var refused *envelope.Refusal
	if errors.As(err, &refused) {
		return refused.Err
	}
	return err
}

// settle makes wrong usage of a command, and of all below it, an error of ours,
// so that it has a code and the exit code 2 (CLI-5).
func settle(cmd *cli.Command) *cli.Command {
	cmd.OnUsageError = func(_ context.Context, cmd *cli.Command, err error, _ bool) error { return misused(cmd, err) }
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
	if err := noArguments(cmd); err != nil {
		return err
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

// noArguments refuses arguments where none are taken; where there are commands,
// it was to be one of them.
func noArguments(cmd *cli.Command) error {
	first := cmd.Args().First()
	switch names := commandNames(cmd); {
	case !cmd.Args().Present():
		return nil
	case len(names) > 0:
		return usage("%s has no command %q; %s", cmd.FullName(), first, meant(cmd, first, names))
	}
	return usage("%s takes no argument, and was given %q", cmd.FullName(), first)
}

// commandNames lists the commands below cmd, without the "help" that the
// library gives to all.
func commandNames(cmd *cli.Command) []string {
	var names []string
	for _, sub := range cmd.Commands {
		if !sub.Hidden && sub.Name != "help" {
			names = append(names, sub.Name)
		}
	}
	return names
}

// What the command line library says. It has no types for it.
var (
	unknownFlag  = regexp.MustCompile(`^flag provided but not defined: -+(.+)$`)
	missingValue = regexp.MustCompile(`^flag needs an argument: (.+)$`)
	badValue     = regexp.MustCompile(`^invalid value (".*") for flag -+([^ :]+): `)
	requiredFlag = regexp.MustCompile(`^Required flags? "(.+)" not set$`)
)

// misused says in words for people what the library found wrong: with flags as
// they are typed, with what a flag takes, and with the nearest name of what
// there is.
func misused(cmd *cli.Command, err error) error {
	text := err.Error()
	if m := unknownFlag.FindStringSubmatch(text); m != nil {
		return usage("%s has no flag %s; %s", cmd.FullName(), dashed(m[1]), meant(cmd, dashed(m[1]), flagNames(cmd)))
	}
	if m := missingValue.FindStringSubmatch(text); m != nil {
		return usage("%s needs a value", m[1])
	}
	if m := badValue.FindStringSubmatch(text); m != nil {
		return usage("%s takes %s, and was given %s", dashed(m[2]), taken(cmd, m[2]), m[1])
	}
	if m := requiredFlag.FindStringSubmatch(text); m != nil {
		return usage("%s needs --%s", cmd.FullName(), strings.ReplaceAll(m[1], ", ", " and --"))
	}
	return &usageError{err}
}

// meant tells what was perhaps meant, or how to see what there is.
func meant(cmd *cli.Command, name string, known []string) string {
	if near, ok := diag.Nearest(name, known); ok {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return fmt.Sprintf("try %q", cmd.FullName()+" --help")
}

// flagNames lists the flags that cmd takes, as they are typed: its own and those
// of the commands above it.
func flagNames(cmd *cli.Command) []string {
	var names []string
	for _, c := range cmd.Lineage() {
		for _, flag := range c.Flags {
			for _, name := range flag.Names() {
				names = append(names, dashed(name))
			}
		}
	}
	return names
}

func dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

// taken says what the flag of that name takes.
func taken(cmd *cli.Command, name string) string {
	for _, c := range cmd.Lineage() {
		for _, flag := range c.Flags {
			if slices.Contains(flag.Names(), name) {
				return valueOf(flag)
			}
		}
	}
	return "another value"
}

func valueOf(flag cli.Flag) string {
	switch flag.(type) {
	case *cli.BoolFlag:
		return "true or false, or no value"
	case *cli.DurationFlag:
		return "a period such as 90s or 5m"
	case *cli.Uint64Flag:
		return "a whole number"
	}
	return "another value"
}
