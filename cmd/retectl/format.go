package main

import (
	"errors"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/florete/flor/cmd/internal/build"
	"github.com/florete/flor/compiler"
	"github.com/florete/flor/compiler/diag"
)

// homepage is where a reader of a SARIF log finds the tool.
const homepage = "https://github.com/florete/flor"

// The formats in which something is written.
const (
	formatText    = "text"
	formatTable   = "table"
	formatJSON    = "json"
	formatSARIF   = "sarif"
	formatCSV     = "csv"
	formatDOT     = "dot"
	formatMermaid = "mermaid"
	formatSPIFFE  = "spiffe"
	formatPEM     = "pem"
)

// formats has, for each command that lets its user choose, what there is; the
// first is the default.
var formats = map[string][]string{
	"validate":     {formatText, formatJSON, formatSARIF},
	"access":       {formatTable, formatJSON, formatCSV, formatDOT, formatMermaid},
	"trust-bundle": {formatSPIFFE, formatPEM},
}

// formatFlag lets the user of a command choose one of its formats.
func formatFlag(command string) cli.Flag {
	known := formats[command]
	return &cli.StringFlag{Name: "format", Value: known[0], Usage: "`FORMAT` of the answer: " + strings.Join(known, ", ")}
}

// chosenFormat is what --format says, if it is one of the command's.
func chosenFormat(cmd *cli.Command) (string, error) {
	chosen, known := cmd.String("format"), formats[cmd.Name]
	if !slices.Contains(known, chosen) {
		return "", usage("--format %q is none of %s", chosen, strings.Join(known, ", "))
	}
	return chosen, nil
}

// reportedFaults are faults of the source that stand in the answer already.
type reportedFaults struct{ *compiler.SourceError }

func (r reportedFaults) Unwrap() error { return r.SourceError }

// report writes what was found in a format for programs, to stdout: err is what
// loading the source came to. Faults remain an error, for the exit code alone.
func (c *console) report(format string, loaded *compiler.Loaded, err error) error {
	var found diag.List
	var texts diag.Sources
	var faults *compiler.SourceError
	switch {
	case errors.As(err, &faults):
		found, texts = faults.Diagnostics, faults.Texts
	case err != nil:
		return err
	default:
		found, texts = loaded.Warnings, loaded.Texts
	}
	if err := c.writeFindings(format, found, texts); err != nil {
		return err
	}
	if faults != nil {
		return reportedFaults{faults}
	}
	return nil
}

func (c *console) writeFindings(format string, found diag.List, texts diag.Sources) error {
	if format == formatSARIF {
		tool := diag.Tool{Name: "retectl", Version: build.Version(), URL: homepage}
		return diag.WriteSARIF(c.out, found, tool, compiler.Registry())
	}
	return diag.WriteJSON(c.out, found, texts)
}
