package main

import (
	"context"
	"fmt"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/florete/flor/compiler"
	"github.com/florete/flor/compiler/ca"
	"github.com/florete/flor/envelope/schema"
)

func caRotateSignerCommand(c *console) *cli.Command {
	return &cli.Command{
		Name:  "rotate-signer",
		Usage: "exchange a management signer in three steps; without a step, say where the rete stands and what comes next",
		Description: "Each step ends in a change of the YAML, which is printed and never made for you, and is compiled and published before the next. " +
			"A step that is not due is refused.",
		Flags:  sourceFlags(),
		Action: c.rotation,
		Commands: []*cli.Command{
			rotateStep(c, compiler.StepAdd, "make a further signer, to be listed beside the one that signs", c.rotateAdd,
				validityFlag(), caKeyFlag(), &cli.BoolFlag{Name: "no-passphrase", Usage: "write its private key without a passphrase"}),
			rotateStep(c, compiler.StepSwitch, "let the signer NAME sign every set", c.rotateSwitch, atOnceFlag()),
			rotateStep(c, compiler.StepRetire, "take the signer NAME out of every set, for ever", c.rotateRetire, atOnceFlag()),
		},
	}
}

func atOnceFlag() cli.Flag {
	return &cli.BoolFlag{Name: "at-once", Usage: "do not wait for the step before, because a key was stolen: nodes then believe the new signer by the CA alone"}
}

func rotateStep(c *console, step compiler.Step, does string, run func(context.Context, *cli.Command, *rotation) error, flags ...cli.Flag) *cli.Command {
	return &cli.Command{
		Name:      string(step),
		Usage:     does,
		ArgsUsage: "<NAME>",
		Flags:     append(append(sourceFlags(), passphraseFlag()), flags...),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			r, err := c.openRotation(cmd)
			if err != nil {
				return err
			}
			if r.name, err = misused.OneArgument(cmd, "the name of the signer"); err != nil {
				return err
			}
			r.step = step
			if err := c.mayTake(cmd, r); err != nil {
				return err
			}
			return run(ctx, cmd, r)
		},
	}
}

// mayTake refuses a step that is not due; with --at-once it says what skipping
// means instead.
func (c *console) mayTake(cmd *cli.Command, r *rotation) error {
	err := r.state.Check(r.step, r.name)
	if err == nil || !cmd.Bool("at-once") || !compiler.IsRefused(err, compiler.ReasonStepSkipped) {
		return err
	}
	c.say("at once, although: %v", err)
	c.say("nodes believe the new signer by the CA alone; one whose clock lies outside of its certificate's validity stays behind until that is put right")
	return nil
}

// rotation is a repository together with where its signers stand.
type rotation struct {
	dir   string
	view  *compiler.View
	state *compiler.Rotation
	step  compiler.Step
	name  string
}

func (c *console) openRotation(cmd *cli.Command) (*rotation, error) {
	from, err := source(cmd)
	if err != nil {
		return nil, err
	}
	loaded, err := compiler.Load(from)
	if err != nil {
		return nil, err
	}
	c.diagnose(loaded.Warnings, loaded.Texts)
	state, err := compiler.ReadRotation(loaded, from.Dir)
	return &rotation{dir: from.Dir, view: loaded.View, state: state}, err
}

// rotation tells where the rete stands between its signers, and what is next.
func (c *console) rotation(ctx context.Context, cmd *cli.Command) error {
	if err := misused.NoArguments(cmd); err != nil {
		return err
	}
	r, err := c.openRotation(cmd)
	if err != nil {
		return err
	}
	for _, s := range r.state.Signers {
		c.tell("%s\t%s\tcompiled: %s\tpublished: %s", s.Name, listed(s), spread(s.Compiled, r.state.Compiled), spread(s.Published, r.state.Published))
	}
	c.sayLocalAgent(ctx, r)
	if next := r.state.Next(); next != "" {
		c.say("next: %s", next)
		return nil
	}
	c.say("no rotation is under way; one begins with: retectl ca rotate-signer add NAME")
	return nil
}

func listed(s compiler.SignerState) string {
	if s.Listed {
		return "listed"
	}
	return "not listed"
}

func spread(s compiler.Spread, of int) string {
	return fmt.Sprintf("in %d, signed %d of %d", s.Lists, s.Signed, of)
}

