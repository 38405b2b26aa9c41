// Quickstart raises a whole rete of four nodes on this machine, with the real
// programs, and shows it at work:
//
//	go run ./examples/quickstart [--keep]
//
// The rete has a management node; alpha, with an HTTP service; beta, with a
// service that greets first, as databases do, and that alpha's service calls
// as a client; and a laptop with the operator and two users. Every node has
// its own state below one temporary directory, an agent of its own, and talks
// to the others over QUIC on loopback. It needs Go, no root, and no network.
//
// Each step is one line with its time. The last line on standard output is
// "quickstart: ok" with the total time, and nothing is left behind; on failure
// the exit code is 1, and a directory with all logs stays, whose name is
// printed. With --keep the rete runs on until Ctrl-C.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/florete/flor/conformance/lab"
	"github.com/florete/flor/store"
)

// attempts is how often the rete is raised anew, with other ports, when
// somebody else took one between the probe and its use.
const attempts = 3

func main() {
	keep := flag.Bool("keep", false, "leave the rete running until Ctrl-C, and print commands to play with it")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "quickstart takes no arguments, got %q\n", flag.Args())
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	switch err := run(ctx, os.Stdout, *keep); {
	case errors.Is(err, errInterrupted):
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		os.Exit(130)
	case err != nil:
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		os.Exit(1)
	}
}

// errInterrupted is the end by Ctrl-C before everything was shown.
var errInterrupted = errors.New("interrupted; everything it had made is stopped and removed")

// run builds the programs once and shows the rete. What it made is removed,
// unless it failed.
func run(ctx context.Context, out io.Writer, keep bool) error {
	report := newReporter(out)
	dir, err := os.MkdirTemp("", "flor-")
	if err != nil {
		return fmt.Errorf("make a temporary directory: %w", err)
	}
	longest := lab.Node{Dir: filepath.Join(dir, "1", management), Rete: reteName}
	if _, err := store.SocketPath(longest.RuntimeRoot(), "coordinator.sock"); err != nil {
		return errors.Join(fmt.Errorf("set TMPDIR to a shorter directory: %w", err), os.Remove(dir))
	}
	err = raise(ctx, report, dir, keep)
	interrupted := err != nil && isInterrupted(ctx)
	if err != nil && !interrupted {
		return fmt.Errorf("%w\nall logs are below %s", err, dir)
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("clean up: %w", err)
	}
	if interrupted {
		return errInterrupted
	}
	report.ok()
	return nil
}

// isInterrupted tells whether a failure is only the echo of Ctrl-C, which
// reaches the programs that run here at the same moment, or a little sooner.
func isInterrupted(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return true
	case <-time.After(100 * time.Millisecond):
		return false
	}
}

// raise tries again with other ports when one was lost.
func raise(ctx context.Context, report *reporter, dir string, keep bool) error {
	report.step("building flor, retectl, flor-vertex and flor-coordinator (the first time takes a minute)")
	programs, err := lab.Build(ctx, dir)
	if err != nil {
		return err
	}
	for n := 1; ; n++ {
		err := show(ctx, report, programs, filepath.Join(dir, strconv.Itoa(n)), keep)
		if !errors.Is(err, lab.ErrPortLost) || n == attempts {
			return err
		}
		report.step("%v: once more, with other ports", err)
	}
}

// show raises one rete below dir, runs the demonstration, and stops it.
func show(ctx context.Context, report *reporter, programs lab.Programs, dir string, keep bool) (err error) {
	d := &demo{report: report, programs: programs, dir: dir}
	defer func() { err = errors.Join(err, d.stop()) }()
	if err := d.play(ctx); err != nil {
		return err
	}
	if keep {
		d.printCommands()
		<-ctx.Done()
	}
	return nil
}
