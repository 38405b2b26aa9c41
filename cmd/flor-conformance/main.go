package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/urfave/cli/v3"

	"github.com/florete/flor/cmd/internal/misuse"
)

// Exit codes beside those of a report (CNF-3).
const (
	exitUsage = 2
	exitCould = 3
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args, os.Stdout, os.Stderr))
}

// run runs a command line and returns its exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	err := newApp(stdout, stderr).Run(ctx, args)
	var ended *reported
	var usage *usageError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &ended):
		return ended.code
	case errors.As(err, &usage):
		fmt.Fprintf(stderr, "flor-conformance: %v\n", err)
		return exitUsage
	}
	fmt.Fprintf(stderr, "flor-conformance: %v\n", err)
	return exitCould
}

// reported says that a report was written, and what it comes to.
type reported struct{ code int }

func (r *reported) Error() string { return fmt.Sprintf("exit %d", r.code) }

// usageError says that the command line was wrong.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usage(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

// misused refuses a command line with the exit code 2 (CNF-3).
var misused = misuse.Refusal(func(err error) error { return &usageError{err} })

// newApp builds the command tree. Nothing in it ends the process.
func newApp(stdout, stderr io.Writer) *cli.Command {
	app := &cli.Command{
		Name: "flor-conformance", Usage: "check an implementation against the contract",
		Writer: stdout, ErrWriter: stderr, HideVersion: true, Suggest: true,
		ExitErrHandler: func(context.Context, *cli.Command, error) {},
		Commands:       []*cli.Command{vectorsCommand(stdout), selfCommand(stdout)},
	}
	for _, s := range suites() {
		app.Commands = append(app.Commands, s.command(stdout))
	}
	return misused.Settle(app)
}

// toolVersion is what the go command recorded of this program.
func toolVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "flor-conformance (unknown)"
	}
	return "flor-conformance " + info.Main.Version
}
