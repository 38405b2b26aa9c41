package service

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/florete/flor/store"
)

// Systemd is the [Manager] of a host that systemd runs.
type Systemd struct{ settings Settings }

// NewSystemd returns the manager of system mode, or of the user's own.
func NewSystemd(s Settings) *Systemd { return &Systemd{s} }

// Name implements [Manager].
func (m *Systemd) Name() string { return "systemd" }

// systemctl runs one command of the manager of this install's mode.
func (m *Systemd) systemctl(ctx context.Context, args ...string) (string, error) {
	if m.settings.Mode == store.User {
		args = append([]string{"--user"}, args...)
	}
	return call(ctx, "systemctl", args...)
}

// Available implements [Manager]. A manager that is degraded runs; one that is
// "offline" does not, and a user's that has no bus cannot be asked.
func (m *Systemd) Available(ctx context.Context) error {
	out, err := m.systemctl(ctx, "is-system-running")
	switch strings.TrimSpace(out) {
	case "running", "degraded", "starting", "initializing", "maintenance":
		return nil
	case "":
		return &Absent{m.Name(), err}
	}
	return &Absent{m.Name(), fmt.Errorf("systemctl says %q", strings.TrimSpace(out))}
}

// Running implements [Manager].
func (m *Systemd) Running(ctx context.Context) ([]string, error) {
	out, err := m.systemctl(ctx, "list-units", "--all", "--plain", "--no-legend", "--no-pager", unitPrefix+"*"+unitSuffix)
	if err != nil {
		return nil, err
	}
	return m.ours(ctx, out, func(fields []string) bool {
		return len(fields) > 2 && slices.Contains([]string{"active", "activating", "reloading"}, fields[2])
	})
}

// Enabled implements [Manager].
func (m *Systemd) Enabled(ctx context.Context) ([]string, error) {
	out, err := m.systemctl(ctx, "list-unit-files", "--no-legend", "--no-pager", unitPrefix+"*"+unitSuffix)
	if err != nil && out == "" {
		return nil, ignoreSilent(err)
	}
	return m.ours(ctx, out, func(fields []string) bool { return len(fields) > 1 && fields[1] == "enabled" })
}

// ignoreSilent is no error where a list is empty: some versions of systemctl
// then end with 1 and say nothing.
func ignoreSilent(err error) error {
	if failed, ok := errors.AsType[*callError](err); ok && failed.said == "" {
		return nil
	}
	return err
}

// ours are the scopes of the lines that count and that are of this install.
func (m *Systemd) ours(ctx context.Context, lines string, counts func(fields []string) bool) ([]string, error) {
	var scopes []string
	for line := range strings.Lines(lines) {
		fields := strings.Fields(line)
		if !counts(fields) {
			continue
		}
		scope, ok := scopeOf(fields[0])
		if !ok {
			continue
		}
		unit, err := m.show(ctx, scope)
		if err != nil {
			return nil, err
		}
		if m.placed(unit["FragmentPath"]) {
			scopes = append(scopes, scope)
		}
	}
	slices.Sort(scopes)
	return scopes, nil
}

// template is the absolute path of this install's unit.
func (m *Systemd) template() string { return m.below(m.settings.templatePath()) }

func (m *Systemd) below(name string) string { return filepath.Join(m.settings.Prefix, name) }

// placed tells whether a unit comes from this install, also by a link.
func (m *Systemd) placed(fragment string) bool {
	if fragment == m.template() {
		return true
	}
	real, err := filepath.EvalSymlinks(fragment)
	want, errWant := filepath.EvalSymlinks(m.template())
	return err == nil && errWant == nil && real == want
}

// show asks for what matters of a unit.
func (m *Systemd) show(ctx context.Context, scope string) (map[string]string, error) {
	out, err := m.systemctl(ctx, "show", "--property=ActiveState,FragmentPath,MainPID,Result", unitOf(scope))
	values := map[string]string{}
	for line := range strings.Lines(out) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		values[name] = value
	}
	return values, err
}

// PID implements [Manager].
func (m *Systemd) PID(ctx context.Context, scope string) (int, error) {
	unit, err := m.show(ctx, scope)
	if err != nil || !m.placed(unit["FragmentPath"]) {
		return 0, err
	}
	pid, err := strconv.Atoi(unit["MainPID"])
	if err != nil {
		return 0, fmt.Errorf("systemctl show %s: no MainPID", unitOf(scope))
	}
	return pid, nil
}

// Start implements [Manager].
func (m *Systemd) Start(ctx context.Context, scope string) error {
	if _, err := m.systemctl(ctx, "start", unitOf(scope)); err != nil {
		return err
	}
	return m.expect(ctx, scope, "active", "activating", "reloading")
}

// Stop implements [Manager].
func (m *Systemd) Stop(ctx context.Context, scope string) error {
	if _, err := m.systemctl(ctx, "stop", unitOf(scope)); err != nil {
		return err
	}
	return m.expect(ctx, scope, "inactive", "failed")
}

// Enable implements [Manager].
func (m *Systemd) Enable(ctx context.Context, scope string) error {
	steps := [][]string{
		{"link", m.template()}, // nothing to do where systemd looks there itself
		{"daemon-reload"},
		{"enable", "--now", unitOf(scope)},
	}
	for _, step := range steps {
		if _, err := m.systemctl(ctx, step...); err != nil {
			return err
		}
	}
	return m.expect(ctx, scope, "active", "activating", "reloading")
}

// Disable implements [Manager].
func (m *Systemd) Disable(ctx context.Context, scope string) error {
	if _, err := m.systemctl(ctx, "disable", "--now", unitOf(scope)); err != nil {
		return err
	}
	return m.expect(ctx, scope, "inactive", "failed")
}

// expect reads back what became of a command.
func (m *Systemd) expect(ctx context.Context, scope string, states ...string) error {
	unit, err := m.show(ctx, scope)
	if err != nil {
		return err
	}
	if !slices.Contains(states, unit["ActiveState"]) {
		return fmt.Errorf("%s is %s (%s) and not %s: systemctl status %s tells more",
			unitOf(scope), unit["ActiveState"], unit["Result"], states[0], unitOf(scope))
	}
	return nil
}

// Reload implements [Manager]. Where the install has entries for it, the account
// and the runtime base are made, as the next boot would.
func (m *Systemd) Reload(ctx context.Context) error {
	for _, make := range [][]string{
		{"systemd-sysusers", m.below(sysusers)},
		{"systemd-tmpfiles", "--create", m.below(tmpfiles)},
	} {
		if _, err := os.Lstat(make[len(make)-1]); err != nil {
			continue
		}
		if _, err := call(ctx, make[0], make[1:]...); err != nil {
			return err
		}
	}
	_, err := m.systemctl(ctx, "daemon-reload")
	return err
}

// Forget implements [Manager]: the template is unlinked where it was linked.
func (m *Systemd) Forget(ctx context.Context) error {
	_, err := m.systemctl(ctx, "disable", Template)
	return err
}
