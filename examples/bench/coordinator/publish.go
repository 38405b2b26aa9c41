package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"time"

	"github.com/florete/flor/relay"
)

// publish prints what publishing a large tree costs, and what it costs readers.
func (p plan) publish(ctx context.Context, dir string, out io.Writer) (err error) {
	s, err := serve(ctx, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if err := p.publishTime(ctx, s, dir, out); err != nil {
		return err
	}
	return p.readersTime(ctx, s, out)
}

// publishTime lets publishes and their parts take turns and prints the medians.
func (p plan) publishTime(ctx context.Context, s *served, dir string, out io.Writer) error {
	var whole, parse, write []float64
	var doc []byte
	for round := range p.rounds {
		doc = tree(p.nodes, p.size, round+1)
		steps := []struct {
			into *[]float64
			do   func() error
		}{
			{&whole, func() error { return put(ctx, s.publish, doc) }},
			{&parse, func() error { _, err := relay.ParseTree(doc); return err }},
			{&write, func() error { return writeSynced(dir, doc) }},
		}
		for _, step := range steps {
			begun := time.Now()
			if err := step.do(); err != nil {
				return err
			}
			*step.into = append(*step.into, time.Since(begun).Seconds())
		}
	}
	a, b, c := median(whole), median(parse), median(write)
	_, err := fmt.Fprintf(out, "publish of %d nodes, %d MB: %.2f s; parsing them %.2f s, writing with fsync %.2f s, ratio %.2f (medians of %d)\n",
		p.nodes, len(doc)/1e6, a, b, c, a/(b+c), p.rounds)
	return err
}

// readersTime lets readers in another process read in quiet and beside publishes,
// by turns, and prints the medians.
func (p plan) readersTime(ctx context.Context, s *served, out io.Writer) error {
	var quiet, busy []float64
	for round := range p.rounds {
		before, err := p.readers(ctx, s.sync)
		if err != nil {
			return err
		}
		during, err := p.beside(ctx, s, round)
		if err != nil {
			return err
		}
		quiet, busy = append(quiet, before.P99), append(busy, during.P99)
	}
	a, b := median(quiet), median(busy)
	_, err := fmt.Fprintf(out, "readers' 99th percentile: quiet %.2f ms, beside publishes %.2f ms, ratio %.2f (medians of %d runs of %s each)\n",
		a, b, b/a, p.rounds, p.span)
	return err
}

// perRound is how many publishes one run has at most.
const perRound = 100

// beside reads while another process publishes one tree after the other.
func (p plan) beside(ctx context.Context, s *served, round int) (l latency, err error) {
	publisher, err := itself(ctx, "-put", s.publish, "-from", strconv.Itoa(p.rounds+round*perRound+1),
		"-nodes", strconv.Itoa(p.nodes), "-size", strconv.Itoa(p.size))
	if err != nil {
		return latency{}, err
	}
	if err := publisher.Start(); err != nil {
		return latency{}, err
	}
	l, err = p.readers(ctx, s.sync)
	if !errors.Is(publisher.Process.Kill(), os.ErrProcessDone) {
		_ = publisher.Wait() // it was killed
		return l, err
	}
	return latency{}, errors.Join(err, fmt.Errorf("publishing: %w", publisher.Wait()))
}

// putSteadily publishes until it is killed.
func (p plan) putSteadily(ctx context.Context, base string, from int) error {
	for version := from; version < from+perRound; version++ {
		if err := put(ctx, base, tree(p.nodes, p.size, version)); err != nil {
			return err
		}
	}
	return nil
}

// latency is how long readers waited, in milliseconds.
type latency struct {
	Reads    int
	P50, P99 float64
}

// readers reads for one run from another process, so that it is not measured how
// the two share one garbage collector.
func (p plan) readers(ctx context.Context, base string) (l latency, err error) {
	cmd, err := itself(ctx, "-read", nodeURL(base, 0), "-time", p.span.String())
	if err != nil {
		return latency{}, err
	}
	text, err := cmd.Output()
	if err != nil {
		return latency{}, fmt.Errorf("readers: %w", err)
	}
	return l, json.Unmarshal(text, &l)
}

// itself is this program as another process.
func itself(ctx context.Context, args ...string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Stderr = os.Stderr
	return cmd, nil
}

// pace is the time between two reads.
const pace = 2 * time.Millisecond

// readSteadily reads for span at a steady pace over one connection and prints a
// latency.
func readSteadily(ctx context.Context, url string, span time.Duration, out io.Writer) error {
	var times []float64
	tick := time.NewTicker(pace)
	defer tick.Stop()
	for end := time.Now().Add(span); time.Now().Before(end); {
		begun := time.Now()
		if _, _, err := fetch(ctx, url); err != nil {
			return err
		}
		times = append(times, time.Since(begun).Seconds()*1e3)
		<-tick.C
	}
	http.DefaultClient.CloseIdleConnections()
	slices.Sort(times)
	return json.NewEncoder(out).Encode(latency{
		Reads: len(times), P50: times[len(times)/2], P99: times[len(times)*99/100],
	})
}
