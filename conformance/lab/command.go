package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// CommandError is a program that ended with an exit code other than 0.
type CommandError struct {
	Command string
	Code    int
	Stderr  []string // lines
}

func (e *CommandError) Error() string {
	return fmt.Sprintf("%s: exit code %d\n%s", e.Command, e.Code, strings.Join(e.Stderr, "\n"))
}

// command runs a program on a node to its end and returns the lines of its
// standard output. Both its outputs are kept in the node's commands.log.
func (n *Node) command(ctx context.Context, dir string, env []string, program string, args ...string) ([]string, error) {
	command := interruptible(ctx, n.Programs.Path(program), args...)
	command.Dir = dir
	command.Env = append(append(cleanEnvironment(), n.environment()...), env...)
	var stdout, stderr strings.Builder
	command.Stdout, command.Stderr = &stdout, &stderr
	err := n.host().Start(command)
	if err == nil {
		err = command.Wait()
	}
	n.logCommand(command, stdout.String()+stderr.String())
	var exit *exec.ExitError
	if errors.As(err, &exit) && ctx.Err() == nil {
		err = &CommandError{program + " " + strings.Join(args, " "), exit.ExitCode(), lines(stderr.String())}
	}
	return lines(stdout.String()), err
}

func (n *Node) logCommand(command *exec.Cmd, output string) {
	log, err := os.OpenFile(filepath.Join(n.Dir, "commands.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return
	}
	defer log.Close()
	fmt.Fprintf(log, "%s %s\n%s\n", time.Now().UTC().Format(time.RFC3339), command, output)
}

func lines(text string) []string {
	text = strings.TrimRight(text, "\n")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

// cleanEnvironment is this process's environment without settings of flor.
func cleanEnvironment() []string {
	var env []string
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "FLOR") && !strings.HasPrefix(entry, "RETECTL_") {
			env = append(env, entry)
		}
	}
	return env
}
