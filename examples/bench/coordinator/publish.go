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

// step is one thing that is timed again and again.
type step struct {
	do    func() error
	times []float64 // seconds
}

func (s *step) run() error {
	begun := time.Now()
	err := s.do()
	s.times = append(s.times, time.Since(begun).Seconds())
	return err
}

// publishTime lets publishes and their parts take turns and prints the medians.
func (p plan) publishTime(ctx context.Context, s *served, dir string, out io.Writer) error {
	doc := tree(p.nodes, p.size)
	whole := &step{do: func() error { return put(ctx, s.publish, doc) }}
	ours := &step{do: func() error { _, err := relay.ParseTree(doc); return err }}
	plain := &step{do: func() error { return parsePlainly(doc) }}
	write := &step{do: func() error { return writeSynced(dir, doc) }}
	for round := range p.rounds {
		stamp(doc, round)
		for _, step := range []*step{whole, ours, plain, write} {
			if err := step.run(); err != nil {
				return err
			}
		}
	}
	a, b, c, d := median(whole.times), median(ours.times), median(plain.times), median(write.times)
	_, err := fmt.Fprintf(out, "publish of %d nodes, %d MB: %.2f s; writing them with fsync %.2f s, parsing them %.2f s, ratio to both %.2f; parsing them with encoding/json %.2f s, ratio %.2f (medians of %d)\n",
		p.nodes, len(doc)/1e6, a, d, b, a/(b+d), c, a/(c+d), p.rounds)
	return err
}

// parsePlainly reads of a tree what a relay has to know, as a program would that
// has no parser of its own.
func parsePlainly(doc []byte) error {
	var tree struct {
		Artifacts []struct {
			SchemaVersion string          `json:"schema_version"`
			Plane         json.RawMessage `json:"plane"`
			Version       uint64          `json:"version"`
			Node          string          `json:"node"`
			Name          string          `json:"name"`
			Payload       json.RawMessage `json:"payload"`
		} `json:"artifacts"`
	}
	return json.Unmarshal(doc, &tree)
}

// readersTime lets readers in another process read in quiet, beside publishes, and
// beside a program that only parses the same tree and has nothing to do with the
// relay, by turns, and prints the medians.
func (p plan) readersTime(ctx context.Context, s *served, out io.Writer) error {
	var quiet, parsing, publishing latencies
	for round := range p.rounds {
		from := strconv.Itoa(p.rounds + round*perRound)
		err := errors.Join(
			p.readers(ctx, s.sync, &quiet),
			p.beside(ctx, s.sync, &parsing, "-parse"),
			p.beside(ctx, s.sync, &publishing, "-put", s.publish, "-from", from))
		if err != nil {
			return err
		}
	}
	a, b, c := median(quiet.p99), median(parsing.p99), median(publishing.p99)
	_, err := fmt.Fprintf(out, "readers' 99th percentile: quiet %.2f ms, beside publishes %.2f ms, ratio %.2f; beside another program that parses the same %.2f ms, ratio %.2f; half of the time %.2f, %.2f and %.2f ms (medians of %d runs of %s each)\n",
		a, c, c/a, b, b/a, median(quiet.p50), median(publishing.p50), median(parsing.p50), p.rounds, p.span)
	return err
}

// latencies is what readers saw in all runs of one kind, in milliseconds.
type latencies struct{ p50, p99 []float64 }

// perRound is how many publishes one run has at most.
const perRound = 100

// beside reads while another process does something over and over.
func (p plan) beside(ctx context.Context, base string, into *latencies, what ...string) error {
	other, err := itself(ctx, append(what, "-nodes", strconv.Itoa(p.nodes), "-size", strconv.Itoa(p.size))...)
	if err != nil {
		return err
	}
	ready, err := other.StdoutPipe()
	if err != nil {
		return err
	}
	if err := other.Start(); err != nil {
		return err
	}
	_, err = ready.Read(make([]byte, 1)) // it has made its document
	err = errors.Join(err, p.readers(ctx, base, into))
	if !errors.Is(other.Process.Kill(), os.ErrProcessDone) {
		_ = other.Wait() // it was killed
		return err
	}
	return errors.Join(err, fmt.Errorf("%v: %w", what, other.Wait()))
}

// putSteadily publishes until it is killed. It has one document and changes the
// versions in it, because making documents would be measured otherwise.
func (p plan) putSteadily(ctx context.Context, base string, from int) error {
	doc := tree(p.nodes, p.size)
	fmt.Println("ready")
	for after := from; after < from+perRound; after++ {
		stamp(doc, after)
		if err := put(ctx, base, doc); err != nil {
			return err
		}
	}
	return nil
}

// parseSteadily parses until it is killed.
func (p plan) parseSteadily(ctx context.Context) error {
	doc := tree(p.nodes, p.size)
	fmt.Println("ready")
	for ctx.Err() == nil {
		if _, err := relay.ParseTree(doc); err != nil {
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
func (p plan) readers(ctx context.Context, base string, into *latencies) error {
	cmd, err := itself(ctx, "-read", nodeURL(base), "-time", p.span.String())
	if err != nil {
		return err
	}
	text, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("readers: %w", err)
	}
	var seen latency
	if err := json.Unmarshal(text, &seen); err != nil {
		return err
	}
	into.p50, into.p99 = append(into.p50, seen.P50), append(into.p99, seen.P99)
	return nil
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
