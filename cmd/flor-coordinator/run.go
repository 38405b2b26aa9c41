package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/florete/flor/relay"
	"github.com/florete/flor/relay/config"
	"github.com/florete/flor/supervise/program"
	"github.com/florete/flor/supervise/program/metrics"
)

// drainTime is how long answers that are under way may take at a stop; the agent
// kills after 10 s (SUP-4).
const drainTime = 8 * time.Second

// apart are the attributes by which repeated warnings of one place are told
// apart (OBS-4): codes are a bounded set.
var apart = []string{"code"}

// run is the coordinator from its artifact to its last answer.
func run(ctx context.Context, c *program.Context) error {
	c.Log = slog.New(program.Limit(c.Log.Handler(), program.LimitOptions{Keys: apart}))
	cfg, err := readConfig(c)
	if err != nil {
		return err
	}
	storage, err := openState(c.StateDir)
	if err != nil {
		return err
	}
	defer storage.Close()
	counters := metrics.New()
	r, err := relay.New(ctx, storage, relay.Options{Log: c.Log, Registerer: counters.Registerer()})
	if err != nil {
		return rejectNewer(err)
	}
	bound, err := bind(ctx, r, cfg, c)
	if err != nil {
		return err
	}
	offerControl(c, r, cfg, counters)
	return serve(ctx, r, bound, func(ctx context.Context) { counters.Report(ctx, c.Log) })
}

func readConfig(c *program.Context) (*config.Config, error) {
	artifact, err := c.Artifact()
	if err != nil {
		return nil, err
	}
	cfg, err := config.Parse(artifact.Payload())
	return cfg, program.Reject(err)
}

func openState(dir string) (*relay.FileStore, error) {
	if dir == "" {
		return nil, program.Reject(errors.New("FLORWL_STATE_DIR is not set: let the agent run this program, or name a scope with --rete"))
	}
	return relay.OpenFileStore(dir)
}

// rejectNewer marks what no second try can change: a state that a newer program
// has written.
func rejectNewer(err error) error {
	var newer *relay.StateTooNew
	if errors.As(err, &newer) {
		return program.Reject(err)
	}
	return err
}

// offerControl answers for the program on its control channel (SUP-11).
func offerControl(c *program.Context, r *relay.Relay, cfg *config.Config, counters *metrics.Counters) {
	c.ServeMetrics(counters.Handler())
	c.OnDrain(func(context.Context) error {
		r.Drain()
		return nil
	})
	listening := []string{cfg.Listen.Sync, cfg.Listen.Publish}
	c.OnReady(func() program.Readiness {
		return program.Readiness{Ready: true, Listening: listening, Waiting: cures(r)}
	})
}

// cures says what only a publish can mend, so that the agent's status shows it
// (CRD-7).
func cures(r *relay.Relay) []string {
	var waiting []string
	for _, d := range r.Damage() {
		waiting = append(waiting, fmt.Sprintf("a publish: %s was damaged and is set aside as %s", d.Name, d.SetAs))
	}
	return waiting
}

// bound is one server with the socket that it has.
type bound struct {
	server *http.Server
	socket net.Listener
}

// bind takes both ports or none.
func bind(ctx context.Context, r *relay.Relay, cfg *config.Config, c *program.Context) ([]bound, error) {
	sync, err := relay.Listen(ctx, cfg.Listen.Sync)
	if err != nil {
		return nil, fmt.Errorf("sync listener: %w", err)
	}
	publish, err := relay.Listen(ctx, cfg.Listen.Publish)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("publish listener: %w", err), sync.Close())
	}
	return []bound{
		{relay.NewServer(r.SyncHandler(), c.Log), sync},
		{relay.NewServer(r.PublishHandler(), c.Log), publish},
	}, nil
}

// serve answers until ctx ends, a listener breaks or the relay no longer knows
// what is stored; then it drains. alongside runs until then.
func serve(ctx context.Context, r *relay.Relay, listeners []bound, alongside func(context.Context)) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, b := range listeners {
		group.Go(func() error {
			if err := b.server.Serve(b.socket); !errors.Is(err, http.ErrServerClosed) {
				return err
			}
			return nil
		})
	}
	group.Go(func() error {
		alongside(ctx)
		return nil
	})
	group.Go(func() error {
		select {
		case <-ctx.Done():
		case <-r.Failed():
		}
		r.Drain()
		return errors.Join(r.Err(), shutDown(listeners))
	})
	return group.Wait()
}

// shutDown lets answers that are under way end, and cuts what takes too long.
func shutDown(listeners []bound) error {
	ctx, cancel := context.WithTimeout(context.Background(), drainTime)
	defer cancel()
	var group errgroup.Group
	for _, b := range listeners {
		group.Go(func() error {
			if b.server.Shutdown(ctx) == nil {
				return nil
			}
			return b.server.Close()
		})
	}
	return group.Wait()
}
