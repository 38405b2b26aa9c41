package misuse

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/florete/flor/compiler/diag"
)

// Refusal makes a program's own error of what is wrong with its command line. All
// errors of its methods are made by it, but those of a command's output.
type Refusal func(error) error

func (r Refusal) say(format string, args ...any) error { return r(fmt.Errorf(format, args...)) }

// Settle has wrong usage of a command, and of all below it, refused, and gives it
// back. A command that has only sub-commands shows its help where none is named.
func (r Refusal) Settle(cmd *cli.Command) *cli.Command {
	cmd.OnUsageError = func(_ context.Context, cmd *cli.Command, err error, _ bool) error { return r(inWords(cmd, err)) }
	if len(cmd.Commands) > 0 && cmd.Action == nil {
		cmd.Action = r.needCommand
	}
	for _, sub := range cmd.Commands {
		r.Settle(sub)
	}
	return cmd
}

// needCommand is what a command does that has only sub-commands.
func (r Refusal) needCommand(_ context.Context, cmd *cli.Command) error {
	if err := r.NoArguments(cmd); err != nil {
		return err
	}
	if err := cli.ShowSubcommandHelp(cmd); err != nil {
		return err
	}
	return r.say("say which command")
}

// OneArgument returns the only argument of a command; what names it.
func (r Refusal) OneArgument(cmd *cli.Command, what string) (string, error) {
	if cmd.Args().Len() != 1 {
		return "", r.say("%s takes one argument, %s", cmd.FullName(), what)
	}
	return cmd.Args().First(), nil
}

// NoArguments refuses arguments where none are taken; where there are commands,
// it was to be one of them.
func (r Refusal) NoArguments(cmd *cli.Command) error {
	first := cmd.Args().First()
	switch names := commandNames(cmd); {
	case !cmd.Args().Present():
		return nil
	case len(names) > 0:
		return r.say("%s has no command %q; %s", cmd.FullName(), first, meant(cmd, first, names))
	}
	return r.say("%s takes no argument, and was given %q", cmd.FullName(), first)
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

// inWords says what the library found wrong.
func inWords(cmd *cli.Command, err error) error {
	text := err.Error()
	if m := unknownFlag.FindStringSubmatch(text); m != nil {
		return fmt.Errorf("%s has no flag %s; %s", cmd.FullName(), dashed(m[1]), meant(cmd, dashed(m[1]), flagNames(cmd)))
	}
	if m := missingValue.FindStringSubmatch(text); m != nil {
		return errors.New(m[1] + " needs a value")
	}
	if m := badValue.FindStringSubmatch(text); m != nil {
		return fmt.Errorf("%s takes %s, and was given %s", dashed(m[2]), taken(cmd, m[2]), m[1])
	}
	if m := requiredFlag.FindStringSubmatch(text); m != nil {
		return fmt.Errorf("%s needs --%s", cmd.FullName(), strings.ReplaceAll(m[1], ", ", " and --"))
	}
	return err
}

// meant tells what was perhaps meant, or how to see what there is. To a flag of one
// letter every other one is near.
func meant(cmd *cli.Command, name string, known []string) string {
	if near, ok := diag.Nearest(name, known); ok && len(strings.TrimLeft(name, "-")) > 1 {
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
	case *cli.IntFlag, *cli.Uint64Flag:
		return "a whole number"
	}
	return "another value"
}
