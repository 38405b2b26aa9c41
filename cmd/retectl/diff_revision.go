package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"

	"github.com/florete/flor/compiler"
)

// maxGitProse is the most bytes of a git error message that are shown.
const maxGitProse = 4 << 10

// treeAt reads the compiled tree that was committed in a revision of the
// repository at dir. Only git knows the revisions of a repository: it is asked.
func treeAt(ctx context.Context, dir, revision string) (*compiler.CompiledTree, error) {
	commit, err := resolveRevision(ctx, dir, revision)
	if err != nil {
		return nil, err
	}
	listed, err := git(ctx, dir, "ls-tree", "--name-only", commit, "--", compiler.TreePath)
	if err != nil {
		return nil, err
	}
	if len(bytes.TrimSpace(listed)) == 0 {
		return nil, refuse(reasonUnknownName, "the revision %s has no compiled tree (%s): commit it with the YAML", revision, compiler.TreePath)
	}
	return archivedTree(ctx, dir, commit)
}

// resolveRevision turns what a person typed into the name of a commit; what git
// would take for an option is no revision.
func resolveRevision(ctx context.Context, dir, revision string) (string, error) {
	out, err := git(ctx, dir, "rev-parse", "--verify", "--quiet", "--end-of-options", revision+"^{commit}")
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		return "", refuse(reasonUnknownName, "git knows no revision %q in %s", revision, dir)
	}
	return strings.TrimSpace(string(out)), err
}

// archivedTree reads the tree as git writes it, without keeping the archive.
func archivedTree(ctx context.Context, dir, commit string) (*compiler.CompiledTree, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	cmd := exec.CommandContext(ctx, "git", "-C", dir, "archive", "--format=tar", commit, "--", compiler.TreePath)
	var prose bytes.Buffer
	cmd.Stderr = &prose
	archive, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	tree, err := compiler.ReadTreeArchive(archive)
	if err != nil {
		stop()
		cmd.Wait() // killed: what it says about that is nobody's concern
		return nil, err
	}
	if _, err := io.Copy(io.Discard, archive); err != nil {
		return nil, err
	}
	return tree, gitError("archive", cmd.Wait(), prose.Bytes())
}

// git runs git in dir and returns what it prints.
func git(ctx context.Context, dir string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-C", dir}, args...)...)
	var prose bytes.Buffer
	cmd.Stderr = &prose
	out, err := cmd.Output()
	return out, gitError(args[0], err, prose.Bytes())
}

func gitError(what string, err error, prose []byte) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("git %s: %w: %s", what, err, bytes.TrimSpace(prose[:min(len(prose), maxGitProse)]))
}
