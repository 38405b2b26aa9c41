package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"runtime/pprof"
	"strconv"
	"time"
)

const (
	connections = 64
	loadSet     = 30 << 10 // bytes of the set that is served
)

// missingProgram says that a program to compare with is not installed.
type missingProgram struct{ name string }

func (e *missingProgram) Error() string { return e.name + " is not installed" }

// contender is one server under one kind of load.
type contender struct {
	url    string
	header string // of each request, empty for none
}

// load prints how many answers a second the relay and nginx give.
func (p plan) load(ctx context.Context, dir string, out io.Writer) (err error) {
	if _, err := exec.LookPath("wrk"); err != nil {
		return &missingProgram{"wrk"}
	}
	s, err := serve(ctx, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if err := put(ctx, s.publish, tree(1, loadSet, 1)); err != nil {
		return err
	}
	set, _, err := fetch(ctx, nodeURL(s.sync, 0))
	if err != nil {
		return err
	}
	rival, err := startNginx(ctx, dir, set)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rival.stop()) }()
	stop, err := p.profiled()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	return errors.Join(
		p.race(ctx, out, "304", contender{url: nodeURL(s.sync, 1)}, contender{rival.url, "If-None-Match: " + rival.etag}),
		p.race(ctx, out, "200", contender{url: nodeURL(s.sync, 0)}, contender{url: rival.url}))
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

// race lets the two take turns and prints the medians.
func (p plan) race(ctx context.Context, out io.Writer, what string, ours, theirs contender) error {
	var us, them []float64
	for range p.rounds {
		for _, run := range []struct {
			contender
			into *[]float64
		}{{ours, &us}, {theirs, &them}} {
			rate, err := wrk(ctx, run.contender, p.span)
			if err != nil {
				return err
			}
			*run.into = append(*run.into, rate)
		}
	}
	a, b := median(us), median(them)
	_, err := fmt.Fprintf(out, "load %s, %d connections: relay %.0f/s, nginx %.0f/s, ratio %.2f (medians of %d runs of %s each)\n",
		what, connections, a, b, a/b, p.rounds, p.span)
	return err
}

var (
	wrkRate   = regexp.MustCompile(`Requests/sec:\s+([0-9.]+)`)
	wrkErrors = regexp.MustCompile(`Socket errors:.*|Non-2xx or 3xx responses:.*`)
)

// wrk gives the answers a second that a server gives.
func wrk(ctx context.Context, c contender, span time.Duration) (float64, error) {
	args := []string{"-t2", "-c" + strconv.Itoa(connections), "-d" + strconv.Itoa(max(1, int(span.Seconds()))) + "s"}
	if c.header != "" {
		args = append(args, "-H", c.header)
	}
	text, err := exec.CommandContext(ctx, "wrk", append(args, c.url)...).CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("wrk: %w: %s", err, text)
	}
	if fault := wrkErrors.Find(text); fault != nil {
		return 0, fmt.Errorf("wrk of %s: %s", c.url, fault)
	}
	rate := wrkRate.FindSubmatch(text)
	if rate == nil {
		return 0, fmt.Errorf("wrk says no rate: %s", text)
	}
	return strconv.ParseFloat(string(rate[1]), 64)
}

// fetch gets a body and its ETag, if it has one.
func fetch(ctx context.Context, url string) (body []byte, etag string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, "", fmt.Errorf("%s: %s", url, resp.Status)
	}
	body, err = io.ReadAll(resp.Body)
	return body, resp.Header.Get("ETag"), err
}
