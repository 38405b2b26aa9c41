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
	"time"
)

// plan is what the command line asks for.
type plan struct {
	lasts time.Duration
	out   string
	seed  uint64
}

// The exit codes.
const (
	flat     = 0
	rises    = 1
	misused  = 2
	couldNot = 3
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, out, complaints io.Writer) int {
	p, err := parse(args, complaints)
	if err != nil {
		return misused
	}
	recorded, err := soak(ctx, p, out)
	if err != nil {
		fmt.Fprintln(complaints, "soak:", err)
	}
	if unwell := (*unwellError)(nil); err != nil && !errors.As(err, &unwell) {
		return couldNot
	}
	return report(p, recorded, err == nil, out, complaints)
}

func parse(args []string, complaints io.Writer) (plan, error) {
	var p plan
	flags := flag.NewFlagSet("soak", flag.ContinueOnError)
	flags.SetOutput(complaints)
	flags.DurationVar(&p.lasts, "for", 3*time.Minute, "how long, 30s at least")
	flags.StringVar(&p.out, "out", "soak.svg", "`file` for the chart")
	flags.Uint64Var(&p.seed, "seed", 1, "decides what happens when")
	if err := flags.Parse(args); err != nil {
		return p, err
	}
	if flags.NArg() > 0 || p.lasts < 30*time.Second {
		err := fmt.Errorf("want --for of 30s or more and no arguments, got %v and %q", p.lasts, flags.Args())
		fmt.Fprintln(complaints, "soak:", err)
		return p, err
	}
	return p, nil
}

// report writes the chart, prints the table, and comes to an exit code.
func report(p plan, r *recording, well bool, out, complaints io.Writer) int {
	if err := os.WriteFile(p.out, []byte(draw(r)), 0o644); err != nil {
		fmt.Fprintln(complaints, "soak: write the chart:", err)
		return couldNot
	}
	if err := r.print(out); err != nil {
		fmt.Fprintln(complaints, "soak: print the table:", err)
		return couldNot
	}
	fmt.Fprintf(out, "events: %s\nchart: %s\n", r.counts(), p.out)
	leaks := r.leaks()
	for _, leak := range leaks {
		fmt.Fprintln(complaints, "soak: rises:", leak)
	}
	if len(leaks) > 0 || !well {
		return rises
	}
	fmt.Fprintf(out, "soak: ok, %d processes flat over %v, seed %d\n", len(r.tracks), p.lasts, p.seed)
	return flat
}

// unwellError is a rete that did not recover, or did not end in order.
type unwellError struct{ err error }

func (e *unwellError) Error() string { return "the rete is not well: " + e.err.Error() }
func (e *unwellError) Unwrap() error { return e.err }
