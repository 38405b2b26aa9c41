package main

import (
	"context"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/florete/flor/store"
)

// offerCompletion makes the command tree complete commands, flags and, from what
// is enrolled here, names. The scripts for the shells come from the command line
// library; they ask this program for candidates.
func (c *console) offerCompletion(root *cli.Command) *cli.Command {
	root.EnableShellCompletion = true
	root.ConfigureShellCompletionCommand = func(completion *cli.Command) {
		completion.Hidden = false
		completion.Usage = "print a completion script for bash, zsh, fish or pwsh"
		settle(completion)
	}
	c.completeBelow(root)
	return root
}

func (c *console) completeBelow(cmd *cli.Command) {
	cmd.ShellComplete = c.complete
	for _, sub := range cmd.Commands {
		c.completeBelow(sub)
	}
}

// complete prints the candidates for the word at the cursor, a line each. The
// shell drops those that do not start with what is typed already; where there
// are none it offers files.
func (c *console) complete(ctx context.Context, cmd *cli.Command) {
	before := ""
	if n := cmd.Args().Len(); n > 0 {
		before = cmd.Args().Get(n - 1)
	}
	flag := strings.TrimLeft(before, "-")
	switch {
	case before == "--rete":
		c.offer(c.scopes())
	case before == "--as" && cmd.Name == "ping":
		c.offer(c.routes(cmd).callers)
	case flag != before && wantsValue(cmd, flag):
		// a file, or a word that nobody but the user knows
	case flag != before:
		cli.DefaultCompleteWithFlags(ctx, cmd)
	case cmd.Name == "ping":
		c.offer(c.routes(cmd).targets)
	case cmd.Name == "restart":
		c.offer(c.routes(cmd).workloads)
	default:
		cli.DefaultCompleteWithFlags(ctx, cmd)
	}
}

func (c *console) offer(candidates []string) {
	for _, candidate := range candidates {
		c.tell("%s", candidate)
	}
}

// wantsValue tells whether a flag of the command takes a value.
func wantsValue(cmd *cli.Command, name string) bool {
	return slices.ContainsFunc(cmd.Flags, func(flag cli.Flag) bool {
		_, isSwitch := flag.(*cli.BoolFlag)
		return !isSwitch && slices.Contains(flag.Names(), name)
	})
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

// routes reads the active set of the scope that is meant; where it cannot be
// read there is nothing to choose.
func (c *console) routes(cmd *cli.Command) choices {
	layout, scope, err := c.scope(cmd)
	if err != nil {
		return choices{}
	}
	return choicesOf(layout, scope)
}

func choicesOf(layout store.Layout, scope string) choices {
	set, err := readActive(layout, scope)
	if err != nil {
		return choices{}
	}
	found := choices{workloads: set.workloads}
	for _, list := range set.vertex.Links {
		for _, link := range list.Members {
			found.targets = append(found.targets, serviceName(link.Peer))
		}
	}
	for _, w := range set.vertex.Workloads {
		for _, io := range w.IO {
			if io.Upstream != "" {
				found.targets = append(found.targets, serviceName(w.SPIFFEID))
			}
			if io.Listen != "" {
				found.callers = append(found.callers, w.SPIFFEID)
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
