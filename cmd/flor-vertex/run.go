package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/spiffe/go-spiffe/v2/spiffeid"

	"github.com/florete/flor/envelope"
	"github.com/florete/flor/envelope/schema"
	"github.com/florete/flor/store/identity"
	"github.com/florete/flor/supervise/program"
	"github.com/florete/flor/supervise/program/metrics"
	"github.com/florete/flor/vertex"
)

// apart are the attributes by which repeated warnings of one place are told
// apart (OBS-4): their values are those of the artifact, or reasons.
var apart = []string{"peer", "address", "reason", "principal", "listen", "initiator", "target"}

// run is the vertex from its artifact to the end of its drain.
func run(ctx context.Context, c *program.Context) error {
	ids, err := openIdentities(c)
	if err != nil {
		return err
	}
	payload, err := readPayload(c)
	if err != nil {
		return err
	}
	c.Log = slog.New(program.Limit(c.Log.Handler(), program.LimitOptions{Keys: apart}))
	counters := metrics.New()
	v, err := vertex.New(payload, ids, vertex.Options{Log: c.Log, Registerer: counters.Registerer()})
	if err != nil {
		return rejectPayload(err)
	}
	offerControl(c, v, counters)
	return serve(ctx, v, c, counters)
}

// openIdentities opens the store that enrolment wrote. A broken one needs an
// enrolment and not another try.
func openIdentities(c *program.Context) (*identity.Store, error) {
	if c.ScopeRoot == "" {
		return nil, program.Reject(errors.New("FLORWL_SCOPE_ROOT is not set: let the agent run this program, or name a scope with --rete"))
	}
	ids, err := identity.Open(filepath.Join(c.ScopeRoot, "identity"))
	return ids, program.Reject(err)
}

func readPayload(c *program.Context) (*schema.Vertex, error) {
	a, err := c.Artifact()
	if err != nil {
		return nil, err
	}
	payload, err := schema.ParseVertex(a.Payload())
	return payload, program.Reject(err)
}

// rejectPayload marks what no second try can change.
func rejectPayload(err error) error {
	if _, unservable := errors.AsType[*vertex.PayloadError](err); unservable {
		return program.Reject(err)
	}
	return err
}

// offerControl answers for the program on its control channel (SUP-11).
func offerControl(c *program.Context, v *vertex.Vertex, counters *metrics.Counters) {
	c.ServeMetrics(counters.Handler())
	c.OnReady(func() program.Readiness {
		r := v.Ready()
		return program.Readiness{Ready: r.Ready, Listening: r.Listening, Waiting: r.Waiting}
	})
	c.OnApply(func(_ context.Context, next envelope.Artifact, dryRun bool) (bool, error) {
		return apply(v, next, dryRun)
	})
	c.OnDrain(func(ctx context.Context) error {
		v.Drain(ctx)
		return nil
	})
}

// apply takes a new artifact over, or says that it takes a restart (VTX-16).
func apply(v *vertex.Vertex, next envelope.Artifact, dryRun bool) (swapped bool, err error) {
	payload, err := schema.ParseVertex(next.Payload())
	if err != nil {
		return false, err
	}
	take := v.Apply
	if dryRun {
		take = v.CanApply
	}
	err = take(payload)
	if errors.Is(err, vertex.ErrRestart) {
		return false, nil
	}
	return err == nil, err
}

// serve runs the vertex until ctx ends and it has drained, and beside it what
// reports counters and what waits for SIGHUP.
func serve(ctx context.Context, v *vertex.Vertex, c *program.Context, counters *metrics.Counters) error {
	var beside sync.WaitGroup
	defer beside.Wait()
	besideCtx, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	beside.Go(func() { counters.Report(besideCtx, c.Log) })
	beside.Go(func() { reloadOnHangup(besideCtx, v, c) })
	beside.Go(func() { adaptProcessors(besideCtx, v.Handshakes) })
	return v.Run(ctx)
}

func reloadOnHangup(ctx context.Context, v *vertex.Vertex, c *program.Context) {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	for {
		select {
		case <-ctx.Done():
			return
		case <-hangups:
			if err := v.Reload(); err != nil {
				c.Log.Warn("identities unreadable", "error", err)
				continue
			}
			c.Log.Info("identities read again")
		}
	}
}

// check judges an artifact without serving it (VTX-16). Where a scope is
// known, its trust domain is part of the judgement (VTX-13).
func check(c *program.Context, a envelope.Artifact) error {
	payload, err := schema.ParseVertex(a.Payload())
	if err != nil {
		return err
	}
	domain, err := trustDomain(c, payload)
	if err != nil {
		return err
	}
	return vertex.Check(payload, domain)
}

func trustDomain(c *program.Context, payload *schema.Vertex) (spiffeid.TrustDomain, error) {
	if c.ScopeRoot != "" {
		ids, err := openIdentities(c)
		if err != nil {
			return spiffeid.TrustDomain{}, err
		}
		return ids.TrustDomain(), nil
	}
	if len(payload.Workloads) == 0 {
		return spiffeid.TrustDomain{}, nil
	}
	id, err := spiffeid.FromString(payload.Workloads[0].SPIFFEID)
	return id.TrustDomain(), err
}
