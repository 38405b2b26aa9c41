package checkout

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
)

// Module is the path of the module whose source is meant.
const Module = "github.com/florete/flor"

// Checkout is the source of the module on this machine.
type Checkout struct {
	Root string // absolute
}

// Find returns the checkout that holds a directory, the working directory where
// it is empty. Anywhere else is refused.
func Find(ctx context.Context, dir string) (Checkout, error) {
	out, err := run(ctx, dir, "list", "-m", "-json")
	if err != nil {
		return Checkout{}, outside(err)
	}
	var module struct{ Path, Dir string }
	if err := json.Unmarshal(out, &module); err != nil {
		return Checkout{}, outside(err)
	}
	if module.Path != Module {
		return Checkout{}, outside(fmt.Errorf("the module here is %q", module.Path))
	}
	return Checkout{Root: module.Dir}, nil
}

func outside(err error) error {
	return fmt.Errorf("our own programs are built from source: run this in a checkout of %s, with the go command in PATH: %w", Module, err)
}

// Build builds the program of a package, such as cmd/flor, into a directory and
// returns its path. An overlay, if not empty, is the file of go build -overlay.
func (c Checkout) Build(ctx context.Context, pkg, into, overlay string) (string, error) {
	binary := filepath.Join(into, path.Base(pkg))
	args := []string{"build", "-o", binary}
	if overlay != "" {
		args = append(args, "-overlay", overlay)
	}
	if _, err := run(ctx, c.Root, append(args, "./"+pkg)...); err != nil {
		return "", fmt.Errorf("build %s: %w", pkg, err)
	}
	return binary, nil
}

// run runs the go command and returns what it printed.
func run(ctx context.Context, dir string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return nil, fmt.Errorf("go %s: %w\n%s", args[0], err, strings.TrimSpace(string(exit.Stderr)))
	}
	return out, err
}
