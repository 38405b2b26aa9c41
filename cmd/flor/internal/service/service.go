package service

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
	"unicode"

	"github.com/florete/flor/store"
)

// Account is who runs agents in system mode where nothing else was said.
const Account = "flor"

// Settings are what a service manager has to know of an install.
type Settings struct {
	Mode    store.Mode
	Prefix  string // absolute
	Account string // who runs agents in system mode
	Layout  store.Layout
	// Environment are variables, as NAME=value, that agents are given because
	// the install was made with them.
	Environment []string
}

// flor is the program that agents are.
func (s Settings) flor() string { return s.Prefix + "/bin/flor" }

// File is a file that belongs below the prefix.
type File struct {
	Path string
	Data []byte
}

// Manager has agents run. Its methods wait for what they ask for, and may be
// called by one goroutine at a time.
type Manager interface {
	// Name is the manager's, for people.
	Name() string
	// Available says why no manager can be asked, as an *Absent.
	Available(ctx context.Context) error
	// Running and Enabled list scopes of this install.
	Running(ctx context.Context) ([]string, error)
	Enabled(ctx context.Context) ([]string, error)
	// PID is the agent's process, 0 where the manager runs none.
	PID(ctx context.Context, scope string) (int, error)
	Start(ctx context.Context, scope string) error
	Stop(ctx context.Context, scope string) error
	// Enable has the agent run now and after each boot (user mode: login).
	Enable(ctx context.Context, scope string) error
	Disable(ctx context.Context, scope string) error
	// Reload has the manager read the files of the install again.
	Reload(ctx context.Context) error
	// Forget undoes what Enable did beside enabling, when no scope is enabled.
	Forget(ctx context.Context) error
}

// Absent says that there is no service manager that could be asked.
type Absent struct {
	Manager string
	Err     error
}

func (e *Absent) Error() string { return fmt.Sprintf("no %s runs here (%v)", e.Manager, e.Err) }

func (e *Absent) Unwrap() error { return e.Err }

// call runs a manager's command and returns what it printed. The error has what
// it said.
func call(ctx context.Context, name string, args ...string) (string, error) {
	var out, said bytes.Buffer
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdout, cmd.Stderr = &out, &said
	err := cmd.Run()
	if err != nil {
		err = &callError{command: name + " " + strings.Join(args, " "), said: strings.TrimSpace(said.String()), err: err}
	}
	return out.String(), err
}

type callError struct {
	command, said string
	err           error
}

func (e *callError) Error() string {
	if e.said == "" {
		return fmt.Sprintf("%s: %v", e.command, e.err)
	}
	return fmt.Sprintf("%s: %s (%v)", e.command, e.said, e.err)
}

func (e *callError) Unwrap() error { return e.err }

// plainPath refuses what no service manager's file could hold unharmed.
func plainPath(path string) error {
	if !strings.HasPrefix(path, "/") {
		return fmt.Errorf("%q is no absolute path", path)
	}
	if strings.ContainsFunc(path, unicode.IsControl) || strings.ContainsAny(path, `"'\`) {
		return fmt.Errorf("%q has quotes, a backslash or control characters, which no service manager takes", path)
	}
	return nil
}
