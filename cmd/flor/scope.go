package main

import (
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
	host, err := store.ThisHost()
	if err != nil {
		return store.Layout{}, err
	}
	host.Getenv = c.getenv
	return store.Resolve(host)
}

// scope is the layout, and the scope that --rete names or that is the only one.
func (c *console) scope(cmd *cli.Command) (store.Layout, string, error) {
	layout, err := c.layout()
	if err != nil {
		return layout, "", err
	}
	scope, err := layout.ChooseScope(cmd.String("rete"))
	return layout, scope, err
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
