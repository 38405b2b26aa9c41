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
	"syscall"
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
	if err := run(ctx, os.Stdout, *keep); err != nil {
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		os.Exit(1)
	}
}

// run builds the programs once and shows the rete; it tries again with other
// ports when one was lost.
func run(ctx context.Context, out io.Writer, keep bool) error {
	report := newReporter(out)
	dir, err := os.MkdirTemp("", "flor-")
	if err != nil {
		return fmt.Errorf("make a temporary directory: %w", err)
	}
	install, err := buildPrograms(ctx, report, dir)
	for n := 1; err == nil; n++ {
		err = show(ctx, report, install, fmt.Sprintf("%s/%d", dir, n), keep)
		if !errors.Is(err, errPortLost) || n == attempts {
			break
		}
		report.step("%v: once more, with other ports", err)
		err = nil
	}
	if err != nil {
		return fmt.Errorf("%w\nall logs are below %s", err, dir)
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("clean up: %w", err)
	}
	report.ok()
	return nil
}

// show raises one rete below dir, runs the demonstration, and stops it.
func show(ctx context.Context, report *reporter, install installation, dir string, keep bool) (err error) {
	d := &demo{report: report, install: install, dir: dir}
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
