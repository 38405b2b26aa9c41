package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/florete/flor/cmd/flor/internal/install"
	"github.com/florete/flor/cmd/flor/internal/service"
	"github.com/florete/flor/cmd/internal/build"
	"github.com/florete/flor/store"
)

func installCommand(c *console) *cli.Command {
	return &cli.Command{
		Name:  "install",
		Usage: "place the programs of flor and its service on this machine",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "system", Usage: "for the machine; what root gets by default"},
			&cli.BoolFlag{Name: "user", Usage: "for this account; what everybody else gets by default"},
			prefixFlag("below `DIR`; default is /usr/local, with --user ~/.local"),
			&cli.StringFlag{Name: "account", Value: service.Account, Usage: "have agents run as `ACCOUNT`, in system mode"},
		},
		Action: c.installHost,
	}
}

func prefixFlag(usage string) cli.Flag {
	return &cli.StringFlag{Name: "prefix", Usage: usage}
}

// installHost places the programs beside the running one, and what the service
// manager reads, below a prefix (INS-1, INS-2).
func (c *console) installHost(ctx context.Context, cmd *cli.Command) error {
	host, settings, err := c.wanted(cmd)
	if err != nil {
		return err
	}
	files, err := filesOf(host, settings)
	if err != nil {
		return err
	}
	root, err := openPrefix(settings.Prefix)
	if err != nil {
		return err
	}
	defer root.Close()
	manager := managerOf(settings, host)
	o := install.Options{Mode: settings.Mode, Version: build.Version(), Files: files}
	if settings.Mode == store.System {
		o.Account = settings.Account
	}
	if absent := manager.Available(ctx); absent == nil {
		o.Scopes = manager
	}
	if err := c.refuseUpgrade(ctx, settings, manager, o.Scopes != nil); err != nil {
		return err
	}
	done, err := install.Install(ctx, install.OS(root), o)
	if err != nil {
		return fmt.Errorf("below %s: %w", settings.Prefix, err)
	}
	c.tellInstalled(settings, done, o.Scopes != nil)
	return nil
}

// wanted is the install that the command line asks for.
func (c *console) wanted(cmd *cli.Command) (store.Host, service.Settings, error) {
	if err := misused.NoArguments(cmd); err != nil {
		return store.Host{}, service.Settings{}, err
	}
	host, _, err := c.host()
	if err != nil {
		return store.Host{}, service.Settings{}, err
	}
	mode, err := modeOf(cmd, host.UID)
	if err != nil {
		return store.Host{}, service.Settings{}, err
	}
	prefix, err := c.prefixOf(cmd, mode)
	if err != nil {
		return store.Host{}, service.Settings{}, err
	}
	settings, err := c.settingsOf(host, prefix, mode, cmd.String("account"))
	return host, settings, err
}

// modeOf is the mode that is asked for, else what suits who asks.
func modeOf(cmd *cli.Command, uid int) (store.Mode, error) {
	system, user := cmd.Bool("system"), cmd.Bool("user")
	switch {
	case system && user:
		return "", refuse(wrongUsage, "an install is --system or --user, not both")
	case system || (uid == 0 && !user):
		return store.System, nil
	}
	return store.User, nil
}

func (c *console) prefixOf(cmd *cli.Command, mode store.Mode) (string, error) {
	prefix := cmd.String("prefix")
	if cmd.IsSet("prefix") && prefix == "" {
		return "", refuse(wrongUsage, "--prefix names no directory")
	}
	if prefix == "" && mode == store.User && !filepath.IsAbs(c.getenv("HOME")) {
		return "", refuse(wrongUsage, "HOME is not set: name a directory with --prefix")
	}
	usual := "/usr/local"
	if mode == store.User {
		usual = filepath.Join(c.getenv("HOME"), ".local")
	}
	return settled(cmp.Or(prefix, usual))
}

// settled is a path that is absolute and without links, as the path of a running
// program is; what does not exist yet has none.
func settled(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real, nil
	}
	return path, nil
}

// filesOf are all files of an install.
func filesOf(host store.Host, s service.Settings) ([]install.File, error) {
	files, err := install.Programs(host.Executable, build.Read())
	if err != nil || host.GOOS == "darwin" {
		return files, err
	}
	rendered, err := service.SystemdFiles(s)
	if err != nil {
		return nil, refuse(wrongUsage, "%w", err)
	}
	for _, f := range rendered {
		files = append(files, install.File{Path: f.Path, Mode: 0o644, Data: f.Data})
	}
	return files, nil
}

// openPrefix makes the prefix where it is missing.
func openPrefix(prefix string) (*os.Root, error) {
	if err := os.MkdirAll(prefix, 0o755); err != nil {
		return nil, err
	}
	return os.OpenRoot(prefix)
}

// refuseUpgrade refuses to swap programs under an agent that could not be
// started again.
func (c *console) refuseUpgrade(ctx context.Context, s service.Settings, m service.Manager, available bool) error {
	receipt, err := receiptBelow(s.Prefix)
	if err != nil || receipt == nil {
		return err
	}
	if !available {
		m = nil
	}
	return refuseByHand(ctx, s.Layout, m)
}

// tellInstalled says what was placed, and what a person does next.
func (c *console) tellInstalled(s service.Settings, done install.Result, managed bool) {
	for _, name := range done.Placed {
		c.tell("placed %s", filepath.Join(s.Prefix, name))
	}
	for _, name := range done.Removed {
		c.tell("removed %s", filepath.Join(s.Prefix, name))
	}
	for _, name := range done.Left {
		c.say("left %s: it has been changed since it was installed", filepath.Join(s.Prefix, name))
	}
	for _, scope := range done.Restarted {
		c.say("scope %s was stopped for the change and runs again", scope)
	}
	c.sayVersion(s, done)
	switch {
	case s.Mode == store.System && !managed:
		c.say("no %s runs here: agents run as the account %s; where there is none, make it with: useradd --system --shell /usr/sbin/nologin %s",
			managerName(), s.Account, s.Account)
	case !strings.Contains(c.getenv("PATH"), filepath.Join(s.Prefix, "bin")):
		c.say("%s is not in PATH", filepath.Join(s.Prefix, "bin"))
	}
}

func (c *console) sayVersion(s service.Settings, done install.Result) {
	where := "below " + s.Prefix + ", " + string(s.Mode) + " mode; " + filepath.Join(s.Prefix, install.ReceiptFile) + " lists it"
	switch {
	case len(done.Placed)+len(done.Removed) == 0:
		c.say("flor %s is installed already %s", build.Version(), where)
	case done.Before != "":
		c.say("flor %s is installed over %s %s", build.Version(), done.Before, where)
	default:
		c.say("flor %s is installed %s; next: flor enroll <bundle>", build.Version(), where)
	}
}
