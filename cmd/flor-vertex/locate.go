package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/florete/flor/store"
	"github.com/florete/flor/supervise/program"
)

// workload is the name under which the compiler puts a vertex into a set.
const workload = "flor"

// locate finds what the agent would have given to this program in a scope.
func locate(h program.ByHand) (*program.Context, error) {
	root, err := scopeRoot(h.Rete)
	if err != nil {
		return nil, err
	}
	set := h.Set
	if set == "" {
		if set, err = activeSet(root); err != nil {
			return nil, err
		}
	}
	name := h.Name
	if name == "" {
		name = workload
	}
	return &program.Context{
		Scope: filepath.Base(root), Name: name, ScopeRoot: root,
		MgmtArtifact: filepath.Join(root, "artifacts", "mgmt", "sets", set, name+".json"),
	}, nil
}

// scopeRoot is the root of the scope that is named, or of the only one.
func scopeRoot(scope string) (string, error) {
	host, err := store.ThisHost()
	if err != nil {
		return "", err
	}
	layout, err := store.Resolve(host)
	if err != nil {
		return "", err
	}
	scope, err = layout.ChooseScope(scope)
	if err != nil {
		return "", err
	}
	return filepath.Join(layout.RetesDir(), scope), nil
}

// activeSet reads which set of a scope is active. It takes no lock: the agent
// of the scope may be running, and replaces this file whole.
func activeSet(root string) (string, error) {
	text, err := os.ReadFile(filepath.Join(root, "artifacts", "mgmt", "current"))
	if err != nil {
		return "", fmt.Errorf("active set of the scope: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}
