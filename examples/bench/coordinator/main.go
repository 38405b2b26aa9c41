package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
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
}

func main() {
	var p plan
	flag.IntVar(&p.rounds, "rounds", 3, "runs of each kind; medians are printed")
	flag.DurationVar(&p.span, "time", 3*time.Second, "time of a run")
	flag.IntVar(&p.nodes, "nodes", 10_000, "nodes of the tree that is published")
	flag.IntVar(&p.size, "size", 6<<10, "bytes of a node's set in that tree")
	flag.StringVar(&p.profile, "profile", "", "write a CPU profile of the relay under load to this `file`")
	readURL := flag.String("read", "", "read this `URL` at a steady pace and print how long it took: what the program starts itself for")
	putURL := flag.String("put", "", "publish to this `URL` until killed: what the program starts itself for")
	from := flag.Int("from", 1, "the first version that -put publishes")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	switch {
	case *readURL != "":
		exit(readSteadily(ctx, *readURL, p.span, os.Stdout))
	case *putURL != "":
		exit(p.putSteadily(ctx, *putURL, *from))
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

// run measures and prints everything.
func (p plan) run(ctx context.Context, out io.Writer) error {
	dir, err := os.MkdirTemp("", "coordinator-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	err = p.load(ctx, dir, out)
	var missing *missingProgram
	if errors.As(err, &missing) {
		fmt.Fprintln(out, "load: left out,", err)
		err = nil
	}
	return errors.Join(err, p.publish(ctx, dir, out))
}

// median is the middle of the values, which it sorts.
func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}
