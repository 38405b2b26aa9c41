package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"strconv"
	"syscall"
	"time"
)

const (
	connections = 64
	loadSet     = 30 << 10 // bytes of the set that is served
)

// missingProgram says that a program to compare with is not installed.
type missingProgram struct{ name string }

func (e *missingProgram) Error() string { return e.name + " is not installed" }

// load prints how many answers the relay and nginx give.
func (p plan) load(ctx context.Context, dir string, out io.Writer) (err error) {
	if _, err := exec.LookPath("wrk"); err != nil {
		return &missingProgram{"wrk"}
	}
	s, err := serve(ctx, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if err := put(ctx, s.publish, tree(1, loadSet)); err != nil {
		return err
	}
	set, _, err := fetch(ctx, nodeURL(s.sync))
	if err != nil {
		return err
	}
	unchanged := func(etag string) string { return "If-None-Match: " + etag }
	plain := func(string) string { return "" }
	return errors.Join(
		p.race(ctx, out, race{"304", dir, set, nodeURL(s.sync) + "?have=" + strconv.Itoa(firstVersion), unchanged}),
		p.race(ctx, out, race{"200", dir, set, nodeURL(s.sync), plain}))
}

// race is one kind of answer that both give.
type race struct {
	what   string
	dir    string
	set    []byte
	ours   string                   // the relay's URL for it
	header func(etag string) string // of a request to nginx
}

// race lets the two take turns and prints the medians, and how many answers each
// gave for a second of processor time, which a machine that is busy with other
// things blurs less.
func (p plan) race(ctx context.Context, out io.Writer, r race) error {
	rival, err := startNginx(ctx, r.dir, r.set)
	if err != nil {
		return err
	}
	var ours, theirs runs
	for range p.rounds {
		before := processorTime()
		err = errors.Join(err, ours.add(ctx, p.span, r.ours, ""))
		ours.processor += processorTime() - before
		err = errors.Join(err, theirs.add(ctx, p.span, rival.url, r.header(rival.etag)))
	}
	theirs.processor, err = rival.stop(err)
	if err != nil {
		return err
	}
	a, b := median(ours.rates), median(theirs.rates)
	x, y := ours.efficiency(), theirs.efficiency()
	_, err = fmt.Fprintf(out, "load %s, %d connections: relay %.0f/s, nginx %.0f/s, ratio %.2f (medians of %d runs of %s each); for a second of processor time relay %.0f, nginx %.0f, ratio %.2f\n",
		r.what, connections, a, b, a/b, p.rounds, p.span, x, y, x/y)
	return err
}

// runs is what one server did in all its runs.
type runs struct {
	rates     []float64 // answers a second
	answers   float64
	processor time.Duration
}

func (r *runs) efficiency() float64 { return r.answers / r.processor.Seconds() }

var (
	wrkRate   = regexp.MustCompile(`Requests/sec:\s+([0-9.]+)`)
	wrkCount  = regexp.MustCompile(`([0-9]+) requests in`)
	wrkErrors = regexp.MustCompile(`Socket errors:.*|Non-2xx or 3xx responses:.*`)
)

// add lets wrk ask for a while.
func (r *runs) add(ctx context.Context, span time.Duration, url, header string) error {
	args := []string{"-t2", "-c" + strconv.Itoa(connections), "-d" + strconv.Itoa(max(1, int(span.Seconds()))) + "s"}
	if header != "" {
		args = append(args, "-H", header)
	}
	text, err := exec.CommandContext(ctx, "wrk", append(args, url)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("wrk: %w: %s", err, text)
	}
	if fault := wrkErrors.Find(text); fault != nil {
		return fmt.Errorf("wrk of %s: %s", url, fault)
	}
	rate, rateErr := number(wrkRate, text)
	count, countErr := number(wrkCount, text)
	r.rates = append(r.rates, rate)
	r.answers += count
	return errors.Join(rateErr, countErr)
}

func number(of *regexp.Regexp, text []byte) (float64, error) {
	found := of.FindSubmatch(text)
	if found == nil {
		return 0, fmt.Errorf("wrk does not say %s: %s", of, text)
	}
	return strconv.ParseFloat(string(found[1]), 64)
}

// processorTime is what this process has used so far.
func processorTime() time.Duration {
	var used syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &used) != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
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
