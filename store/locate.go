package store

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/florete/flor/envelope"
)

// Paths are where the things of one workload lie, as the agent hands them to
// it. Nothing says that they exist.
type Paths struct {
	Scope, Name string
	ScopeRoot   string
	Artifact    string // its artifact in the chosen set
	StateDir    string // its own durable directory
}

// Locate finds the paths of a workload for running it by hand: in the scope
// that is named, or the only one, and in the set that is named (such as "v42"),
// or the active one. It takes no lock, since the scope's agent may be running,
// and makes nothing. Names that are no names are refused, so that no path leads
// out of the scope.
func (l Layout) Locate(scope, name, set string) (Paths, error) {
	paths, err := l.locate(scope, name)
	if err != nil {
		return Paths{}, err
	}
	version, err := chooseSet(paths.ScopeRoot, set)
	if err != nil {
		return Paths{}, fmt.Errorf("scope %s: %w", paths.Scope, err)
	}
	paths.Artifact = filepath.Join(paths.ScopeRoot, filepath.FromSlash(setDir(version)), artifactFile(name))
	return paths, nil
}

// LocateState finds the durable directory of a workload as Locate does, also in
// a scope without any usable set.
func (l Layout) LocateState(scope, name string) (string, error) {
	paths, err := l.locate(scope, name)
	return paths.StateDir, err
}

func (l Layout) locate(scope, name string) (Paths, error) {
	scope, err := l.ChooseScope(scope)
	if err != nil {
		return Paths{}, err
	}
	if err := envelope.SafeName(name); err != nil {
		return Paths{}, refuse(BadWorkloadName, scope, "%w", err)
	}
	root := filepath.Join(l.RetesDir(), scope)
	return Paths{Scope: scope, Name: name, ScopeRoot: root, StateDir: filepath.Join(root, workloadsDir, name)}, nil
}

func chooseSet(root, set string) (uint64, error) {
	if set != "" {
		return parseSetName(set)
	}
	file, err := os.Open(filepath.Join(root, filepath.FromSlash(currentFile)))
	if err != nil {
		return 0, fmt.Errorf("which set is active: %w", err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxCurrent))
	if err != nil {
		return 0, fmt.Errorf("which set is active: %w", err)
	}
	return parseCurrent(text)
}
