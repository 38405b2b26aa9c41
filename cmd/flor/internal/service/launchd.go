package service

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/florete/flor/store"
	"github.com/florete/flor/store/durable"
)

// Launchd is the [Manager] of darwin.
type Launchd struct {
	settings Settings
	dir      string // where property lists lie
	domain   string // launchd's word for system mode or the user
}

// NewLaunchd returns the manager of system mode, or of a user's session, which
// is that of the uid.
func NewLaunchd(s Settings, home string, uid int) *Launchd {
	if s.Mode == store.System {
		return &Launchd{s, "/Library/LaunchDaemons", "system"}
	}
	return &Launchd{s, filepath.Join(home, "Library/LaunchAgents"), "gui/" + strconv.Itoa(uid)}
}

// Name implements [Manager].
func (m *Launchd) Name() string { return "launchd" }

const (
	labelPrefix = "io.github.florete.flor-agent."
	plistSuffix = ".plist"
	plistPerm   = 0o644
	// maxPlist limits a property list that is read, in bytes.
	maxPlist = 1 << 16
)

func labelOf(scope string) string { return labelPrefix + scope }

func (m *Launchd) target(scope string) string { return m.domain + "/" + labelOf(scope) }

func (m *Launchd) path(scope string) string {
	return filepath.Join(m.dir, labelOf(scope)+plistSuffix)
}

// Available implements [Manager].
func (m *Launchd) Available(ctx context.Context) error {
	if _, err := call(ctx, "launchctl", "print", m.domain); err != nil {
		return &Absent{m.Name(), err}
	}
	return nil
}

// Enabled implements [Manager]: the scopes of which there is a property list
// that runs this install's flor.
func (m *Launchd) Enabled(context.Context) ([]string, error) {
	entries, err := os.ReadDir(m.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var scopes []string
	for _, e := range entries {
		rest, isOurs := strings.CutPrefix(e.Name(), labelPrefix)
		scope, isList := strings.CutSuffix(rest, plistSuffix)
		if isOurs && isList && store.CheckScope(scope) == nil && m.placed(scope) {
			scopes = append(scopes, scope)
		}
	}
	return scopes, nil
}

// placed tells whether the property list of a scope is this install's.
func (m *Launchd) placed(scope string) bool {
	want, err := renderPlist(m.settings, scope)
	if err != nil {
		return false
	}
	text, err := os.ReadFile(m.path(scope))
	return err == nil && len(text) <= maxPlist && slices.Equal(text, want)
}

// Running implements [Manager].
func (m *Launchd) Running(ctx context.Context) ([]string, error) {
	enabled, err := m.Enabled(ctx)
	if err != nil {
		return nil, err
	}
	var running []string
	for _, scope := range enabled {
		if pid, err := m.PID(ctx, scope); err == nil && pid != 0 {
			running = append(running, scope)
		}
	}
	return running, nil
}

var pidLine = regexp.MustCompile(`(?m)^\s*pid = (\d+)$`)

// PID implements [Manager]. A service that launchd does not know has none.
func (m *Launchd) PID(ctx context.Context, scope string) (int, error) {
	if !m.placed(scope) {
		return 0, nil
	}
	out, err := call(ctx, "launchctl", "print", m.target(scope))
	if err != nil {
		return 0, nil
	}
	found := pidLine.FindStringSubmatch(out)
	if found == nil {
		return 0, nil
	}
	return strconv.Atoi(found[1])
}

// Start implements [Manager].
func (m *Launchd) Start(ctx context.Context, scope string) error {
	_, err := call(ctx, "launchctl", "bootstrap", m.domain, m.path(scope))
	return err
}

// Stop implements [Manager]: launchd would start again what only ends, so the
// service is unloaded until Start.
func (m *Launchd) Stop(ctx context.Context, scope string) error {
	if _, err := call(ctx, "launchctl", "print", m.target(scope)); err != nil {
		return nil
	}
	_, err := call(ctx, "launchctl", "bootout", m.target(scope))
	return err
}

// Enable implements [Manager].
func (m *Launchd) Enable(ctx context.Context, scope string) error {
	text, err := renderPlist(m.settings, scope)
	if err != nil {
		return err
	}
	if _, err := os.Lstat(m.path(scope)); err == nil && !m.placed(scope) {
		return fmt.Errorf("%s is there already and is not of this install: move it away", m.path(scope))
	}
	if err := m.write(scope, text); err != nil {
		return err
	}
	if err := m.Stop(ctx, scope); err != nil {
		return err
	}
	return m.Start(ctx, scope)
}

func (m *Launchd) write(scope string, text []byte) error {
	if err := errors.Join(os.MkdirAll(m.dir, 0o755), os.MkdirAll(logDir(m.settings), 0o700)); err != nil {
		return err
	}
	root, err := os.OpenRoot(m.dir)
	if err != nil {
		return err
	}
	defer root.Close()
	return durable.ReplaceFile(durable.OS(root), filepath.Base(m.path(scope)), text, plistPerm)
}

// Disable implements [Manager].
func (m *Launchd) Disable(ctx context.Context, scope string) error {
	if err := m.Stop(ctx, scope); err != nil {
		return err
	}
	if !m.placed(scope) {
		return nil
	}
	return os.Remove(m.path(scope))
}

// Reload implements [Manager]: launchd reads a property list when it starts it.
func (m *Launchd) Reload(context.Context) error { return nil }

// Forget implements [Manager].
func (m *Launchd) Forget(context.Context) error { return nil }
