package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/florete/flor/cmd/flor/internal/service"
	"github.com/florete/flor/store"
	"github.com/florete/flor/supervise/control"
)

// startWithin is how long an agent that a service manager has started may take
// until it answers.
const startWithin = 20 * time.Second

func enableCommand(c *console) *cli.Command {
	return &cli.Command{
		Name:   "enable",
		Usage:  "have the service manager run the agent of a scope, now and from each boot on",
		Flags:  []cli.Flag{reteFlag()},
		Action: c.enable,
	}
}

func disableCommand(c *console) *cli.Command {
	return &cli.Command{
		Name:   "disable",
		Usage:  "stop the agent of a scope, and have the service manager not run it any more",
		Flags:  []cli.Flag{reteFlag()},
		Action: c.disable,
	}
}

// enable is thin over the service manager (INS-3); it reports success when the
// agent has answered.
func (c *console) enable(ctx context.Context, cmd *cli.Command) error {
	if err := misused.NoArguments(cmd); err != nil {
		return err
	}
	layout, scope, err := c.scope(cmd)
	if err != nil {
		return err
	}
	here, err := c.own(ctx)
	if err != nil {
		return err
	}
	if err := c.refuseUnmanaged(here, layout, scope); err != nil {
		return err
	}
	if err := refuseScopeByHand(ctx, layout, here.manager, scope); err != nil {
		return err
	}
	if err := here.manager.Enable(ctx, scope); err != nil {
		return err
	}
	client, err := clientOf(layout, scope)
	if err != nil {
		return err
	}
	if err := awaitAgent(ctx, client); err != nil {
		return err
	}
	c.say("the agent of scope %s runs, and will at each %s", scope, moment(layout.Mode))
	c.sayLinger(here)
	return nil
}

func (c *console) disable(ctx context.Context, cmd *cli.Command) error {
	if err := misused.NoArguments(cmd); err != nil {
		return err
	}
	here, err := c.own(ctx)
	if err != nil {
		return err
	}
	scope, err := here.layout.ChooseScope(cmd.String("rete"))
	if err != nil {
		return err
	}
	if here.absent != nil {
		return refuseDisable(ctx, here, scope)
	}
	if !here.managed() {
		return c.refuseUnmanaged(here, here.layout, scope)
	}
	if err := here.manager.Disable(ctx, scope); err != nil {
		return err
	}
	c.say("the agent of scope %s is stopped and will not be started any more", scope)
	return nil
}

// refuseDisable says plainly that there is no service manager, and which process
// to stop instead, where there is one (INS-3).
func refuseDisable(ctx context.Context, here own, scope string) error {
	if err := refuseScopeByHand(ctx, here.layout, nil, scope); err != nil {
		return err
	}
	return refuse(noManager, "%w: nothing starts the agent of scope %s by itself, and none runs now", here.absent, scope)
}

// refuseUnmanaged says plainly when there is no service manager that could run
// the agent, with the command to run instead (INS-3).
func (c *console) refuseUnmanaged(here own, layout store.Layout, scope string) error {
	if here.absent != nil {
		c.tell("%s", c.byHand(layout, scope))
		return refuse(noManager, "%w: run the agent by hand, with the command above", here.absent)
	}
	if here.receipt == nil {
		return refuse(notInstalled, "this flor was not placed by flor install, so that %s has no unit of it: run flor install", here.manager.Name())
	}
	return nil
}

// awaitAgent waits until an agent that was just started answers.
func awaitAgent(ctx context.Context, client served) error {
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		_, err := client.status(ctx)
		if err == nil {
			return nil
		}
		if _, down := errors.AsType[*control.NotRunning](err); !down && exitCode(err) != exitCould {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("the service was started, and its agent does not answer within %v (%w): its log tells why", startWithin, err)
		}
	}
}

func moment(mode store.Mode) string {
	if mode == store.System {
		return "boot"
	}
	return "login"
}

// sayLinger tells of what ends a user's services under systemd.
func (c *console) sayLinger(here own) {
	if _, isSystemd := here.manager.(*service.Systemd); !isSystemd || here.layout.Mode != store.User {
		return
	}
	me, err := user.Current()
	if err != nil {
		return
	}
	if _, err := os.Lstat(filepath.Join("/var/lib/systemd/linger", me.Username)); errors.Is(err, fs.ErrNotExist) {
		c.say("it ends when you log out; to have it run from boot on: loginctl enable-linger %s", me.Username)
	}
}
