package main

import (
	"context"

	"github.com/urfave/cli/v3"

	"github.com/florete/flor/compiler"
)

func validateCommand(c *console) *cli.Command {
	return &cli.Command{
		Name:  "validate",
		Usage: "check the YAML of the rete, and write nothing",
		Description: "Text goes to stderr and shows the first 100 findings. --format json (schema_version, valid, error_count, " +
			"warning_count, diagnostics) and --format sarif (SARIF 2.1.0) go to stdout and have all.",
		Flags:  append(sourceFlags(), formatFlag("validate")),
		Action: c.validate,
	}
}

func (c *console) validate(_ context.Context, cmd *cli.Command) error {
	if err := misused.NoArguments(cmd); err != nil {
		return err
	}
	format, err := chosenFormat(cmd)
	if err != nil {
		return err
	}
	from, err := source(cmd)
	if err != nil {
		return err
	}
	loaded, err := compiler.Load(from)
	if format != formatText {
		return c.report(format, loaded, err)
	}
	if err != nil {
		return err
	}
	c.diagnose(loaded.Warnings, loaded.Texts)
	v := loaded.View
	c.say("%s is valid: %s, %s, %s", v.TrustDomain, count(len(v.Nodes), "node"), count(len(v.Services), "service"), count(len(v.Users), "user"))
	return nil
}
