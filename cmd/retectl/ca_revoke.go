package main

import (
	"context"
	"time"

	"github.com/spiffe/go-spiffe/v2/spiffeid"
	"github.com/urfave/cli/v3"

	"github.com/florete/flor/compiler"
	"github.com/florete/flor/compiler/facade"
)

func caRevokeCommand(c *console) *cli.Command {
	return &cli.Command{
		Name:      "revoke",
		Usage:     "let no vertex believe a certificate any more: of a lost machine, of a person whose key was stolen",
		ArgsUsage: "<principal|serial>",
		Description: "Takes the certificates of a principal (alice, user/alice, a SPIFFE ID), or the one of a serial number, out of .flor/issued.jsonl " +
			"and records them in .flor/revoked.jsonl. Revoke first, then issue anew: what was issued before is what goes.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "node", Usage: "only what went into the bundles of `NODE`; without a principal, all of it"},
			&cli.BoolFlag{Name: "dry-run", Usage: "say what would be revoked, and write nothing"},
		},
		Action: c.caRevoke,
	}
}

func (c *console) caRevoke(_ context.Context, cmd *cli.Command) error {
	dir, err := findRepository(cmd)
	if err != nil {
		return err
	}
	opts := compiler.RevokeOptions{Dir: dir, Now: time.Now(), Node: cmd.String("node"), DryRun: cmd.Bool("dry-run")}
	if opts.Node == "" || cmd.Args().Present() {
		if opts.Who, err = misused.OneArgument(cmd, "a principal or a serial number; or say --node NODE for all that a machine has"); err != nil {
			return err
		}
	}
	if err := sameRete(dir, opts.Who); err != nil {
		return err
	}
	revoked, err := compiler.Revoke(opts)
	if err != nil {
		return err
	}
	for _, r := range revoked {
		c.tell("%s\t%s\t%s\t%s\tuntil %s", r.Kind, r.Name, r.Node, r.Serial, r.NotAfter.UTC().Format(time.DateOnly))
	}
	if opts.DryRun {
		c.say("%s would be revoked; a serial number, or --node, narrows it down", count(len(revoked), "certificate"))
		return nil
	}
	c.say("revoked %s; next: retectl compile, retectl publish; then issue-bundle for those who go on", count(len(revoked), "certificate"))
	return nil
}

// sameRete refuses a SPIFFE ID of another trust domain: by its path alone it would
// name a principal of this one. A source with faults keeps nobody from revoking, as
// long as it says whose rete it is.
func sameRete(dir, who string) error {
	id, err := spiffeid.FromString(who)
	if err != nil {
		return nil
	}
	source, _ := facade.Load(facade.Options{Root: dir})
	if source.Rete == nil || source.Rete.Name.V == id.TrustDomain().Name() {
		return nil
	}
	return refuse(reasonUnknownName, "%s is of another rete: this is %s, whose IDs begin with spiffe://%[2]s/",
		who, source.Rete.Name.V)
}
