package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/florete/flor/compiler"
	"github.com/florete/flor/envelope"
)

func diffCommand(c *console) *cli.Command {
	return &cli.Command{
		Name:  "diff",
		Usage: "say what the YAML would change: access, addresses, ports, restarts",
		Description: "Compares with the compiled tree, or with that of a git revision. " +
			"It exits 0 whatever it finds; for a check, see compile --check.",
		Flags: append(sourceFlags(),
			&cli.StringFlag{Name: "against", Usage: "compare with the tree that was committed in `REV`, such as HEAD~3 or a tag"},
			jsonFlag(),
		),
		Action: c.diff,
	}
}

func (c *console) diff(ctx context.Context, cmd *cli.Command) error {
	if err := misused.NoArguments(cmd); err != nil {
		return err
	}
	now := time.Now()
	dir, v, err := c.openSource(cmd)
	if err != nil {
		return err
	}
	tree, err := treeBefore(ctx, dir, cmd.String("against"))
	if err != nil {
		return err
	}
	diff, err := compiler.Compare(ctx, v, tree)
	if err != nil {
		return err
	}
	defer c.noteBundles(dir, v, now)
	defer c.noteBehind(dir)
	if cmd.Bool("json") {
		return c.writeJSON(diff)
	}
	c.showDiff(diff, tree.Nodes())
	return nil
}

func treeBefore(ctx context.Context, dir, revision string) (*compiler.CompiledTree, error) {
	if revision == "" {
		return compiler.ReadTree(ctx, dir)
	}
	return treeAt(ctx, dir, revision)
}

func (c *console) showDiff(d *compiler.Diff, before int) {
	if before == 0 {
		c.say("note: nothing was compiled before, so that everything is new")
	}
	if d.Empty() {
		c.say("nothing changes: %s as before", count(before, "node"))
		return
	}
	s := sections{c: c}
	s.show("nodes", nodeLines(d))
	s.show("access", accessLines(d))
	s.show("settings", moveLines(d.Moves))
	s.show("on the machines", workloadLines(d.Workloads))
	s.show("coordinator", roadLines(d.Road))
}

// sections writes lines under headings, leaves out what is empty, and puts a
// blank line between.
type sections struct {
	c     *console
	shown bool
}

func (s *sections) show(heading string, lines []string) {
	if len(lines) == 0 {
		return
	}
	if s.shown {
		s.c.tell("")
	}
	s.shown = true
	s.c.tell("%s", heading)
	for _, line := range lines {
		s.c.tell("  %s", line)
	}
}

func nodeLines(d *compiler.Diff) []string {
	var lines []string
	for _, node := range d.Joined {
		lines = append(lines, fmt.Sprintf("+ %s joins", node))
	}
	for _, node := range d.Left {
		lines = append(lines, fmt.Sprintf("- %s leaves, and is told nothing more; retectl ca revoke --node %s takes back its certificates", node, node))
	}
	return lines
}

// accessLines says who may now reach what, and who no longer; principals to
// whom the same happens share a line.
func accessLines(d *compiler.Diff) []string {
	return append(changeLines("+ %s may now reach %s", d.Gained), changeLines("- %s may no longer reach %s", d.Lost)...)
}

// changeLines takes changes that are ordered by principal.
func changeLines(format string, changes []compiler.AccessChange) []string {
	var whos grouped
	for len(changes) > 0 {
		who := changes[0].Principal
		var services []string
		for len(changes) > 0 && changes[0].Principal == who {
			services = append(services, strings.TrimPrefix(compiler.Described(changes[0].Service), "service "))
			changes = changes[1:]
		}
		whos.add(enumerated(services), compiler.Described(who))
	}
	var lines []string
	for _, services := range whos.keys {
		lines = append(lines, fmt.Sprintf(format, enumerated(whos.members[services]), services))
	}
	return lines
}

// grouped gathers names under a key, keys in the order of their first name.
type grouped struct {
	keys    []string
	members map[string][]string
}

func (g *grouped) add(key, name string) {
	if g.members == nil {
		g.members = map[string][]string{}
	}
	if _, known := g.members[key]; !known {
		g.keys = append(g.keys, key)
	}
	g.members[key] = append(g.members[key], name)
}

// maxNamed is how many names a line of text has before it only counts.
const maxNamed = 12

// enumerated lists names, the first of them when they are many.
func enumerated(names []string) string {
	if len(names) <= maxNamed {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNamed], ", "), len(names)-maxNamed)
}

func moveLines(moves []compiler.Move) []string {
	var lines []string
	for _, m := range moves {
		lines = append(lines, moveLine(m))
	}
	return lines
}

func moveLine(m compiler.Move) string {
	subject := m.Subject
	if m.Node != "" && m.Subject != "node "+m.Node {
		subject += " on " + m.Node
	}
	switch {
	case m.From == "":
		return fmt.Sprintf("+ %s: %s %s", subject, m.Setting, m.To)
	case m.To == "":
		return fmt.Sprintf("- %s: %s %s", subject, m.Setting, m.From)
	}
	return fmt.Sprintf("~ %s: %s %s → %s", subject, m.Setting, m.From, m.To)
}

// workloadLines says what happens on the machines; those on which the same
// happens share a line.
func workloadLines(changes []compiler.WorkloadChange) []string {
	words := map[compiler.Action]string{
		compiler.Start:   "starts",
		compiler.Stop:    "stops",
		compiler.Restart: "restarts, and its connections are cut",
		compiler.Swap:    "changes in place: only connections without a right are cut",
	}
	var nodes grouped
	for _, w := range changes {
		what := w.Workload + " " + words[w.Action]
		if w.Workload == envelope.AgentName {
			what = "the agent takes its new settings in place"
		}
		nodes.add(what, w.Node)
	}
	var lines []string
	for _, what := range nodes.keys {
		lines = append(lines, enumerated(nodes.members[what])+": "+what)
	}
	return lines
}

// roadLines warns of nodes that are left behind (CMP-18).
func roadLines(road *compiler.RoadMove) []string {
	if road == nil {
		return nil
	}
	lines := []string{fmt.Sprintf("! it moves from %s to %s; compile wants --move-coordinator", road.From, road.To)}
	if len(road.Stranded) > 0 {
		lines = append(lines, fmt.Sprintf("! stranded, unless they fetch before the old one goes: %s", enumerated(road.Stranded)))
	}
	return lines
}
