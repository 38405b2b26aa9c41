package main

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/florete/flor/compiler"
	"github.com/florete/flor/envelope/schema"
	"github.com/florete/flor/relay/client"
)

// defaultPatience is how long --wait waits for the local agent.
const defaultPatience = 2 * time.Minute

func publishCommand(c *console) *cli.Command {
	return &cli.Command{
		Name:  "publish",
		Usage: "take the compiled tree to the coordinator",
		Description: "Goes through the SOCKS5 inbound that the local agent has for the operator. " +
			"The first publish happens on the management node itself, with --direct.",
		Flags: append(sourceFlags(),
			&cli.StringFlag{Name: "as", Usage: "publish as the operator `USER`, where several have an inbound here"},
			&cli.StringFlag{Name: "socks5", Usage: "go through the SOCKS5 proxy `HOST:PORT` instead of asking the local agent"},
			&cli.StringFlag{Name: "direct", Usage: "go straight to the publish listener at `URL`, such as http://127.0.0.1:9001"},
			&cli.BoolFlag{Name: "wait", Usage: "follow until the agent of this machine runs what was published"},
			&cli.DurationFlag{Name: "patience", Value: defaultPatience, Usage: "how long --wait waits"},
		),
		Action: c.publish,
	}
}

func (c *console) publish(ctx context.Context, cmd *cli.Command) error {
	if err := misused.NoArguments(cmd); err != nil {
		return err
	}
	if patience := cmd.Duration("patience"); patience <= 0 {
		return usage("--patience %v is no time to wait; say 30s, or leave --wait away", patience)
	}
	from, err := source(cmd)
	if err != nil {
		return err
	}
	loaded, err := compiler.Load(from)
	if err != nil {
		return err
	}
	way, err := c.wayToPublisher(ctx, cmd, loaded.View)
	if err != nil {
		return err
	}
	c.noteGone(ctx, from.Dir)
	c.noteStale(ctx, from)
	nodes, err := c.deliver(ctx, from.Dir, way)
	if err != nil {
		return err
	}
	c.noteBundles(from.Dir, loaded.View, from.Now)
	if cmd.Bool("wait") {
		return c.follow(ctx, loaded.View.TrustDomain, nodes, cmd.Duration("patience"))
	}
	return nil
}

// deliver publishes the compiled tree, and records what the coordinator said to
// it. It holds the repository only that long.
func (c *console) deliver(ctx context.Context, dir string, way way) (nodes map[string]compiler.PublishedNode, err error) {
	relay, err := client.New(client.Options{BaseURL: way.url, SOCKS5: way.socks5})
	if err != nil {
		return nil, &usageError{err} // it refuses what --direct and --socks5 say, and dials nothing
	}
	defer relay.Close()
	doc, err := compiler.OpenDocument(dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, doc.Close()) }()
	c.say("publishing %s, %d bytes, to %s", count(len(doc.Nodes), "node"), doc.Size, way)
	result, err := c.send(ctx, relay, doc)
	if conflict := new(client.VersionConflict); errors.As(err, &conflict) {
		return nil, c.learn(doc, conflict)
	}
	if err != nil {
		return nil, advise(err, way)
	}
	if err := doc.Published(); err != nil {
		return nil, err
	}
	c.showPublished(result)
	return doc.Nodes, nil
}

func (c *console) send(ctx context.Context, relay *client.Client, doc *compiler.Document) (client.Result, error) {
	progress := c.progress(doc, doc.Size)
	defer progress.clear()
	return relay.Publish(ctx, progress, doc.Size)
}

// noteStale warns when what is published is not what the YAML says.
func (c *console) noteStale(ctx context.Context, from compiler.SourceOptions) {
	result, err := compiler.Compile(ctx, compiler.CompileOptions{SourceOptions: from, Check: true, MoveCoordinator: true})
	if err == nil && len(result.Changes) > 0 {
		c.say("warning: the YAML has changes for %s that are not compiled, and so not published", count(len(result.Changes), "node"))
	}
}

// showPublished prints the nodes that got something new, a line each.
func (c *console) showPublished(result client.Result) {
	for _, node := range result.Changed {
		c.tell("%s", node)
	}
	if len(result.Changed) == 0 {
		c.say("%s: the coordinator has this tree already (%s)", result.Result, count(result.Nodes, "node"))
		return
	}
	c.say("%s: %d of %s changed", result.Result, len(result.Changed), count(result.Nodes, "node"))
	c.say("next: commit .flor together with the YAML, so that others know what is published")
}

// learn takes what a coordinator has stored into the ledger, and says what to
// do next (CMP-15, CLI-4).
func (c *console) learn(doc *compiler.Document, conflict *client.VersionConflict) error {
	var conflicts []compiler.Conflict
	for _, n := range conflict.Nodes {
		conflicts = append(conflicts, compiler.Conflict{Node: n.Node, Stored: n.Stored, Offered: n.Offered})
		c.tell("%s\tstored %d\toffered %d", n.Node, n.Stored, n.Offered)
	}
	unbelieved, err := doc.Learn(conflicts)
	if err != nil {
		return err
	}
	if len(unbelieved) == 0 {
		return refuse(reasonConflict, "the coordinator holds other sets of %s; the ledger has learnt their versions: commit it, get everybody's YAML (git pull), then compile and publish again", count(len(conflicts), "node"))
	}
	names, highest := summary(unbelieved)
	return refuse(reasonConflict, "the coordinator's versions of %s are too far from ours to be believed; if it is our ledger that was lost, compile with --floor %d; if it is the coordinator that is wrong, run \"flor-coordinator reset\" on its machine", names, highest)
}

// summary names the nodes of conflicts, and the highest version stored.
func summary(conflicts []compiler.Conflict) (names string, highest uint64) {
	var list []string
	for _, c := range conflicts {
		list = append(list, c.Node)
		highest = max(highest, c.Stored)
	}
	return strings.Join(list, ", "), highest
}

// way is how the publish listener is reached.
type way struct{ url, socks5 string }

func (w way) String() string {
	if w.socks5 == "" {
		return w.url
	}
	return w.url + " through " + w.socks5
}

func (c *console) wayToPublisher(ctx context.Context, cmd *cli.Command, v *compiler.View) (way, error) {
	direct, socks5 := cmd.String("direct"), cmd.String("socks5")
	if direct != "" && socks5 != "" {
		return way{}, usage("--direct and --socks5 exclude each other")
	}
	if direct != "" {
		return way{url: direct}, nil
	}
	host, err := schema.Hostname(v.Publisher.ID)
	if err != nil {
		return way{}, err
	}
	if socks5 == "" {
		socks5, err = c.operatorInbound(ctx, v, cmd.String("as"))
	}
	return way{url: "http://" + host, socks5: socks5}, err
}
