package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/florete/flor/conformance/lab"
	"github.com/florete/flor/conformance/lab/netns"
)

// soak raises a rete, lets it live as long as planned, and takes it down. The
// directory with all logs stays when something went wrong.
func soak(ctx context.Context, p plan, out io.Writer) (*recording, error) {
	if err := netns.Unavailable(); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "soak")
	if err != nil {
		return nil, err
	}
	recorded, err := soakIn(ctx, p, dir, out)
	if err != nil {
		return recorded, fmt.Errorf("%w\nall logs are below %s", err, dir)
	}
	return recorded, os.RemoveAll(dir)
}

func soakIn(ctx context.Context, p plan, dir string, out io.Writer) (*recording, error) {
	fmt.Fprintln(out, "building the programs")
	programs, err := lab.Build(ctx, dir)
	if err != nil {
		return nil, err
	}
	rete, err := lab.Raise(ctx, lab.Options{Programs: programs, Dir: dir})
	if err == nil {
		err = rete.Start(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, rete.Close())
	}
	fmt.Fprintf(out, "five nodes are healthy; %v of life begin\n", p.lasts)
	recorded, err := live(ctx, p, rete, out)
	if closing := rete.Close(); closing != nil {
		err = errors.Join(err, &unwellError{closing})
	}
	return recorded, err
}

// live runs everything at once until the time is over: users, the sampler, and
// the operator's and the world's doings.
func live(ctx context.Context, p plan, rete *lab.Network, out io.Writer) (*recording, error) {
	began := time.Now()
	timed, cancel := context.WithTimeout(ctx, p.lasts)
	defer cancel()
	recorded := &recording{lasted: p.lasts}
	users := startUsers(timed, rete)
	var sampling sync.WaitGroup
	sampling.Go(func() { newSampler(rete, recorded, began).run(timed) })
	w := newWorld(p, rete, began)
	err := w.run(timed)
	cancel()
	sampling.Wait()
	recorded.events = w.events
	users.print(out)
	if ctx.Err() != nil {
		return recorded, ctx.Err()
	}
	if err == nil {
		err = w.recover(ctx)
	}
	if err != nil {
		return recorded, &unwellError{err}
	}
	return recorded, nil
}
