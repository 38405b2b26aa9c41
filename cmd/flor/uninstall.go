package main

import (
	"context"
	"errors"
	"os"
	"os/user"
	"path/filepath"
	"slices"

	"github.com/urfave/cli/v3"

	"github.com/florete/flor/cmd/flor/internal/install"
	"github.com/florete/flor/cmd/flor/internal/service"
	"github.com/florete/flor/store"
)

func uninstallCommand(c *console) *cli.Command {
	return &cli.Command{
		Name:  "uninstall",
		Usage: "take away what flor install has placed; scopes stay",
		Flags: []cli.Flag{
			prefixFlag("take away what is below `DIR`; default is the install of this flor"),
			&cli.BoolFlag{Name: "purge", Usage: "remove all scopes, their private keys and their state, too"},
		},
		Action: c.uninstall,
	}
}

// uninstall stops what runs, and takes away what the receipt lists (INS-1).
func (c *console) uninstall(ctx context.Context, cmd *cli.Command) error {
	host, settings, root, err := c.placed(cmd)
	if err != nil {
		return err
	}
	defer root.Close()
	manager := managerOf(settings, host)
	if err := manager.Available(ctx); err != nil {
		manager = nil
	}
	if err := refuseByHand(ctx, settings.Layout, manager); err != nil {
		return err
	}
	if err := c.retire(ctx, manager); err != nil {
		return err
	}
	if cmd.Bool("purge") {
		if err := c.purge(settings.Layout); err != nil {
			return err
		}
	}
	done, err := install.Remove(install.OS(root))
	c.tellRemoved(settings, done)
	if err != nil {
		return err
	}
	c.sayWhatStays(settings, cmd.Bool("purge"))
	if manager == nil {
		return nil
	}
	return manager.Reload(ctx)
}

// placed is the install that is to be taken away, by its receipt.
func (c *console) placed(cmd *cli.Command) (store.Host, service.Settings, *os.Root, error) {
	refused := func(err error) (store.Host, service.Settings, *os.Root, error) {
		return store.Host{}, service.Settings{}, nil, err
	}
	if err := misused.NoArguments(cmd); err != nil {
		return refused(err)
	}
	host, _, err := c.host()
	if err != nil {
		return refused(err)
	}
	prefix := prefixOf(host.Executable)
	if cmd.String("prefix") != "" {
		if prefix, err = settled(cmd.String("prefix")); err != nil {
			return refused(err)
		}
	}
	root, err := os.OpenRoot(prefix)
	if err != nil {
		return refused(err)
	}
	receipt, err := install.ReadReceipt(install.OS(root))
	if err != nil {
		return refused(errors.Join(err, root.Close()))
	}
	settings, err := c.settingsOf(host, prefix, receipt.Mode, receipt.Account)
	if err != nil {
		return refused(errors.Join(err, root.Close()))
	}
	return host, settings, root, nil
}

// retire has the service manager stop every scope of the install and know
// nothing of it any more.
func (c *console) retire(ctx context.Context, manager service.Manager) error {
	if manager == nil {
		return nil
	}
	enabled, err := manager.Enabled(ctx)
	if err != nil {
		return err
	}
	running, err := manager.Running(ctx)
	if err != nil {
		return err
	}
	scopes := append(enabled, running...)
	slices.Sort(scopes)
	for _, scope := range slices.Compact(scopes) {
		if err := manager.Disable(ctx, scope); err != nil {
			return err
		}
		c.say("scope %s is stopped and disabled", scope)
	}
	return manager.Forget(ctx)
}

func (c *console) tellRemoved(s service.Settings, done install.Removal) {
	for _, name := range done.Removed {
		c.tell("removed %s", filepath.Join(s.Prefix, name))
	}
	for _, name := range done.Left {
		c.say("left %s: it has been changed since it was installed", filepath.Join(s.Prefix, name))
	}
}

// sayWhatStays names what an uninstall does not take away.
func (c *console) sayWhatStays(s service.Settings, purged bool) {
	if scopes, err := s.Layout.Scopes(); err == nil && len(scopes) > 0 && !purged {
		c.say("scopes stay in %s, with their private keys", s.Layout.RetesDir())
	}
	if s.Mode != store.System {
		return
	}
	if _, err := user.Lookup(s.Account); err == nil {
		c.say("the account %s stays", s.Account)
	}
}
