package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/florete/flor/store"
	"github.com/florete/flor/store/bundle"
	"github.com/florete/flor/store/identity"
	"github.com/florete/flor/supervise/program"
)

func enrollCommand(c *console) *cli.Command {
	return &cli.Command{
		Name:      "enroll",
		Usage:     "make this machine a node of a rete, from its bundle",
		ArgsUsage: "<bundle>",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "as", Usage: "the local name `SCOPE`; default is the trust domain's"},
			&cli.StringFlag{Name: "expect-ca", Usage: "refuse a bundle whose CA has not this SHA-256 `FINGERPRINT`"},
			&cli.BoolFlag{Name: "force", Usage: "replace the scope whatever it holds; it is moved aside, whole, and what it knew is forgotten"},
			&cli.BoolFlag{Name: "reset-mark", Usage: "let an older set in; gives up the protection from sets that were replaced"},
			&cli.StringFlag{Name: "passphrase-file", Usage: "read the passphrase of an encrypted bundle from the first line of `FILE`"},
			&cli.BoolFlag{Name: "no-start", Usage: "install only, and do not look for an agent"},
		},
		Action: c.enroll,
	}
}

// enroll checks a bundle, tells what is in it, and installs it (BND-1, BND-2,
// BND-3).
func (c *console) enroll(ctx context.Context, cmd *cli.Command) error {
	name, err := misused.OneArgument(cmd, "the bundle, or - for standard input")
	if err != nil {
		return err
	}
	here, err := c.own(ctx)
	if err != nil {
		return err
	}
	b, err := c.readBundle(name, cmd.String("passphrase-file"))
	if err != nil {
		return err
	}
	if want := cmd.String("expect-ca"); want != "" && !identity.SameFingerprint(want, b.CA) {
		return refuse(wrongCA, "the bundle's CA has the fingerprint %s, expected was %s; nothing was written; ask your operator, to whom \"retectl ca show\" tells the right one", identity.Fingerprint(b.CA), want)
	}
	scope := cmp.Or(cmd.String("as"), b.TrustDomain.Name())
	owner, err := here.owner()
	if err != nil {
		return err
	}
	o := bundle.Options{Owner: owner, Force: cmd.Bool("force"), ResetMark: cmd.Bool("reset-mark")}
	if err := c.installPaused(ctx, here, scope, b, o); err != nil {
		return err
	}
	if cmd.Bool("no-start") {
		return nil
	}
	return c.handOver(ctx, here, scope)
}

// installPaused is install, also of a scope whose agent the service manager
// runs: that is stopped and started (BND-3). Any other agent keeps the scope's
// lock, and is named in the refusal.
func (c *console) installPaused(ctx context.Context, here own, scope string, b *bundle.Bundle, o bundle.Options) error {
	err := c.install(here.layout, scope, b, o)
	held, isHeld := errors.AsType[*store.HeldError](err)
	if !isHeld {
		return err
	}
	if !here.managed() {
		return adviseScope(ctx, err, here.layout, scope, b)
	}
	pid, errPID := here.manager.PID(ctx, scope)
	if errPID != nil || pid == 0 || pid != held.PID {
		return errors.Join(err, errPID)
	}
	c.say("the agent of scope %s is stopped for the enrolment", scope)
	if err := here.manager.Stop(ctx, scope); err != nil {
		return err
	}
	err = c.install(here.layout, scope, b, o)
	// Who was interrupted in between has its agent back all the same.
	return errors.Join(err, here.manager.Start(context.WithoutCancel(ctx), scope))
}

// adviseScope adds to the refusal of a scope whose agent runs that it is another
// node's than the bundle's, as far as the agent says so: what is wanted then is
// most likely a scope of its own, and not that the agent ends.
func adviseScope(ctx context.Context, held error, layout store.Layout, scope string, b *bundle.Bundle) error {
	client, err := clientOf(layout, scope)
	if err != nil {
		return held
	}
	doc, err := client.status(ctx)
	if err != nil || doc.Node == b.Node && doc.TrustDomain == b.TrustDomain.Name() {
		return held
	}
	return fmt.Errorf("%w, or keep both: the scope is node %s of %s and the bundle is for node %s of %s, which can have a scope of its own with --as NAME",
		held, doc.Node, doc.TrustDomain, b.Node, b.TrustDomain)
}

// install shows what the bundle has and what the scope holds before anything of it
// is replaced. A scope that is held is refused before anything is said.
func (c *console) install(layout store.Layout, scope string, b *bundle.Bundle, o bundle.Options) error {
	i, err := b.Begin(layout.State, scope, o)
	if _, held := errors.AsType[*store.HeldError](err); held {
		return err
	}
	c.introduce(b)
	if i != nil {
		c.compare(i, err != nil)
	}
	if err != nil {
		return err
	}
	if o.ResetMark {
		c.warnOfMark(i.Before, b.SetVersion)
	}
	if err := errors.Join(i.Commit(), i.Close()); err != nil {
		return err
	}
	if i.Aside != "" {
		c.say("the scope that was there is in %s; it holds private keys: remove it when nobody needs it", i.Aside)
	}
	c.say("enrolled as %s in %s", scope, filepath.Join(layout.RetesDir(), scope))
	return nil
}

// readBundle reads a bundle whole, and names the file in what it finds wrong.
func (c *console) readBundle(name, passphraseFile string) (*bundle.Bundle, error) {
	file, err := c.openBundle(name)
	if err != nil {
		return nil, err
	}
	ask := func() ([]byte, error) { return c.passphrase(passphraseFile, name == "-") }
	b, err := bundleIn(file, ask)
	if err != nil {
		if name == "-" {
			name = "standard input"
		}
		err = fmt.Errorf("%s: %w", name, err)
	}
	return b, errors.Join(err, file.Close())
}

func bundleIn(file io.Reader, ask func() ([]byte, error)) (*bundle.Bundle, error) {
	plain, err := bundle.Unwrap(file, ask)
	if err != nil {
		return nil, err
	}
	return bundle.Read(plain, time.Now())
}

func (c *console) openBundle(name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(c.in), nil
	}
	return os.Open(name)
}

// handOver has the service manager run the agent, or tells how it is started
// where none can; an agent that runs is followed to its first contact (BND-2).
func (c *console) handOver(ctx context.Context, here own, scope string) error {
	client, err := clientOf(here.layout, scope)
	if err != nil {
		return err
	}
	if _, err := client.status(ctx); err == nil {
		return c.awaitContact(ctx, client.Client)
	}
	if !here.managed() {
		c.say("no service manager starts the agent here; start it with:")
		c.tell("%s", c.byHand(here.layout, scope))
		return nil
	}
	if err := here.manager.Enable(ctx, scope); err != nil {
		return err
	}
	c.say("%s runs the agent of scope %s, now and from each %s on", here.manager.Name(), scope, moment(here.layout.Mode))
	c.sayLinger(here)
	if err := awaitAgent(ctx, client); err != nil {
		return err
	}
	return c.awaitContact(ctx, client.Client)
}

// logFlag is what the command that starts the agent needs where nothing answers
// at the log destination: without, the agent would not start (OBS-1).
func (c *console) logFlag(layout store.Layout) string {
	configured, err := readConfig(layout.Config)
	if err != nil {
		return "" // the agent says what is wrong with it, whatever its flags
	}
	sink, err := program.OpenSink(destination(c.getenv(destinationVariable), configured))
	if err != nil {
		return " --log-stderr"
	}
	_ = sink.Close() // nothing was written to it
	return ""
}
