package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/pprof"
	"slices"
	"time"
)

// plan is how much is measured.
type plan struct {
	rounds  int
	span    time.Duration // of each run
	nodes   int
	size    int // of a node's set, in bytes
	profile string
	only    string // "load" or "publish"; empty: both
}

func main() {
	var p plan
	flag.IntVar(&p.rounds, "rounds", 3, "runs of each kind; medians are printed")
	flag.DurationVar(&p.span, "time", 3*time.Second, "time of a run")
	flag.IntVar(&p.nodes, "nodes", 10_000, "nodes of the tree that is published")
	flag.IntVar(&p.size, "size", 6<<10, "bytes of a node's set in that tree")
	flag.StringVar(&p.profile, "profile", "", "write a CPU profile of the relay, and of what is measured beside it in this process, to this `file`")
	flag.StringVar(&p.only, "only", "", "measure this `part` alone: load or publish")
	readURL := flag.String("read", "", "read this `URL` at a steady pace and print how long it took: what the program starts itself for")
	putURL := flag.String("put", "", "publish to this `URL` until killed: what the program starts itself for")
	parse := flag.Bool("parse", false, "parse a tree until killed: what the program starts itself for")
	from := flag.Int("from", 0, "how far after the first version -put begins")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	switch {
	case *readURL != "":
		exit(readSteadily(ctx, *readURL, p.span, os.Stdout))
	case *putURL != "":
		exit(p.putSteadily(ctx, *putURL, *from))
	case *parse:
		exit(p.parseSteadily(ctx))
	}
	exit(p.run(ctx, os.Stdout))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "coordinator bench:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// run measures what was asked for and prints it.
func (p plan) run(ctx context.Context, out io.Writer) (err error) {
	dir, err := os.MkdirTemp("", "coordinator-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	stop, err := p.profiled()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	parts := map[string]func(context.Context, string, io.Writer) error{"load": p.loadIfPossible, "publish": p.publish}
	switch part, known := parts[p.only]; {
	case p.only == "":
		return errors.Join(p.loadIfPossible(ctx, dir, out), p.publish(ctx, dir, out))
	case known:
		return part(ctx, dir, out)
	default:
		return fmt.Errorf("there is no part %q: want load or publish", p.only)
	}
}

// profiled starts the CPU profile that was asked for.
func (p plan) profiled() (stop func() error, err error) {
	if p.profile == "" {
		return func() error { return nil }, nil
	}
	file, err := os.Create(p.profile)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return func() error {
		pprof.StopCPUProfile()
		return file.Close()
	}, nil
}

// loadIfPossible says so where the load cannot be measured.
func (p plan) loadIfPossible(ctx context.Context, dir string, out io.Writer) error {
	err := p.load(ctx, dir, out)
	var missing *missingProgram
	if errors.As(err, &missing) {
		_, err = fmt.Fprintln(out, "load: left out,", missing)
	}
	return err
}

// median is the middle of the values, which it sorts.
func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}
