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
	"regexp"
	"time"

	"github.com/florete/flor/conformance/lab/udplink"
)

// plan is what is measured, and how.
type plan struct {
	rounds  int
	span    time.Duration // of each run
	only    *regexp.Regexp
	backend string // address of the service; empty: any
	vertex  string // the program; empty: built
	forward bool   // enter the vertex by a forward port in place of SOCKS5
	control bool
	beside  []string // programs of other builds of flor-vertex
	stunnel bool
	tunnels []tunnel
	path    udplink.Path
	flood   flood // what this program is one of; its zero value: none
}

func main() {
	p, err := parse(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	switch {
	case err != nil:
	case p.flood.kind != "":
		err = p.flood.run(ctx, os.Stdin, os.Stdout)
	default:
		err = p.run(ctx, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func parse(args []string) (plan, error) {
	var p plan
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.IntVar(&p.rounds, "rounds", 5, "rounds; each starts the tunnels anew")
	flags.DurationVar(&p.span, "time", time.Second, "time of a run")
	flags.StringVar(&p.backend, "backend", "127.0.0.1:0", "`address` at which the service listens, for tunnels that are set up before")
	flags.StringVar(&p.vertex, "vertex", "", "flor-vertex program `file`; without it, it is built")
	flags.BoolVar(&p.forward, "forward", false, "enter the vertex by a forward port in place of SOCKS5")
	flags.BoolVar(&p.control, "control", false, "measure a second pair of vertices too")
	flags.Func("beside", "`FILE` of another build of flor-vertex, of which a pair is measured too", func(file string) error {
		p.beside = append(p.beside, file)
		return nil
	})
	flags.BoolVar(&p.stunnel, "stunnel", false, "measure stunnel4 too (apt-get install stunnel4)")
	flags.DurationVar(&p.path.Delay, "delay", 0, "one-way delay between the vertices")
	flags.StringVar(&p.flood.kind, "flood", "", "be one of the floods that this program starts: connects, bulk or handshakes")
	flags.StringVar(&p.flood.service, "flood-service", "", "`address` at which a flood serves its own target")
	flags.StringVar(&p.flood.through, "flood-through", "", "`address` to which a flood goes")
	lossy := flags.Int("loss", 0, "one packet in `N` is lost between the vertices, by chance")
	only := flags.String("only", "", "measure what matches this `regexp`")
	flags.Func("tunnel", "`NAME=tcp:ADDR or NAME=socks5:ADDR/HOST:PORT` of another tunnel to the backend", func(text string) error {
		t, err := parseTunnel(text)
		p.tunnels = append(p.tunnels, t)
		return err
	})
	if err := flags.Parse(args); err != nil {
		return p, err
	}
	if *lossy > 0 {
		p.path.Loss = 1 / float64(*lossy)
	}
	var err error
	p.only, err = regexp.Compile(*only)
	return p, err
}

// run measures all rounds and prints the table.
func (p plan) run(ctx context.Context, out io.Writer) error {
	dir, err := os.MkdirTemp("", "vertex-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	service, err := serve(p.backend)
	if err != nil {
		return err
	}
	defer service.close()
	if p.vertex == "" {
		if p.vertex, err = build(ctx, dir); err != nil {
			return err
		}
	}
	r := newResults()
	for round := range p.rounds {
		if err := p.round(ctx, dir, service, round, r); err != nil {
			return err
		}
	}
	return r.print(out)
}

// round starts every way, measures each figure for one way after the other,
// and stops them.
func (p plan) round(ctx context.Context, dir string, service *service, round int, r *results) error {
	ways, stop, err := p.raise(ctx, dir, service)
	defer stop()
	if err != nil {
		return err
	}
	for _, f := range figures {
		if !p.only.MatchString(f.name) {
			continue
		}
		for i := range ways {
			w := ways[(i+round)%len(ways)]
			values, err := f.measure(ctx, load{w, service, p.span})
			if err != nil {
				return fmt.Errorf("%s over %s: %w", f.name, w.name, err)
			}
			r.add(f, w.name, values)
		}
	}
	return ctx.Err()
}

// raise starts the ways to measure; stop ends those that were started.
func (p plan) raise(ctx context.Context, dir string, service *service) (ways []way, stop func(), err error) {
	stop = func() {
		for _, w := range ways {
			w.stop()
		}
	}
	starts := []func() (way, error){func() (way, error) { return direct(service.address()), nil }}
	pair := func(name, program string) func() (way, error) {
		return func() (way, error) { return p.raisePair(ctx, dir, name, program, service.address()) }
	}
	starts = append(starts, pair("vertex", p.vertex))
	if p.control {
		starts = append(starts, pair("vertex again", p.vertex))
	}
	for _, program := range p.beside {
		starts = append(starts, pair(filepath.Base(program), program))
	}
	if p.stunnel {
		starts = append(starts, func() (way, error) { return raiseStunnel(ctx, dir, service.address()) })
	}
	for _, t := range p.tunnels {
		starts = append(starts, func() (way, error) { return t.way(), nil })
	}
	for _, start := range starts {
		w, err := start()
		if err != nil {
			return ways, stop, err
		}
		ways = append(ways, w)
	}
	ways[0].crowd = ways[1].crowd // the same floods beside direct TCP
	return ways, stop, nil
}
