package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/florete/flor/envelope/schema"
)

// crowd is where floods of a vertex come from.
type crowd struct {
	dir     string
	vertex  string // program of the vertex through which the floods come
	target  string // UDP port of the vertex that they are to reach
	service string // where a flood serves what the crowd asks for
}

func quietRows(flood string) []string {
	return []string{"quiet beside " + flood, "  median alone, µs", "  median beside it, µs", "  times alone"}
}

// besideFlood gives how much a flood achieved, and the median round trip of a
// quiet initiator, in microseconds, alone and beside it.
func besideFlood(kind string) measurement {
	return func(ctx context.Context, l load) ([]float64, error) {
		if l.crowd == nil {
			return slices.Repeat(unknown, len(quietRows(""))), nil
		}
		alone, err := l.calm(ctx)
		if err != nil {
			return nil, err
		}
		stop, err := l.crowd.start(ctx, kind)
		if err != nil {
			return nil, fmt.Errorf("a flood of %s: %w", kind, err)
		}
		wait(ctx, l.settle())
		beside, err := l.calm(ctx)
		rate, stopErr := stop()
		return []float64{rate, alone, beside, beside / alone}, errors.Join(err, stopErr)
	}
}

// calmly is how often a quiet initiator makes a round trip.
const calmly = time.Millisecond

// calm gives the median of round trips that are made one each millisecond.
func (l load) calm(ctx context.Context) (float64, error) {
	callers, err := l.callers(1)
	if err != nil {
		return 0, err
	}
	r := callers[0]
	defer r.conn.Close()
	for begun, over := time.Now(), false; !over; over = time.Since(begun) >= l.span || ctx.Err() != nil {
		next := time.Now().Add(calmly)
		if err := r.once(); err != nil {
			return 0, err
		}
		wait(ctx, time.Until(next))
	}
	values, err := summary(callers, l.span)
	if err != nil {
		return 0, err
	}
	return values[1], nil
}

// start starts a flood and what it needs, and returns once it is under way;
// stop ends it and tells how much it achieved a second.
func (c *crowd) start(ctx context.Context, kind string) (stop func() (float64, error), err error) {
	if kind == floodHandshakes {
		return c.startFlood(ctx, kind, c.target)
	}
	entry, err := freePort()
	if err != nil {
		return nil, err
	}
	vertex, err := node{program: c.vertex, payload: c.payload(entry), background: true}.start(ctx, c.dir)
	if err != nil {
		return nil, err
	}
	end, err := c.startFlood(ctx, kind, entry)
	if err != nil {
		stopAll(vertex)
		return nil, err
	}
	return func() (float64, error) {
		defer stopAll(vertex)
		return end()
	}, nil
}

func (c *crowd) startFlood(ctx context.Context, kind, through string) (stop func() (float64, error), err error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := background(ctx, program, "-flood", kind, "-flood-service", c.service, "-flood-through", through)
	cmd.Stderr = os.Stderr
	in, errIn := cmd.StdinPipe()
	out, errOut := cmd.StdoutPipe()
	if err := errors.Join(errIn, errOut); err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(out)
	if !lines.Scan() || lines.Text() != underWay {
		_ = in.Close()
		return nil, errors.Join(errors.New("it did not get under way"), cmd.Wait())
	}
	return func() (float64, error) {
		_ = in.Close()
		lines.Scan()
		rate, err := strconv.ParseFloat(strings.TrimSpace(lines.Text()), 64)
		return rate, errors.Join(err, cmd.Wait())
	}, nil
}

// background runs a program at the lowest priority, so that what it takes of
// the machine is not taken for what it does to a vertex.
func background(ctx context.Context, program string, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, "nice", append([]string{"-n", "19", program}, args...)...)
}

func crowdRule() schema.Rule {
	return schema.Rule{Target: crowdService.String(), Allow: []string{crowdClient.String()}}
}

// payload is the crowd's vertex, which dials from any port.
func (c *crowd) payload(entry string) *schema.Vertex {
	v := payload("", crowdClient, schema.IO{Kind: "socks5", Listen: entry})
	v.Egress = []schema.Rule{crowdRule()}
	v.Links = link("crowd", crowdService, c.target)
	return v
}