// sayLocalAgent tells what is known of a node: the one that this machine is.
func (c *console) sayLocalAgent(ctx context.Context, r *rotation) {
	agent, err := c.agentOf(ctx, r.view.TrustDomain)
	if err != nil {
		c.say("a node has what was published last or something older; no agent of this rete runs here to be asked")
		return
	}
	published, err := compiler.ReadPublished(r.dir)
	if err != nil {
		c.say("the agent of %s here has version %d", agent.status.Node, agent.status.Set.Active)
		return
	}
	c.say("the agent of %s here has version %d, published is %d", agent.status.Node, agent.status.Set.Active, published.Nodes[agent.status.Node].Version)
}

// rotateAdd makes key and certificate of a further signer.
func (c *console) rotateAdd(ctx context.Context, cmd *cli.Command, r *rotation) error {
	id, err := schema.ManagementPlaneID(r.view.TrustDomain, r.name)
	if err != nil {
		return &usageError{err}
	}
	validity, err := parseValidity(cmd.String("validity"))
	if err != nil {
		return err
	}
	c.say("step 1 of 3, add: every set will list %s beside %s, and be signed as before; a node that fetches it believes both from then on", r.name, r.view.Signers[0].Name)
	authority, err := c.authority(cmd, r.view, c.passphrase(ctx, cmd))
	if err != nil {
		return err
	}
	o := order{id: id, dir: r.dir, view: r.view, authority: authority, now: time.Now(), validity: validity}
	file, err := c.makeSigner(ctx, cmd, o)
	if err != nil {
		return err
	}
	c.sayListing(r, file)
	c.say("then: retectl compile, retectl publish; and once nodes had the time to fetch: retectl ca rotate-signer switch %s", r.name)
	return nil
}

// rotateSwitch checks that the new signer can sign, before it has to.
func (c *console) rotateSwitch(ctx context.Context, cmd *cli.Command, r *rotation) error {
	signer := r.signer()
	if signer == nil {
		return usage("the YAML does not list %s; begin with \"ca rotate-signer add %s\"", r.name, r.name)
	}
	ring, err := c.keyring(r.view.TrustDomain)
	if err != nil {
		return err
	}
	key, err := ring.Load(ca.SignerKey(r.name), c.passphrase(ctx, cmd))
	if err != nil {
		return err
	}
	if err := ca.CheckKey(signer.Cert, key.Public()); err != nil {
		return err
	}
	c.say("step 2 of 3, switch: every set is signed anew, by %s; those that sign now stay listed. A node that was away believes %s by the CA, if its clock lies between %s and %s",
		r.name, r.name, signer.Cert.NotBefore.UTC().Format(time.DateOnly), signer.Cert.NotAfter.UTC().Format(time.DateOnly))
	c.sayListing(r, "")
	c.say("then: retectl compile --resign %s, retectl publish; and once nodes had the time to fetch: retectl ca rotate-signer retire OLD", r.name)
	return nil
}

func (c *console) rotateRetire(_ context.Context, _ *cli.Command, r *rotation) error {
	if r.signer() != nil && len(r.view.Signers) == 1 {
		return usage("%s is the only signer that the YAML lists; begin with \"ca rotate-signer add NAME\"", r.name)
	}
	ring, err := c.keyring(r.view.TrustDomain)
	if err != nil {
		return err
	}
	c.say("step 3 of 3, retire: no set will list %s. Each node that fetches remembers its key as retired and refuses it for ever: there is no way back but another signer", r.name)
	c.sayListing(r, "")
	c.say("then: retectl compile, retectl publish; its private key is needed no more (%s, %s)", ca.SignerKey(r.name), here(ring, ca.SignerKey(r.name)))
	return nil
}

// signer is what the source has under the name; nil when nothing.
func (r *rotation) signer() *compiler.Signer {
	for _, s := range r.view.Signers {
		if s.Name == r.name {
			return s
		}
	}
	return nil
}

// sayListing prints the change of the YAML that the step needs: data, because a
// program may want it too.
func (c *console) sayListing(r *rotation, file string) {
	at := r.view.Signers[0].At
	c.say("in %s, line %d, let rete.signers.mgmt have:", at.File, at.Start.Line)
	c.tell("%s", r.state.Listing(r.step, r.name, file))
}
