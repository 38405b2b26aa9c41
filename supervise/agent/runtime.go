package agent

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/florete/flor/store"
	"github.com/florete/flor/supervise/control"
)

// ours are the files that the agent and its supervisor make in the runtime
// root, beside sockets.
var ours = []string{"children.json", "children.json.tmp"}

// trial is where a dry run stages (AGT-6).
const trial = "dry-run.partial"

// takeRuntimeRoot makes the runtime root and takes it, unless another agent has
// it or serves from it: that one is named.
func takeRuntimeRoot(layout store.Layout, scope string) (*store.RuntimeRoot, error) {
	root, err := layout.TakeRuntimeRoot(scope)
	if held, ok := errors.AsType[*store.HeldError](err); ok {
		held.PID, _ = control.ServedBy(filepath.Join(held.Runtime, agentSocket))
		return nil, held
	}
	if err != nil {
		return nil, err
	}
	if pid, served := control.ServedBy(filepath.Join(root.Path, agentSocket)); served {
		return nil, errors.Join(&store.HeldError{Scope: scope, PID: pid, Runtime: root.Path}, root.Release())
	}
	return root, nil
}

// clearStale removes what an unclean stop left in the runtime root, the record
// of children excepted: the supervisor needs it to end survivors (SUP-9). Only
// the holder of the scope's lock calls it (AGT-1).
func clearStale(root string) error {
	if err := os.RemoveAll(filepath.Join(root, trial)); err != nil {
		return err
	}
	return unlink(root, func(e fs.DirEntry) bool { return e.Type()&fs.ModeSocket != 0 })
}

// leave unlinks what a run made, by name and never recursively, and the runtime
// root with it unless somebody else left something there (AGT-1).
func leave(root string) error {
	err := unlink(root, func(e fs.DirEntry) bool {
		return e.Type()&fs.ModeSocket != 0 || slices.Contains(ours, e.Name())
	})
	if err != nil {
		return err
	}
	left, err := os.ReadDir(root)
	if err != nil || len(left) > 0 {
		return err
	}
	return os.Remove(root)
}

func unlink(root string, which func(fs.DirEntry) bool) error {
	entries, err := os.ReadDir(root)
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range entries {
		if which(e) {
			errs = append(errs, os.Remove(filepath.Join(root, e.Name())))
		}
	}
	return errors.Join(errs...)
}

// socketMode is the mode of agent.sock: in system mode an operator of the
// group may ask, in user mode nobody else.
func socketMode(system bool) fs.FileMode {
	if system {
		return 0o660
	}
	return 0o600
}
