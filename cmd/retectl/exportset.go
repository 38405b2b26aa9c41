package main

import (
	"context"

	"github.com/urfave/cli/v3"

	"github.com/florete/flor/compiler"
)

func exportSetCommand(c *console) *cli.Command {
	return &cli.Command{
		Name:        "export-set",
		Usage:       "write the compiled set of one node as a file, to carry it there by hand",
		Description: "For when the network is what is broken. On the node: flor agent sync --from FILE.",
		Flags: append(sourceFlags(),
			&cli.StringFlag{Name: "node", Required: true, Usage: "the `NODE` whose set it is"},
			&cli.StringFlag{Name: "out", TakesFile: true, Usage: "write to `FILE`, readable for its owner; default is standard output"},
			&cli.BoolFlag{Name: "force", Usage: "overwrite an existing file"},
		),
		Action: c.exportSet,
	}
}

func (c *console) exportSet(ctx context.Context, cmd *cli.Command) error {
	if err := misused.NoArguments(cmd); err != nil {
		return err
	}
	from, err := source(cmd)
	if err != nil {
		return err
	}
	exported, err := readExported(ctx, from, cmd.String("node"))
	if err != nil {
		return err
	}
	c.noteStale(ctx, from)
	out := cmd.String("out")
	if out == "" {
		_, err := c.out.Write(exported.Text)
		return err
	}
	if err := mayWrite(out, cmd.Bool("force")); err != nil {
		return err
	}
	if err := writePrivate(out, exported.Text); err != nil {
		return err
	}
	c.tell("%s", out)
	c.say("set version %d of node %s; there: flor agent sync --from %s", exported.Version, exported.Node, out)
	return nil
}

func readExported(ctx context.Context, from compiler.SourceOptions, node string) (*compiler.Exported, error) {
	loaded, err := compiler.Load(from)
	if err != nil {
		return nil, err
	}
	tree, err := compiler.ReadTree(ctx, from.Dir)
	if err != nil {
		return nil, err
	}
	return tree.Export(loaded.View, node)
}
