package main

import (
	"context"
	"crypto/x509"

	"github.com/spiffe/go-spiffe/v2/bundle/spiffebundle"
	"github.com/urfave/cli/v3"

	"github.com/florete/flor/compiler"
	"github.com/florete/flor/compiler/ca"
)

func trustBundleCommand(c *console) *cli.Command {
	return &cli.Command{
		Name:        "trust-bundle",
		Usage:       "print what others need to believe certificates of this rete",
		Description: "As a SPIFFE trust bundle (JWKS), for SPIRE, Envoy and others, or as PEM. It holds no secret.",
		Flags:       append(sourceFlags(), formatFlag("trust-bundle")),
		Action:      c.trustBundle,
	}
}

// trustBundle writes the root of the rete (PKI-5).
func (c *console) trustBundle(_ context.Context, cmd *cli.Command) error {
	if err := misused.NoArguments(cmd); err != nil {
		return err
	}
	format, err := chosenFormat(cmd)
	if err != nil {
		return err
	}
	_, v, err := c.openSource(cmd)
	if err != nil {
		return err
	}
	text := ca.EncodeCertificate(v.CA)
	if format == formatSPIFFE {
		if text, err = trustBundle(v); err != nil {
			return err
		}
	}
	_, err = c.out.Write(text)
	return err
}

func trustBundle(v *compiler.View) ([]byte, error) {
	text, err := spiffebundle.FromX509Authorities(v.TrustDomain, []*x509.Certificate{v.CA}).Marshal()
	if err != nil {
		return nil, err
	}
	return append(text, '\n'), nil
}
