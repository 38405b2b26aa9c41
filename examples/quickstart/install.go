package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// installation is where the programs of this run lie, in the layout of an
// installed flor: bin beside lib/flor.
type installation struct {
	bin string
}

func (i installation) program(name string) string { return filepath.Join(i.bin, name) }

// buildPrograms builds the four programs from this module.
func buildPrograms(ctx context.Context, report *reporter, dir string) (installation, error) {
	bin, lib := filepath.Join(dir, "bin"), filepath.Join(dir, "lib", "flor")
	report.step("building flor, retectl, flor-vertex and flor-coordinator (the first time takes a minute)")
	if err := goBuild(ctx, bin, "flor", "retectl"); err != nil {
		return installation{}, err
	}
	if err := goBuild(ctx, lib, "flor-vertex", "flor-coordinator"); err != nil {
		return installation{}, err
	}
	return installation{bin: bin}, nil
}

func goBuild(ctx context.Context, dir string, programs ...string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	args := []string{"build", "-o", dir + string(filepath.Separator)}
	for _, program := range programs {
		args = append(args, "github.com/florete/flor/cmd/"+program)
	}
	command := interruptible(ctx, "go", args...)
	command.Env = append(os.Environ(), "GOTMPDIR="+dir)
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, bytes.TrimSpace(out))
	}
	return nil
}

// interruptible is a command that is asked to end when ctx is done, so that it
// can clean up, and is killed only when it does not.
func interruptible(ctx context.Context, program string, args ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, program, args...)
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = stopTimeout
	return command
}
