package main

import (
	"context"
	"runtime"
	"runtime/debug"

	"github.com/urfave/cli/v3"

	"github.com/florete/flor/envelope"
	"github.com/florete/flor/envelope/schema"
)

func versionCommand(c *console) *cli.Command {
	return &cli.Command{
		Name:   "version",
		Usage:  "print the version of this program and of the contract that it writes",
		Action: c.version,
	}
}

func (c *console) version(_ context.Context, cmd *cli.Command) error {
	if err := noArguments(cmd); err != nil {
		return err
	}
	c.tell("retectl %s %s/%s %s", buildVersion(), runtime.GOOS, runtime.GOARCH, runtime.Version())
	c.tell("contract: envelope %s, agent %s, vertex %s", envelope.SchemaVersion, schema.AgentVersion, schema.VertexVersion)
	return nil
}

// buildVersion is what the go command recorded of the module and its revision.
func buildVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(unknown)"
	}
	return info.Main.Version
}
