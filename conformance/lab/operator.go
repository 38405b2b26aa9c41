package lab

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// Operator is whoever runs retectl on a node, in a repository of their own.
type Operator struct {
	Node *Node
	Repo string
	Keys string // RETECTL_HOME
}

// Retectl runs retectl in the repository and returns the lines of its standard
// output.
func (o *Operator) Retectl(ctx context.Context, args ...string) ([]string, error) {
	return o.run(ctx, o.Repo, args...)
}

// Init makes the repository; its directory's name is the rete's.
func (o *Operator) Init(ctx context.Context, args ...string) error {
	parent := filepath.Dir(o.Repo)
	_, err := o.run(ctx, parent, append([]string{"init", filepath.Base(o.Repo), "--no-passphrase"}, args...)...)
	return err
}

func (o *Operator) run(ctx context.Context, dir string, args ...string) ([]string, error) {
	return o.Node.command(ctx, dir, []string{"RETECTL_HOME=" + o.Keys, "TMPDIR=" + filepath.Dir(o.Keys)}, "retectl", args...)
}

// Compile validates and compiles, and returns what moved.
func (o *Operator) Compile(ctx context.Context) ([]string, error) {
	if _, err := o.Retectl(ctx, "validate"); err != nil {
		return nil, err
	}
	return o.Retectl(ctx, "compile")
}

// Write replaces the sources, but rete.yaml, which holds the authority.
func (o *Operator) Write(files map[string]string) error {
	old, err := filepath.Glob(filepath.Join(o.Repo, "*.yaml"))
	if err != nil {
		return err
	}
	for _, name := range old {
		if filepath.Base(name) != "rete.yaml" {
			if err := os.Remove(name); err != nil {
				return err
			}
		}
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(o.Repo, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// Versions reads from the ledger which set version each node is at.
func (o *Operator) Versions() (map[string]uint64, error) {
	text, err := os.ReadFile(filepath.Join(o.Repo, ".flor", "ledger.json"))
	if err != nil {
		return nil, err
	}
	var ledger struct {
		Nodes map[string]struct {
			Version uint64 `json:"version"`
		} `json:"nodes"`
	}
	if err := json.Unmarshal(text, &ledger); err != nil {
		return nil, fmt.Errorf("read the ledger: %w", err)
	}
	versions := map[string]uint64{}
	for name, entry := range ledger.Nodes {
		versions[name] = entry.Version
	}
	return versions, nil
}

// Enrol issues a node's bundle and enrols the node with it, which does not run.
func (o *Operator) Enrol(ctx context.Context, n *Node) error {
	bundle := filepath.Join(n.Dir, n.Name+".bundle")
	if err := os.RemoveAll(bundle); err != nil {
		return err
	}
	if _, err := o.Retectl(ctx, "issue-bundle", "--node", n.Name, "--out", bundle); err != nil {
		return err
	}
	_, err := n.Flor(ctx, "enroll", bundle, "--no-start")
	return err
}
