package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v3"

	"github.com/florete/flor/conformance"
	"github.com/florete/flor/conformance/self"
)

func selfCommand(stdout io.Writer) *cli.Command {
	return &cli.Command{
		Name:  "self",
		Usage: "build our own programs from this checkout, and check them with every suite",
		Flags: append(withoutFeatures(runFlags()),
			&cli.BoolFlag{Name: "mutants", Usage: "check the suites instead: run their cases against our programs with one mistake each"},
			&cli.BoolFlag{Name: "all", Usage: "with --mutants: run every case against every mutant, not only those it should fail"},
			&cli.StringFlag{Name: "reports", Usage: "write a report of each program into `DIR`, as they are committed"}),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			if cmd.Args().Present() {
				return usage("self takes no arguments: it checks our own programs")
			}
			return checkOurselves(ctx, cmd, stdout)
		},
	}
}

// withoutFeatures leaves out what a run of our own programs cannot choose.
func withoutFeatures(flags []cli.Flag) []cli.Flag {
	var kept []cli.Flag
	for _, f := range flags {
		if f.Names()[0] != "features" {
			kept = append(kept, f)
		}
	}
	return kept
}

// checkOurselves does what the flags ask for.
func checkOurselves(ctx context.Context, cmd *cli.Command, stdout io.Writer) (err error) {
	options, err := readRunOptions(cmd)
	if err != nil {
		return err
	}
	shop, err := self.OpenWorkshop(ctx, "")
	if err != nil {
		return err
	}
	defer func() {
		if closed := shop.Close(); closed != nil {
			err = closed
		}
	}()
	switch {
	case cmd.Bool("list"):
		return listOwn(stdout, options)
	case cmd.Bool("mutants"):
		return killMutants(ctx, cmd, stdout, shop, options)
	}
	return checkOwn(ctx, cmd, stdout, shop, options)
}

func listOwn(stdout io.Writer, options conformance.Options) error {
	listed := map[string]bool{}
	for _, s := range self.Subjects() {
		cases, err := s.Cases()
		if err != nil {
			return err
		}
		if listed[s.Suite] {
			continue
		}
		listed[s.Suite] = true
		if err := list(stdout, cases, options); err != nil {
			return err
		}
	}
	return nil
}

// checkOwn runs each suite against our own programs (CNF-5).
func checkOwn(ctx context.Context, cmd *cli.Command, stdout io.Writer, shop *self.Workshop, options conformance.Options) error {
	var reports conformance.Reports
	for _, s := range self.Subjects() {
		report, err := shop.Check(ctx, s, toolVersion(), options)
		if err != nil {
			return err
		}
		if len(report.Cases) == 0 {
			continue
		}
		reports = append(reports, report)
		if err := keepReport(cmd.String("reports"), s, report); err != nil {
			return err
		}
	}
	if err := writeReport(cmd, stdout, reports); err != nil {
		return err
	}
	return &reported{reports.ExitCode()}
}

// keepReport writes the report that is committed.
func keepReport(dir string, s self.Subject, report conformance.Report) error {
	if dir == "" {
		return nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	report = report.Lasting()
	return writeFile(filepath.Join(dir, s.Name+".json"), report.WriteJSON)
}

// killMutants checks the suites (CNF-4).
func killMutants(ctx context.Context, cmd *cli.Command, stdout io.Writer, shop *self.Workshop, options conformance.Options) error {
	o := self.MutantOptions{Only: options.Only, All: cmd.Bool("all"), Parallel: options.Parallel}
	var reports self.MutantReports
	var failed []error
	for _, kill := range killings(shop, o) {
		report, err := kill(ctx)
		if err != nil && ctx.Err() != nil {
			return err
		}
		if err != nil {
			failed = append(failed, err)
			continue
		}
		if err := report.WriteTable(stdout); err != nil {
			return err
		}
		reports = append(reports, report)
	}
	err := tellKilled(cmd, stdout, reports)
	if len(failed) > 0 {
		return errors.Join(failed...)
	}
	return err
}

// killings are what is to be done, one after the other. One that cannot be done
// keeps nobody from the tables of the others.
func killings(shop *self.Workshop, o self.MutantOptions) []func(context.Context) (self.MutantReport, error) {
	var all []func(context.Context) (self.MutantReport, error)
	for _, s := range self.Subjects() {
		if s.HasMutants(o) {
			all = append(all, func(ctx context.Context) (self.MutantReport, error) { return shop.KillMutants(ctx, s, o) })
		}
	}
	if o.Only == nil {
		all = append(all, shop.KillVerifiers)
	}
	return all
}

// tellKilled sums up what became of mutants.
func tellKilled(cmd *cli.Command, stdout io.Writer, reports self.MutantReports) error {
	if len(reports) == 0 {
		return errors.New("no mutant has such a name")
	}
	if err := reports.WriteSummary(stdout); err != nil {
		return err
	}
	if path := cmd.String("json"); path != "" {
		if err := writeFile(path, reports.WriteJSON); err != nil {
			return err
		}
	}
	return &reported{reports.ExitCode()}
}
