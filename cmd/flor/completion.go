package main

import (
	"path"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/florete/flor/cmd/internal/completion"
	"github.com/florete/flor/envelope/schema"
)

// offerCompletion makes the command tree complete commands, flags and, from what
// is enrolled here, names.
func (c *console) offerCompletion(root *cli.Command) *cli.Command {
	completion.Offer(root, completion.Words{
		Values: map[string]completion.Names{
			"rete": func(*cli.Command) []string { return c.scopes() },
			"as":   c.callersFor,
		},
		Arguments: map[string]completion.Names{
			"ping":          func(cmd *cli.Command) []string { return c.choices(cmd).targets },
			"agent restart": func(cmd *cli.Command) []string { return c.choices(cmd).workloads },
		},
	}, func(cmd *cli.Command) { misused.Settle(cmd) })
	return root
}

// callersFor are what --as of a ping may name; with an enrolment it is a name
// that its user is about to make up.
func (c *console) callersFor(cmd *cli.Command) []string {
	if cmd.Name != "ping" {
		return nil
	}
	return c.choices(cmd).callers
}

func (c *console) scopes() []string {
	layout, err := c.layout()
	if err != nil {
		return nil
	}
	scopes, err := layout.Scopes()
	if err != nil {
		return nil
	}
	return scopes
}

// choices are the names that a scope's active set holds.
type choices struct{ workloads, targets, callers []string }

// choices reads the active set of the scope that is meant; where it cannot be
// read there is nothing to choose.
func (c *console) choices(cmd *cli.Command) choices {
	layout, scope, err := c.scope(cmd)
	if err != nil {
		return choices{}
	}
	set, err := readActive(layout, scope)
	if err != nil {
		return choices{}
	}
	return choicesOf(set)
}

// choicesOf names callers by the last part of their IDs, which is enough on a
// node (CMP-5).
func choicesOf(set activeSet) choices {
	found := choices{workloads: set.workloads}
	for _, list := range set.vertex.Links {
		for _, link := range list.Members {
			found.targets = append(found.targets, serviceName(link.Peer))
		}
	}
	for _, w := range set.vertex.Workloads {
		for _, io := range w.IO {
			switch io.Kind {
			case schema.TCP:
				found.targets = append(found.targets, serviceName(w.SPIFFEID))
			case schema.SOCKS5:
				found.callers = append(found.callers, path.Base(w.SPIFFEID))
			}
		}
	}
	slices.Sort(found.targets)
	found.targets = slices.Compact(found.targets)
	return found
}

// serviceName is how a person names a service: name, or node/name.
func serviceName(id string) string {
	_, name, _ := strings.Cut(id, "/service/")
	return name
}
