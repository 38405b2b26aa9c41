package main

import (
	"context"
	"errors"
	"time"

	"github.com/spiffe/go-spiffe/v2/spiffeid"

	"github.com/florete/flor/compiler"
	"github.com/florete/flor/supervise/control"
)

// localAgent is the agent of one rete on this machine.
type localAgent struct {
	client *control.Client
	status control.StatusDoc
}

// agentOf finds the agent of a rete among those of this machine.
func (c *console) agentOf(ctx context.Context, td spiffeid.TrustDomain) (*localAgent, error) {
	sockets, err := c.agentSockets()
	if err != nil {
		return nil, err
	}
	for _, socket := range sockets {
		agent := &localAgent{client: control.NewClient(socket)}
		agent.status, err = agent.client.Status(ctx)
		if absent := new(control.NotRunning); errors.As(err, &absent) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if agent.status.TrustDomain == td.Name() {
			return agent, nil
		}
	}
	return nil, refuse(reasonNoAgent, "no agent of %s runs on this machine; start it, or publish without --wait", td.Name())
}

// follow waits until the agent of this machine runs what was published for its
// node, and says what it says meanwhile (CLI-4).
func (c *console) follow(ctx context.Context, td spiffeid.TrustDomain, nodes map[string]compiler.PublishedNode, patience time.Duration) error {
	agent, err := c.agentOf(ctx, td)
	if err != nil {
		return err
	}
	published, here := nodes[agent.status.Node]
	if !here {
		return refuse(reasonNotTaken, "the agent here is that of node %s, which is not in the published tree", agent.status.Node)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	started := time.Now()
	w := &wait{node: agent.status.Node, version: published.Version}
	c.say("waiting for the agent of %s, which has version %d, to take version %d", w.node, agent.status.Set.Active, w.version)
	for status, err := range agent.client.Watch(ctx) {
		if err != nil {
			return err
		}
		if done, err := w.judge(status); done || err != nil {
			if err == nil {
				c.say("the agent of %s runs version %d after %v", w.node, status.Set.Active, time.Since(started).Round(time.Millisecond))
			}
			return err
		}
	}
	return w.gaveUp(ctx, patience)
}

// wait is what is waited for, and what was heard last.
type wait struct {
	node    string
	version uint64
	last    string
}

// judge says whether the agent has the set, or has turned it down.
func (w *wait) judge(status control.StatusDoc) (done bool, err error) {
	if status.Set.Active >= w.version && status.Set.Pending == 0 {
		return true, nil
	}
	sync := status.LastSync
	if sync == nil || sync.Offered < w.version || sync.DryRun {
		return false, nil
	}
	if sync.Result == control.Refused {
		return false, refuse(reasonNotTaken, "the agent of %s refuses version %d: %s %s: %s", w.node, sync.Offered, sync.Code, sync.Reason, sync.Message)
	}
	if sync.Result == control.Failed {
		w.last = sync.Message
	}
	return false, nil
}

// gaveUp tells why waiting ended without the set.
func (w *wait) gaveUp(ctx context.Context, patience time.Duration) error {
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return ctx.Err()
	}
	last := "it said nothing of it"
	if w.last != "" {
		last = "it said last: " + w.last
	}
	return refuse(reasonNotTaken, "the agent of %s does not run version %d after %v; %s. It is published all the same: see flor agent status", w.node, w.version, patience, last)
}
