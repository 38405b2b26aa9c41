// Package byhand finds in the store what the agent gives to a workload, so that
// the programs that the agent runs can be run by hand with the same.
package byhand

import (
	"cmp"

	"github.com/florete/flor/store"
	"github.com/florete/flor/supervise/program"
)

// Locate is the Locate of a program that the compiler puts into a set under the
// name workload, which stands where the flags name none. It fails as
// [store.Layout.Locate] does.
func Locate(workload string) func(program.ByHand) (*program.Context, error) {
	return func(h program.ByHand) (*program.Context, error) {
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
}
