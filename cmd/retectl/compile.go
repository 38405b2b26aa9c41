package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/florete/flor/compiler"
	"github.com/florete/flor/envelope"
)

func compileCommand(c *console) *cli.Command {
	return &cli.Command{
		Name:  "compile",
		Usage: "turn the YAML into one signed set per node, below .flor/compiled",
		Flags: append(sourceFlags(),
			&cli.BoolFlag{Name: "check", Usage: "write nothing; exit 1 when something would change"},
			&cli.BoolFlag{Name: "move-coordinator", Usage: "allow the coordinator's node or address to change, which may strand nodes"},
			&cli.StringFlag{Name: "resign", Usage: "sign anew, as the signer `NAME`, each set that another one signed"},
			&cli.Uint64Flag{Name: "floor", Usage: "lift every node above version `N`"},
			signerFlag(), passphraseFlag(),
		),
		Action: c.compile,
	}
}

func (c *console) compile(ctx context.Context, cmd *cli.Command) error {
	if err := misused.NoArguments(cmd); err != nil {
		return err
	}
	opts, err := c.compileOptions(ctx, cmd)
	if err != nil {
		return err
	}
	c.noteGone(ctx, opts.Dir)
	result, err := compiler.Compile(ctx, opts)
	if err != nil {
		return err
	}
	if err := listsSigner(cmd, result.Source.View); err != nil {
		return err
	}
	c.diagnose(result.Source.Warnings, result.Source.Texts)
	c.showChanges(result, opts.Check)
	c.noteBundles(opts.Dir, result.Source.View, opts.Now)
	switch {
	case !opts.Check:
		c.noteRelease(ctx, opts.Dir, result.Source.View)
	case len(result.Changes) > 0:
		return refuse(reasonWouldChange, "%s would change; run \"retectl compile\" and commit the result", count(len(result.Changes), "node"))
	}
	return nil
}

func (c *console) compileOptions(ctx context.Context, cmd *cli.Command) (compiler.CompileOptions, error) {
	from, err := source(cmd)
	if err != nil {
		return compiler.CompileOptions{}, err
	}
	if floor := cmd.Uint64("floor"); floor >= envelope.MaxVersion {
		return compiler.CompileOptions{}, usage("--floor %d is not below the last version there is, %d", floor, uint64(envelope.MaxVersion))
	}
	generatedAt, err := compiler.GeneratedAt(from.Now, c.getenv)
	return compiler.CompileOptions{
		SourceOptions:   from,
		Signer:          c.chooseSigner(cmd, c.passphrase(ctx, cmd)),
		GeneratedAt:     generatedAt,
		Floor:           cmd.Uint64("floor"),
		Check:           cmd.Bool("check"),
		MoveCoordinator: cmd.Bool("move-coordinator"),
		Resign:          cmd.String("resign"),
	}, err
}

// listsSigner refuses a --signer that the source does not list also when nothing
// was to be signed.
func listsSigner(cmd *cli.Command, v *compiler.View) error {
	name := cmd.String("signer")
	if name == "" {
		return nil
	}
	_, err := compiler.PickSigner(v.Signers, name, nil)
	return err
}

// showChanges prints, per touched node, old and new version and what changed
// (CLI-1). With check nothing was touched yet.
func (c *console) showChanges(result *compiler.Result, check bool) {
	for _, note := range result.Notes {
		c.say("note: %s", note)
	}
	for _, change := range result.Changes {
		c.tell("%s\t%s\t%s", change.Node, versionStep(change), strings.Join(change.What, "; "))
	}
	if len(result.Changes) == 0 {
		c.say("nothing changed: %s as before", count(result.Untouched, "node"))
		return
	}
	touched := "touched"
	if check {
		touched = "would be touched"
	}
	c.say("%s %s, %d as before", count(len(result.Changes), "node"), touched, result.Untouched)
}

func versionStep(change compiler.Change) string {
	switch {
	case change.Old == 0:
		return fmt.Sprintf("new → %d", change.New)
	case change.New == 0:
		return fmt.Sprintf("%d → gone", change.Old)
	}
	return fmt.Sprintf("%d → %d", change.Old, change.New)
}

// count says how many there are of something.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
