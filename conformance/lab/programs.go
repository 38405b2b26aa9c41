package lab

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Programs is where the programs lie, in the layout of an installed flor: bin
// beside lib/flor.
type Programs struct{ bin string }

// Path is the file of a program that people run: flor or retectl.
func (p Programs) Path(name string) string { return filepath.Join(p.bin, name) }

// Build builds the four programs of this module below a directory. Arguments
// go to `go build`.
func Build(ctx context.Context, dir string, args ...string) (Programs, error) {
	bin, lib := filepath.Join(dir, "bin"), filepath.Join(dir, "lib", "flor")
	if err := goBuild(ctx, bin, args, "flor", "retectl"); err != nil {
		return Programs{}, err
	}
	if err := goBuild(ctx, lib, args, "flor-vertex", "flor-coordinator"); err != nil {
		return Programs{}, err
	}
	return Programs{bin}, nil
}

func goBuild(ctx context.Context, dir string, extra []string, programs ...string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	args := append([]string{"build", "-o", dir + string(filepath.Separator)}, extra...)
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

// stopTimeout bounds the orderly end of a program.
const stopTimeout = 20 * time.Second

// interruptible is a command that is asked to end when ctx is done, so that it
// can clean up, and is killed only when it does not.
func interruptible(ctx context.Context, program string, args ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, program, args...)
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = stopTimeout
	return command
}
