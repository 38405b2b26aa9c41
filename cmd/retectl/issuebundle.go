package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v3"
	"golang.org/x/sys/unix"

	"github.com/florete/flor/compiler"
	"github.com/florete/flor/compiler/ca"
	"github.com/florete/flor/store/bundle"
	"github.com/florete/flor/store/durable"
)

const (
	bundleSuffix             = ".bundle"
	privateFile  fs.FileMode = 0o600
)

func issueBundleCommand(c *console) *cli.Command {
	return &cli.Command{
		Name:  "issue-bundle",
		Usage: "make the file with which a machine enrols as a node: fresh keys, and its compiled set",
		Flags: append(sourceFlags(),
			&cli.StringFlag{Name: "node", Required: true, Usage: "the `NODE` that the machine becomes"},
			&cli.StringFlag{Name: "out", TakesFile: true, Usage: "write to `FILE`; default <node>.bundle"},
			&cli.StringFlag{Name: "validity", Usage: "how long its certificates live, as `30d` or 12h; default is what rete.yaml says"},
			&cli.BoolFlag{Name: "encrypt", Usage: "put the bundle under a passphrase of its own"},
			&cli.StringFlag{Name: "bundle-passphrase-file", TakesFile: true, Usage: "read that passphrase from the first line of `FILE`"},
			&cli.BoolFlag{Name: "force", Usage: "overwrite an existing file"},
			signerFlag(), caKeyFlag(), passphraseFlag(),
		),
		Action: c.issueBundle,
	}
}

func (c *console) issueBundle(ctx context.Context, cmd *cli.Command) error {
	if err := misused.NoArguments(cmd); err != nil {
		return err
	}
	opts, err := c.issueOptions(ctx, cmd)
	if err != nil {
		return err
	}
	out := cmd.String("out")
	if out == "" {
		out = opts.Node + bundleSuffix
	}
	if err := mayWrite(out, cmd.Bool("force")); err != nil {
		return err
	}
	passphrase, err := c.bundlePassphrase(ctx, cmd)
	if err != nil {
		return err
	}
	enrolment, err := compiler.Issue(ctx, opts)
	if err != nil {
		return err
	}
	if err := writeBundle(out, enrolment.Bundle, passphrase); err != nil {
		return fmt.Errorf("%w (%s has certificates now that nobody holds)", err, compiler.IssuedPath)
	}
	c.showEnrolment(enrolment, out, passphrase != nil)
	c.noteUncommitted(ctx, opts.Dir)
	return nil
}

func (c *console) issueOptions(ctx context.Context, cmd *cli.Command) (compiler.IssueOptions, error) {
	from, err := source(cmd)
	if err != nil {
		return compiler.IssueOptions{}, err
	}
	validity, err := parseValidity(cmd.String("validity"))
	ask := c.passphrase(ctx, cmd)
	return compiler.IssueOptions{
		SourceOptions: from,
		Node:          cmd.String("node"),
		Authority:     func(v *compiler.View) (*ca.Authority, error) { return c.authority(cmd, v, ask) },
		Signer:        c.chooseSigner(cmd, ask),
		Validity:      validity,
	}, err
}

// bundlePassphrase is what --encrypt puts the bundle under; nil without it.
func (c *console) bundlePassphrase(ctx context.Context, cmd *cli.Command) ([]byte, error) {
	file := cmd.String("bundle-passphrase-file")
	switch {
	case !cmd.Bool("encrypt") && file != "":
		return nil, usage("--bundle-passphrase-file goes with --encrypt")
	case !cmd.Bool("encrypt"):
		return nil, nil
	case file != "":
		return passphraseFromFile(file)
	}
	return c.promptPassphrase(ctx, "Passphrase for the bundle: ")
}

// mayWrite refuses a file that is there already, and one that could not be
// written, before there is something to write that must not be lost.
func mayWrite(name string, force bool) error {
	dir := filepath.Dir(name)
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return usage("%s cannot be written: there is no directory %s; make it, or choose another --out", name, dir)
	case err != nil:
		return err
	case !info.IsDir():
		return usage("%s cannot be written: %s is no directory; choose another --out", name, dir)
	}
	if err := vacant(name, force); err != nil {
		return err
	}
	if err := unix.Access(dir, unix.W_OK); err != nil {
		return &fs.PathError{Op: "write", Path: name, Err: err}
	}
	return nil
}

// vacant refuses a file that is there already.
func vacant(name string, force bool) error {
	info, err := os.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.IsDir():
		return usage("%s is a directory; name a file in it", name)
	case force:
		return nil
	}
	return refuse(reasonExists, "%s exists; choose another --out, or say --force", name)
}

// writeBundle writes the file for its owner only, whole or not at all (BND-4).
func writeBundle(name string, text, passphrase []byte) error {
	if passphrase != nil {
		sealed, err := bundle.Encrypt(text, passphrase)
		if err != nil {
			return err
		}
		text = sealed
	}
	return writePrivate(name, text)
}

// writePrivate replaces the file name, mode 0600.
func writePrivate(name string, text []byte) error {
	root, err := os.OpenRoot(filepath.Dir(name))
	if err != nil {
		return err
	}
	defer root.Close()
	if err := durable.ReplaceFile(durable.OS(root), filepath.Base(name), text, privateFile); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

func (c *console) showEnrolment(e *compiler.Enrolment, out string, encrypted bool) {
	c.tell("%s", out)
	c.say("bundle of node %s, set version %d, with private keys for:", e.Node, e.Version)
	for _, issued := range e.Issued {
		c.say("  %s %s, valid until %s", issued.Kind, issued.Name, issued.NotAfter.Format(time.DateOnly))
	}
	if !encrypted {
		c.say("whoever has this file can be that node: hand it over accordingly, and delete it afterwards")
	}
	c.say("there: flor enroll %s, and compare the CA: %s", filepath.Base(out), ca.Fingerprint(e.CA))
}

const (
	day = 24 * time.Hour
	// maxValidityDays is what rete.yaml may say as well.
	maxValidityDays = 36500
)

// parseValidity reads a Go duration, or a number of days such as 30d. An empty
// text is 0.
func parseValidity(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	d, err := parsePeriod(text)
	switch {
	case err != nil:
		return 0, usage("--validity %q is not a period; write 30d or 12h", text)
	case d <= 0 || d > maxValidityDays*day:
		return 0, usage("--validity %q is out of range: a certificate lives longer than nothing, and at most %dd", text, maxValidityDays)
	}
	return d, nil
}

// parsePeriod reads more days than a duration holds as more than are allowed.
func parsePeriod(text string) (time.Duration, error) {
	number, isDays := strings.CutSuffix(text, "d")
	if !isDays {
		return time.ParseDuration(text)
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, err
	}
	return time.Duration(max(min(n, maxValidityDays+1), 0)) * day, nil
}
