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
	// elsewhere, where it is not nil, names what runs already and is checked in
	// place of a command, and features says which of them can be.
	elsewhere func(cmd *cli.Command) []string
	features  func() []string
}

// running is what runs already and is to be checked.
func (s suite) running(cmd *cli.Command) []string {
	if s.elsewhere == nil {
		return nil
	}
	return s.elsewhere(cmd)
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
		{
			name: "coordinator", usage: "check a coordinator, which is started for each case, or runs at two addresses",
			flags: coordinatorFlags(), cases: coordinatorCases, elsewhere: coordinatorAt, features: conformance.ListenerFeatures,
		},
		{
			name: "agent", usage: "check an agent, which is started for each case in an enrolled scope; {scope} in an argument is its name",
			cases: func(_ *cli.Command, argv []string) ([]conformance.Case, error) { return conformance.Agent(argv) },
		},
		{
			name: "vertex", usage: "check a vertex, which is started for each case as an agent starts it",
			cases: func(_ *cli.Command, argv []string) ([]conformance.Case, error) { return conformance.Vertex(argv) },
		},
	}
}

func coordinatorFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "sync", Usage: "in place of a command: `URL` of the sync listener of a coordinator that runs; what is published there is replaced"},
		&cli.StringFlag{Name: "publish", Usage: "in place of a command: `URL` of its publish listener"},
	}
}

func coordinatorCases(cmd *cli.Command, argv []string) ([]conformance.Case, error) {
	return conformance.Coordinator(conformance.CoordinatorTarget{Command: argv, Sync: cmd.String("sync"), Publish: cmd.String("publish")})
}

// coordinatorAt names the coordinator that runs somewhere, empty where none is
// named.
func coordinatorAt(cmd *cli.Command) []string {
	if cmd.String("sync") == "" && cmd.String("publish") == "" {
		return nil
	}
	return []string{cmd.String("sync"), cmd.String("publish")}
}

// command makes the subcommand of a suite.
func (s suite) command(stdout io.Writer) *cli.Command {
	return &cli.Command{
		Name: s.name, Usage: s.usage, ArgsUsage: "-- CMD [ARG…]",
		Flags: append(runFlags(), s.flags...),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			argv, running := cmd.Args().Slice(), s.running(cmd)
			if len(argv)+len(running) == 0 && !cmd.Bool("list") {
				return usage("no program to check: give its command after --")
			}
			cases, err := s.cases(cmd, argv)
			if err != nil {
				return &usageError{err}
			}
			if running == nil {
				return runSuite(ctx, cmd, stdout, cases, argv)
			}
			return s.runElsewhere(ctx, cmd, stdout, cases, running)
		},
	}
}

// runElsewhere runs cases against what runs already: one after the other, and those
// alone for which it suffices.
func (s suite) runElsewhere(ctx context.Context, cmd *cli.Command, stdout io.Writer, cases []conformance.Case, target []string) error {
	options, err := readOptions(cmd, cases)
	if err != nil {
		return err
	}
	options.Parallel = 1
	if options.Features == nil {
		options.Features = s.features()
	}
	return runWith(ctx, cmd, stdout, cases, target, options)
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
