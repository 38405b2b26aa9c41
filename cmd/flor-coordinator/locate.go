package main

import (
	"cmp"

	"github.com/florete/flor/store"
	"github.com/florete/flor/supervise/program"
)

// workload is the name under which the compiler puts a coordinator into a set.
const workload = "coordinator"

// locate finds what the agent would have given to this program in a scope.
func locate(h program.ByHand) (*program.Context, error) {
	layout, err := store.ThisLayout()
	if err != nil {
		return nil, err
	}
	paths, err := layout.Locate(h.Rete, cmp.Or(h.Name, workload), h.Set)
	if err != nil {
		return nil, err
	}
	return &program.Context{
		Scope: paths.Scope, Name: paths.Name, StateDir: paths.StateDir,
		ScopeRoot: paths.ScopeRoot, MgmtArtifact: paths.Artifact,
	}, nil
}
