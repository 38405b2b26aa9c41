package conformance

import (
	"context"
	"testing"

	"github.com/florete/flor/conformance/lab/systemd"
)

// machineTerminal is root's, on a machine with systemd.
type machineTerminal struct {
	t *testing.T
	m *systemd.Machine
}

// bootTerminal boots a machine to which a directory with built programs was carried.
func bootTerminal(t *testing.T, build string) *machineTerminal {
	t.Helper()
	if err := systemd.Unavailable(); err != nil {
		t.Skip(err)
	}
	m, err := systemd.Boot(t.Context(), systemd.Options{Shared: build})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return &machineTerminal{t, m}
}

func (m *machineTerminal) outputs() string { return "/var/tmp" }

func (m *machineTerminal) read(file string) ([]byte, error) {
	return m.m.Command(m.t.Context(), "cat", file).Output()
}

func (m *machineTerminal) run(script string) error {
	ctx, cancel := context.WithTimeout(m.t.Context(), guideTimeout)
	defer cancel()
	shell := m.m.Command(ctx, "sh", "-c", "cd $(mktemp -d); "+script)
	shell.Env = append(append(shell.Env, author...), "BUILD="+systemd.SharedDir, "IP=127.0.0.1")
	return shell.Run()
}
