package main

import (
	"context"
	"time"

	"github.com/florete/flor/supervise/control"
)

// contactWithin is how long enroll waits for the agent's first contact with a
// coordinator (BND-2).
const contactWithin = 60 * time.Second

// awaitContact follows an agent until a coordinator has answered it, whatever
// the answer: the management node's own has nothing yet. Not in time is no
// failure.
func (c *console) awaitContact(ctx context.Context, client *control.Client) error {
	ctx, cancel := context.WithTimeout(ctx, contactWithin)
	defer cancel()
	c.say("waiting for the agent's first contact with a coordinator")
	progress := ""
	for doc, err := range client.Watch(ctx) {
		if err != nil {
			return err
		}
		if !doc.LastContact.IsZero() {
			c.say("in contact; set v%d is active", doc.Set.Active)
			return nil
		}
		if now := progressOf(doc); now != progress {
			progress = now
			c.say("  %s", progress)
		}
	}
	c.say("not yet synced; flor agent status tells more")
	return nil
}

func progressOf(doc control.StatusDoc) string {
	if len(doc.Health) > 0 {
		return doc.Health[0]
	}
	for _, w := range doc.Workloads {
		if w.State != "up" {
			return w.Name + ": " + w.State
		}
	}
	return "workloads are up"
}
