package main

import (
	"context"
	"encoding/json"

	"github.com/urfave/cli/v3"

	"github.com/florete/flor/cmd/internal/build"
	"github.com/florete/flor/envelope"
	"github.com/florete/flor/envelope/schema"
)

// versions is what "retectl version --json" prints.
type versions struct {
	build.Info
	Envelope string `json:"envelope"`
	Agent    string `json:"agent"`
	Vertex   string `json:"vertex"`
}

func versionCommand(c *console) *cli.Command {
	return &cli.Command{
		Name:   "version",
		Usage:  "print the version of this program and of the contract that it writes",
		Flags:  []cli.Flag{&cli.BoolFlag{Name: "json", Usage: "print the document as JSON"}},
		Action: c.version,
	}
}

func (c *console) version(_ context.Context, cmd *cli.Command) error {
	if err := misused.NoArguments(cmd); err != nil {
		return err
	}
	v := versions{Info: build.Read(), Envelope: envelope.SchemaVersion, Agent: schema.AgentVersion, Vertex: schema.VertexVersion}
	if cmd.Bool("json") {
		text, err := json.MarshalIndent(v, "", "  ")
		if err != nil {
			return err
		}
		c.tell("%s", text)
		return nil
	}
	c.tell("retectl %s %s %s", v.Version, v.Platform, v.Go)
	c.tell("contract: envelope %s, agent %s, vertex %s", v.Envelope, v.Agent, v.Vertex)
	return nil
}
