package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"

	"github.com/florete/flor/cmd/flor/internal/install"
	"github.com/florete/flor/cmd/flor/internal/service"
	"github.com/florete/flor/store"
	"github.com/florete/flor/store/durable"
)

// host describes the running process, with the mode of the install that it
// belongs to. The receipt is nil where flor was not installed by "flor install".
func (c *console) host() (store.Host, *install.Receipt, error) {
	host, err := store.ThisHost()
	if err != nil {
		return store.Host{}, nil, err
	}
	host.Getenv = c.getenv
	if filepath.Base(filepath.Dir(host.Executable)) != "bin" {
		return host, nil, nil
	}
	receipt, err := receiptBelow(prefixOf(host.Executable))
	if receipt != nil {
		host.Mode = receipt.Mode
	}
	return host, receipt, err
}

// prefixOf is the prefix of an install whose flor is this executable.
func prefixOf(executable string) string { return filepath.Dir(filepath.Dir(executable)) }

// receiptBelow reads the receipt of a prefix, nil where there is none.
func receiptBelow(prefix string) (*install.Receipt, error) {
	root, err := os.OpenRoot(prefix)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil, nil // whoever installs makes directories that all may read
	}
	if err != nil {
		return nil, err
	}
	defer root.Close()
	receipt, err := install.ReadReceipt(durable.OS(root))
	refused, _ := errors.AsType[*install.Refusal](err)
	if refused == nil {
		return receipt, err
	}
	// Where directories of the prefix are links, nothing was installed by us.
	if _, link := errors.AsType[*durable.KindError](err); link || refused.Reason == install.NoReceipt {
		return nil, nil
	}
	return nil, fmt.Errorf("below %s: %w", prefix, err)
}

// settingsOf is what a service manager must know of an install.
func (c *console) settingsOf(host store.Host, prefix string, mode store.Mode, account string) (service.Settings, error) {
	host.Mode, host.Executable = mode, filepath.Join(prefix, "bin", "flor")
	layout, err := store.Resolve(host)
	if err != nil {
		return service.Settings{}, err
	}
	return service.Settings{
		Mode: mode, Prefix: prefix, Account: account, Layout: layout,
		Environment: environmentOf(layout, host.Getenv),
	}, nil
}

// environmentOf are the variables that agents need, who are not started from the
// shell of who installs: directories that are not where they are by default.
func environmentOf(l store.Layout, getenv func(string) string) []string {
	rows := []struct{ variable, beside, dir string }{
		{"FLOR_STATE_HOME", "XDG_STATE_HOME", l.State},
		{"FLOR_CONFIG_HOME", "XDG_CONFIG_HOME", l.Config},
		{"FLOR_RUNTIME_DIR", "", l.RuntimeBase},
	}
	var environment []string
	for _, row := range rows {
		moved := row.beside != "" && l.Mode == store.User && getenv(row.beside) != ""
		if getenv(row.variable) != "" || moved {
			environment = append(environment, row.variable+"="+row.dir)
		}
	}
	return environment
}

func managerOf(s service.Settings, host store.Host) service.Manager {
	if host.GOOS == "darwin" {
		return service.NewLaunchd(s, host.Getenv("HOME"), host.UID)
	}
	return service.NewSystemd(s)
}

// own is the install that this program belongs to.
type own struct {
	layout  store.Layout
	receipt *install.Receipt // nil: not installed by us
	manager service.Manager
	absent  error // why no service manager can be asked
}

// own finds the install of this program and asks whether its manager answers.
func (c *console) own(ctx context.Context) (own, error) {
	host, receipt, err := c.host()
	if err != nil {
		return own{}, err
	}
	layout, err := store.Resolve(host)
	if err != nil {
		return own{}, err
	}
	account := ""
	if receipt != nil {
		account = receipt.Account
	}
	settings, err := c.settingsOf(host, prefixOf(host.Executable), layout.Mode, account)
	if err != nil {
		return own{}, err
	}
	manager := managerOf(settings, host)
	return own{layout, receipt, manager, manager.Available(ctx)}, nil
}

// managed tells whether a service manager can run agents of this install.
func (o own) managed() bool { return o.receipt != nil && o.absent == nil }

// owner is the account that runs agents, where that is somebody else than who
// enrols: root does it for the service user (SET-1).
func (o own) owner() (*durable.Owner, error) {
	if o.receipt == nil || o.receipt.Mode != store.System || os.Getuid() != 0 {
		return nil, nil
	}
	account, err := user.Lookup(o.receipt.Account)
	if err != nil {
		return nil, refuse(noAccount, "%w: agents of this install run as %s; make it with: useradd --system --shell /usr/sbin/nologin %s",
			err, o.receipt.Account, o.receipt.Account)
	}
	uid, errUID := strconv.Atoi(account.Uid)
	gid, errGID := strconv.Atoi(account.Gid)
	return &durable.Owner{UID: uid, GID: gid}, errors.Join(errUID, errGID)
}

// refuseByHand refuses when a scope's agent runs that the service manager did
// not start: nobody could start it again.
func refuseByHand(ctx context.Context, layout store.Layout, manager service.Manager) error {
	scopes, err := layout.Scopes()
	if err != nil {
		return err
	}
	for _, scope := range scopes {
		if err := refuseScopeByHand(ctx, layout, manager, scope); err != nil {
			return err
		}
	}
	return nil
}

// refuseScopeByHand is refuseByHand for one scope; a nil manager runs nothing.
func refuseScopeByHand(ctx context.Context, layout store.Layout, manager service.Manager, scope string) error {
	pid := layout.Holder(scope)
	if pid == 0 {
		return nil
	}
	managed := 0
	if manager != nil {
		var err error
		if managed, err = manager.PID(ctx, scope); err != nil {
			return err
		}
	}
	if managed == pid {
		return nil
	}
	return refuse(runsByHand, "process %d runs the agent of scope %s, and no service manager started it: stop it first", pid, scope)
}

// byHand is the command that runs an agent where no service manager does.
func (c *console) byHand(layout store.Layout, scope string) string {
	return fmt.Sprintf("flor agent run --rete %s%s", scope, c.logFlag(layout))
}

func managerName() string {
	if runtime.GOOS == "darwin" {
		return "launchd"
	}
	return "systemd"
}
