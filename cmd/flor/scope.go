package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/florete/flor/store"
	"github.com/florete/flor/supervise/control"
)

const agentSocket = "agent.sock"

func reteFlag() cli.Flag {
	return &cli.StringFlag{Name: "rete", Usage: "the `SCOPE`; may be left out where one is enrolled"}
}

func jsonFlag() cli.Flag {
	return &cli.BoolFlag{Name: "json", Usage: "print the document as JSON"}
}

// layout finds the directories of the install that this program belongs to.
func (c *console) layout() (store.Layout, error) {
	host, _, err := c.host()
	if err != nil {
		return store.Layout{}, err
	}
	return store.Resolve(host)
}

// scope is the layout, and the enrolled scope that --rete names or that is the
// only one.
func (c *console) scope(cmd *cli.Command) (store.Layout, string, error) {
	layout, err := c.layout()
	if err != nil {
		return layout, "", err
	}
	scope, err := layout.ChooseScope(cmd.String("rete"))
	if err != nil {
		return layout, "", err
	}
	return layout, scope, enrolled(layout, scope)
}

// enrolled refuses a scope that does not exist, with those that do.
func enrolled(layout store.Layout, scope string) error {
	scopes, err := layout.Scopes()
	if err != nil || slices.Contains(scopes, scope) {
		return err
	}
	what := fmt.Errorf("there is no such scope below %s: run flor enroll <bundle>", layout.RetesDir())
	if len(scopes) > 0 {
		what = fmt.Errorf("there is no such scope below %s: name one of %s with --rete", layout.RetesDir(), strings.Join(scopes, ", "))
	}
	return &store.Refusal{Reason: store.NotEnrolled, Scope: scope, Err: what}
}

// client is a client of the agent of the scope that is meant.
func (c *console) client(cmd *cli.Command) (served, error) {
	layout, scope, err := c.scope(cmd)
	if err != nil {
		return served{}, err
	}
	return clientOf(layout, scope)
}

func clientOf(layout store.Layout, scope string) (served, error) {
	root, err := layout.RuntimeRoot(scope)
	if err != nil {
		return served{}, err
	}
	socket, err := store.SocketPath(root, agentSocket)
	if err != nil {
		return served{}, err
	}
	return served{control.NewClient(socket), layout, scope}, nil
}
