package main

import (
	"context"
	"fmt"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/florete/flor/compiler"
	"github.com/florete/flor/compiler/ca"
)

func caCommand(c *console) *cli.Command {
	return &cli.Command{
		Name:  "ca",
		Usage: "the authority of the rete: its root, its signers, single certificates",
		Commands: []*cli.Command{
			caInitCommand(c),
			caSignCommand(c),
			caIssueCommand(c),
			caShowCommand(c),
			caExportKeyCommand(c),
			caRotateSignerCommand(c),
			caRevokeCommand(c),
		},
	}
}

func validityFlag() cli.Flag {
	return &cli.StringFlag{Name: "validity", Usage: "how long it lives, as `30d` or 12h; default is what rete.yaml says"}
}

// openSource loads the source of the repository that is meant.
func (c *console) openSource(cmd *cli.Command) (string, *compiler.View, error) {
	from, err := source(cmd)
	if err != nil {
		return "", nil, err
	}
	loaded, err := compiler.Load(from)
	if err != nil {
		return "", nil, err
	}
	c.diagnose(loaded.Warnings, loaded.Texts)
	return from.Dir, loaded.View, nil
}

func caShowCommand(c *console) *cli.Command {
	return &cli.Command{
		Name:   "show",
		Usage:  "print the root and the signers: ID, fingerprint, validity, and whether the key is here",
		Flags:  sourceFlags(),
		Action: c.caShow,
	}
}

func (c *console) caShow(_ context.Context, cmd *cli.Command) error {
	if err := misused.NoArguments(cmd); err != nil {
		return err
	}
	_, v, err := c.openSource(cmd)
	if err != nil {
		return err
	}
	ring, err := c.keyring(v.TrustDomain)
	if err != nil {
		return err
	}
	c.tell("root\t%s\t%s\tuntil %s\t%s", v.TrustDomain.IDString(), ca.Fingerprint(v.CA), v.CA.NotAfter.UTC().Format(time.DateOnly), here(ring, ca.RootKey))
	for _, s := range v.Signers {
		c.tell("mgmt\t%s\t%s\tuntil %s\t%s", s.ID, ca.Fingerprint(s.Cert), s.Cert.NotAfter.UTC().Format(time.DateOnly), here(ring, ca.SignerKey(s.Name)))
	}
	c.say("keys are kept in %s", ring.Dir)
	return nil
}

func here(ring ca.Keyring, name ca.KeyName) string {
	switch has, err := ring.Has(name); {
	case err != nil:
		return "key out of reach: " + err.Error()
	case has:
		return "key here"
	}
	return "key elsewhere"
}

func caExportKeyCommand(c *console) *cli.Command {
	return &cli.Command{
		Name:  "export-key",
		Usage: "print a private key as PEM (PKCS#8), for openssl or step",
		Flags: append(sourceFlags(),
			&cli.StringFlag{Name: "signer", Usage: "the key of the management signer `NAME`; default is the root's"},
			passphraseFlag(),
		),
		Action: c.caExportKey,
	}
}

func (c *console) caExportKey(ctx context.Context, cmd *cli.Command) error {
	if err := misused.NoArguments(cmd); err != nil {
		return err
	}
	_, v, err := c.openSource(cmd)
	if err != nil {
		return err
	}
	ring, err := c.keyring(v.TrustDomain)
	if err != nil {
		return err
	}
	name := ca.RootKey
	if signer := cmd.String("signer"); signer != "" {
		name = ca.SignerKey(signer)
	}
	key, err := ring.Load(name, c.passphrase(ctx, cmd))
	if err != nil {
		return err
	}
	text, err := ca.EncodePEM(key)
	if err != nil {
		return err
	}
	c.say("warning: this private key is not encrypted")
	_, err = fmt.Fprintf(c.out, "%s", text)
	return err
}
