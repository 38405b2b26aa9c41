package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/florete/flor/supervise/agent"
	"github.com/florete/flor/supervise/control"
)

func syncCommand(c *console) *cli.Command {
	return &cli.Command{
		Name:  "sync",
		Usage: "have the agent fetch, verify and apply the newest set",
		Flags: []cli.Flag{
			reteFlag(), jsonFlag(),
			&cli.BoolFlag{Name: "dry-run", Usage: "fetch, verify and check only, and tell what would be done"},
			&cli.StringFlag{Name: "from", Usage: "offer the set document in `FILE` instead of fetching; - is standard input"},
		},
		Action: c.sync,
	}
}

func (c *console) sync(ctx context.Context, cmd *cli.Command) error {
	if err := misused.NoArguments(cmd); err != nil {
		return err
	}
	if cmd.IsSet("from") && cmd.String("from") == "" {
		return refuse(wrongUsage, "--from names no file; leave it out to have the newest set fetched")
	}
	client, err := c.client(cmd)
	if err != nil {
		return err
	}
	// A sync takes its time; whether anybody is there to do it shows at once.
	if _, err := client.status(ctx); err != nil {
		return err
	}
	doc, shut, err := c.document(cmd.String("from"))
	if err != nil {
		return err
	}
	result, err := client.Sync(ctx, cmd.Bool("dry-run"), doc)
	if err := errors.Join(client.explain(ctx, err), shut()); err != nil {
		return err
	}
	if cmd.Bool("json") {
		if err := c.tellJSON(result); err != nil {
			return err
		}
		return syncEnd(result, nil)
	}
	return c.tellSync(result)
}

// document opens a set document, and refuses one over the limit before the
// agent is sent all of it. No name is no document.
func (c *console) document(from string) (io.Reader, func() error, error) {
	nothing := func() error { return nil }
	switch from {
	case "":
		return nil, nothing, nil
	case "-":
		return c.in, nothing, nil
	}
	file, err := os.Open(from)
	if err != nil {
		return nil, nil, err
	}
	info, err := file.Stat()
	if err == nil && info.Size() > control.MaxSetBody {
		err = refuse(setTooLarge, "%s has %d bytes, a set document at most %d", from, info.Size(), control.MaxSetBody)
	}
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	return file, file.Close, nil
}

// tellSync prints a result for a person: what was done to standard output, what
// was not to standard error.
func (c *console) tellSync(r control.SyncResult) error {
	switch r.Result {
	case control.Applied, control.Unchanged:
		c.tell("%s", describe(r))
		return nil
	}
	return syncEnd(r, fmt.Errorf("sync %s: %s (v%d stays active)", r.Result, r.Message, activeAfter(r)))
}

// describe says in one line what a sync did, or a dry run would do.
func describe(r control.SyncResult) string {
	verb := "applied"
	switch {
	case r.Result == control.Unchanged:
		return fmt.Sprintf("unchanged: v%d is the newest set", r.Held)
	case r.DryRun:
		verb = "would apply"
	}
	var done []string
	for _, change := range r.Workloads {
		done = append(done, change.Action+" "+change.Name)
	}
	if len(done) == 0 {
		done = append(done, "no workload is touched")
	}
	return fmt.Sprintf("%s v%d over v%d in %d ms: %s", verb, r.Offered, r.Held, r.DurationMS, strings.Join(done, ", "))
}

// activeAfter is the set that is active after a sync that did not end well: one
// that came as far as its activation stays.
func activeAfter(r control.SyncResult) uint64 {
	switch agent.Reason(r.Reason) {
	case agent.NotConfirmed, agent.NotActivated:
		return r.Offered
	case agent.Stopping:
		return max(r.Held, r.Offered)
	}
	return r.Held
}

// syncEnd is the exit code of a result, with what is left to say.
func syncEnd(r control.SyncResult, err error) error {
	switch r.Result {
	case control.Applied, control.Unchanged:
		return nil
	case control.Refused:
		return &ended{exitNo, err}
	}
	return &ended{exitCould, err}
}
