package main

import (
	"errors"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/florete/flor/compiler"
	"github.com/florete/flor/compiler/diag"
)

// homepage is where a reader of a SARIF log finds the tool.
const homepage = "https://github.com/florete/flor"

// The formats in which findings are written; text is for people, on stderr.
const (
	formatText  = "text"
	formatJSON  = "json"
	formatSARIF = "sarif"
)

// formatFlag chooses one of several formats, the first by default.
func formatFlag(formats ...string) cli.Flag {
	return &cli.StringFlag{Name: "format", Value: formats[0], Usage: "`FORMAT` of the answer: " + strings.Join(formats, ", ")}
}

// format is what --format says, if it is one of them.
func format(cmd *cli.Command, formats ...string) (string, error) {
	chosen := cmd.String("format")
	if !slices.Contains(formats, chosen) {
		return "", usage("--format %q is none of %s", chosen, strings.Join(formats, ", "))
	}
	return chosen, nil
}

// reportedFaults are faults of the source that stand in the answer already.
type reportedFaults struct{ *compiler.SourceError }

// report writes what was found in a format for programs, to stdout: err is what
// loading the source came to. Faults remain an error, for the exit code alone.
func (c *console) report(format string, loaded *compiler.Loaded, err error) error {
	var found diag.List
	var faults *compiler.SourceError
	switch {
	case errors.As(err, &faults):
		found = faults.Diagnostics
	case err != nil:
		return err
	default:
		found = loaded.Warnings
	}
	if err := c.writeFindings(format, found); err != nil {
		return err
	}
	if faults != nil {
		return reportedFaults{faults}
	}
	return nil
}

func (c *console) writeFindings(format string, found diag.List) error {
	if format == formatSARIF {
		tool := diag.Tool{Name: "retectl", Version: buildVersion(), URL: homepage}
		return diag.WriteSARIF(c.out, found, tool, compiler.Registry())
	}
	return diag.WriteJSON(c.out, found)
}
