package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/urfave/cli/v3"

	"github.com/florete/flor/conformance"
)

// suite is a subcommand that checks somebody's program.
type suite struct {
	name, usage string
	flags       []cli.Flag
	cases       func(cmd *cli.Command, argv []string) ([]conformance.Case, error)
}

// suites are those that take a command after --.
func suites() []suite {
	return []suite{
		{
			name: "verifier", usage: "check a program that is called with: verify <directory>",
			cases: func(_ *cli.Command, argv []string) ([]conformance.Case, error) {
				return conformance.Vectors(conformance.Command(argv))
			},
		},
		{
			name: "program", usage: "check a supervised program, which an agent runs",
			flags: programFlags(), cases: programCases,
		},
	}
}

// command makes the subcommand of a suite.
func (s suite) command(stdout io.Writer) *cli.Command {
	return &cli.Command{
		Name: s.name, Usage: s.usage, ArgsUsage: "-- CMD [ARG…]",
		Flags: append(runFlags(), s.flags...),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			argv := cmd.Args().Slice()
			if len(argv) == 0 && !cmd.Bool("list") {
				return usage("no program to check: give its command after --")
			}
			cases, err := s.cases(cmd, argv)
			if err != nil {
				return &usageError{err}
			}
			return runSuite(ctx, cmd, stdout, cases, argv)
		},
	}
}

func programFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "payload", Usage: "`FILE` with a payload that the program can serve, JSON, default {}; {{address}} in it stands for a free address"},
		&cli.StringFlag{Name: "name", Usage: "the workload's `NAME`, default tenant"},
	}
}

func programCases(cmd *cli.Command, argv []string) ([]conformance.Case, error) {
	o := conformance.ProgramOptions{Name: cmd.String("name")}
	if path := cmd.String("payload"); path != "" {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("--payload: %w", err)
		}
		o.Payload = string(text)
	}
	return conformance.Program(argv, o)
}
