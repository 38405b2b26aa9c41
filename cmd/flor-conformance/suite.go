package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/florete/flor/conformance"
	"github.com/florete/flor/conformance/self"
)

func vectorsCommand(stdout io.Writer) *cli.Command {
	return &cli.Command{
		Name:  "vectors",
		Usage: "check this module's own packages, in this process",
		Flags: runFlags(),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			if cmd.Args().Present() {
				return usage("vectors takes no arguments; a program is checked with: verifier -- CMD")
			}
			cases, err := conformance.Vectors(self.Verifier{})
			if err != nil {
				return err
			}
			return runSuite(ctx, cmd, stdout, cases, []string{"in process"})
		},
	}
}

// runFlags are the flags of every suite (CNF-3).
func runFlags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "list", Usage: "print the cases with their requirement numbers, run nothing"},
		&cli.StringFlag{Name: "run", Usage: "run only cases whose ID matches `REGEXP`"},
		&cli.StringSliceFlag{Name: "features", Usage: "what the implementation claims to have, default everything: `LIST`"},
		&cli.IntFlag{Name: "repeat", Value: 1, Usage: "run each case `N` times"},
		&cli.IntFlag{Name: "parallel", Value: 4, Usage: "run `N` cases at once"},
		&cli.Uint64Flag{Name: "seed", Value: 1, Usage: "`N` decides the order of cases"},
		&cli.StringFlag{Name: "json", Usage: "write the report as JSON to `FILE`, - is standard output"},
		&cli.StringFlag{Name: "junit", Usage: "write the report as JUnit's XML to `FILE`"},
	}
}

// runSuite runs or lists cases as the flags say.
func runSuite(ctx context.Context, cmd *cli.Command, stdout io.Writer, cases []conformance.Case, argv []string) error {
	options, err := readOptions(cmd, cases)
	if err != nil {
		return err
	}
	return runWith(ctx, cmd, stdout, cases, argv, options)
}

func runWith(ctx context.Context, cmd *cli.Command, stdout io.Writer, cases []conformance.Case, argv []string, options conformance.Options) error {
	if cmd.Bool("list") {
		return list(stdout, cases, options)
	}
	report := conformance.Run(ctx, conformance.Target{Tool: toolVersion(), Command: argv}, cases, options)
	if err := writeReport(cmd, stdout, &report); err != nil {
		return err
	}
	if cmd.IsSet("run") && !slices.ContainsFunc(cases, options.Selects) {
		return fmt.Errorf("--run %s matches none of the %d cases; --list prints their names", cmd.String("run"), len(cases))
	}
	return &reported{report.ExitCode()}
}

func readOptions(cmd *cli.Command, cases []conformance.Case) (conformance.Options, error) {
	o, err := readRunOptions(cmd)
	if err != nil || !cmd.IsSet("features") {
		return o, err
	}
	o.Features = cmd.StringSlice("features")
	if err := conformance.CheckFeatures(o.Features, cases); err != nil {
		return o, &usageError{fmt.Errorf("--features: %w", err)}
	}
	return o, nil
}

// readRunOptions reads what says how cases are run, whatever they are about.
func readRunOptions(cmd *cli.Command) (conformance.Options, error) {
	o := conformance.Options{Repeat: cmd.Int("repeat"), Parallel: cmd.Int("parallel"), Seed: cmd.Uint64("seed")}
	if o.Repeat < 1 || o.Parallel < 1 {
		return o, usage("--repeat %d, --parallel %d: want at least 1", o.Repeat, o.Parallel)
	}
	if !cmd.IsSet("run") {
		return o, nil
	}
	only, err := regexp.Compile(cmd.String("run"))
	if err != nil {
		return o, &usageError{fmt.Errorf("--run: %w", err)}
	}
	o.Only = only
	return o, nil
}

func list(stdout io.Writer, cases []conformance.Case, o conformance.Options) error {
	for _, c := range cases {
		if !o.Selects(c) {
			continue
		}
		if _, err := fmt.Fprintf(stdout, "%s\t%s\t%s\t%s\n", c.ID(), c.Feature, strings.Join(c.Requirements, " "), c.Title); err != nil {
			return err
		}
	}
	return nil
}

// writer is a report, or several.
type writer interface {
	WriteTable(io.Writer) error
	WriteJSON(io.Writer) error
	WriteJUnit(io.Writer) error
}

// writeReport writes the report in every form that was asked for. The table
// goes to standard output unless JSON does.
func writeReport(cmd *cli.Command, stdout io.Writer, report writer) error {
	if cmd.String("json") == "-" {
		if err := report.WriteJSON(stdout); err != nil {
			return err
		}
	} else if err := report.WriteTable(stdout); err != nil {
		return err
	}
	for flag, write := range map[string]func(io.Writer) error{"json": report.WriteJSON, "junit": report.WriteJUnit} {
		if path := cmd.String(flag); path != "" && path != "-" {
			if err := writeFile(path, write); err != nil {
				return fmt.Errorf("--%s: %w", flag, err)
			}
		}
	}
	return nil
}

func writeFile(path string, write func(io.Writer) error) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := write(file); err != nil {
		file.Close()
		return err
	}
	return file.Close()
}
