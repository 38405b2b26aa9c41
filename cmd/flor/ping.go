package main

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/florete/flor/store"
)

func pingCommand(c *console) *cli.Command {
	return &cli.Command{
		Name:      "ping",
		Usage:     "connect to a service once, and tell step by step how far that came",
		ArgsUsage: "<service>",
		Description: "A service is named as a program would (api.demo.rete), by its name (api, or alpha/ssh for one of a node), or by its SPIFFE ID.\n" +
			"The service sees a connection that is opened and closed.",
		Flags: []cli.Flag{
			reteFlag(), jsonFlag(),
			&cli.StringFlag{Name: "as", Usage: "call as `PRINCIPAL`, a name or SPIFFE ID; may be left out where one may call"},
		},
		Action: c.ping,
	}
}

// The steps of a ping, in order.
const (
	stepName      = "name"
	stepCaller    = "caller"
	stepAgent     = "agent"
	stepLink      = "link"
	stepHandshake = "handshake"
	stepGate      = "gate"
	stepUpstream  = "upstream"
)

var pingSteps = []string{stepName, stepCaller, stepAgent, stepLink, stepHandshake, stepGate, stepUpstream}

// verdict is how a step went. Refused is never failed.
type verdict string

const (
	well      verdict = "ok"
	refused   verdict = "refused" // understood and turned down
	failed    verdict = "failed"  // tried, and it broke
	unknown   verdict = "unknown" // cannot be told from here
	unreached verdict = "not reached"
)

// step is what was found at one step, and what a person can do about it.
type step struct {
	Step    string  `json:"step"`
	Verdict verdict `json:"verdict"`
	Code    string  `json:"code,omitempty"`
	Found   string  `json:"found,omitempty"`
	Do      string  `json:"do,omitempty"`
}

// pingReport is what "flor ping --json" prints.
type pingReport struct {
	Scope    string  `json:"scope"`
	Node     string  `json:"node,omitempty"`
	Set      uint64  `json:"set,omitempty"`
	Target   string  `json:"target,omitempty"`
	Hostname string  `json:"hostname,omitempty"`
	Caller   string  `json:"caller,omitempty"`
	Inbound  string  `json:"inbound,omitempty"`
	Result   verdict `json:"result"`
	TookMS   int64   `json:"took_ms"`
	Steps    []step  `json:"steps"`
}

// found adds a step that went well.
func (r *pingReport) found(name, what string) {
	r.Steps = append(r.Steps, step{Step: name, Verdict: well, Found: what})
}

// stop adds the step at which it ended.
func (r *pingReport) stop(s step) { r.Steps = append(r.Steps, s) }

// finish adds the steps that were not reached, and sums up: any step that was
// refused makes it refused, else any that failed or is not known.
func (r *pingReport) finish(took time.Duration) {
	r.TookMS, r.Result = took.Milliseconds(), well
	for _, s := range r.Steps {
		if r.Result == well || s.Verdict == refused {
			r.Result = s.Verdict
		}
	}
	for _, name := range pingSteps[min(len(r.Steps), len(pingSteps)):] {
		r.Steps = append(r.Steps, step{Step: name, Verdict: unreached})
	}
}

// ping answers "why does it not work": it finds out on this machine what can be
// found out, makes one connection as a program would, and says of each step what
// was found, what to do, or that it cannot be told from here.
func (c *console) ping(ctx context.Context, cmd *cli.Command) error {
	service, err := misused.OneArgument(cmd, "the service")
	if err != nil {
		return err
	}
	layout, scope, err := c.scope(cmd)
	if err != nil {
		return err
	}
	client, err := clientOf(layout, scope)
	if err != nil {
		return err
	}
	report := &pingReport{Scope: scope}
	began := time.Now()
	if err := c.trace(ctx, report, client, service, cmd.String("as")); err != nil {
		return err
	}
	report.finish(time.Since(began))
	return c.tellPing(report, cmd.Bool("json"))
}

// trace goes from step to step as far as it comes.
func (c *console) trace(ctx context.Context, r *pingReport, client served, service, as string) error {
	set, err := readActive(client.layout, client.scope)
	if err != nil {
		r.stop(step{stepName, unknown, "", "the active set cannot be read from this account: " + err.Error(),
			"ask again as the account that runs the agent, or as root"})
		return nil
	}
	r.Node, r.Set = set.node, set.version
	target, err := set.target(service)
	if err != nil {
		return refuse(wrongUsage, "%q names no service of this rete: %w", service, err)
	}
	route, ended := set.resolve(r, target)
	if ended {
		return nil
	}
	caller, ended, err := route.caller(r, as)
	if err != nil || ended {
		return err
	}
	if c.findAgent(ctx, r, client, set, caller) {
		return nil
	}
	r.attempt(ctx, client, route, caller)
	return nil
}

// tellPing prints the report, and gives its exit code.
func (c *console) tellPing(r *pingReport, asJSON bool) error {
	if asJSON {
		if err := c.tellJSON(r); err != nil {
			return err
		}
		return pingEnd(r.Result)
	}
	for _, s := range r.Steps {
		words := strings.TrimSpace(s.Code + " " + strings.TrimPrefix(s.Found, s.Code+" "))
		c.tell("%s", strings.TrimRight(strings.Join([]string{pad(string(s.Verdict)), pad(s.Step), words}, " "), " "))
		if s.Do != "" {
			c.tell("%s %s -> %s", pad(""), pad(""), s.Do)
		}
	}
	return pingEnd(r.Result)
}

func pad(word string) string { return word + strings.Repeat(" ", max(0, len(unreached)-len(word))) }

// pingEnd tells what was turned down from what broke or cannot be told.
func pingEnd(v verdict) error {
	switch v {
	case well:
		return nil
	case refused:
		return &ended{code: exitNo}
	}
	return &ended{code: exitCould}
}

// findAgent asks whether there is anybody who could carry the connection.
func (c *console) findAgent(ctx context.Context, r *pingReport, client served, set activeSet, caller string) (ended bool) {
	doc, err := client.status(ctx)
	if err != nil {
		r.stop(step{stepAgent, failed, codeOf(err), err.Error(), c.howToStart(ctx, client.layout, client.scope)})
		return true
	}
	for _, w := range doc.Workloads {
		if w.Name != set.vertexName {
			continue
		}
		if w.PID == 0 {
			r.stop(step{stepAgent, failed, "", "the agent runs; its vertex does not: " + strings.TrimSuffix(w.State+", "+w.Reason, ", "),
				"flor agent status tells more; flor agent restart " + w.Name + " tries it at once"})
			return true
		}
		if w.Ready != nil && slices.Contains(w.Ready.Waiting, r.Inbound) {
			r.stop(step{stepAgent, failed, "", "agent and vertex run; the vertex waits for " + r.Inbound + ", where " + caller + " connects: another program has the address",
				"flor agent status names it: end it, or publish another address"})
			return true
		}
		if w.Set != set.version {
			r.Set = w.Set
		}
	}
	r.found(stepAgent, "agent and vertex run; "+caller+" connects at "+r.Inbound)
	return false
}

// howToStart names the command that has the agent run.
func (c *console) howToStart(ctx context.Context, layout store.Layout, scope string) string {
	here, err := c.own(ctx)
	if err == nil && here.managed() {
		return "flor agent enable --rete " + scope
	}
	return c.byHand(layout, scope)
}

// codeOf is the stable code of an error, empty where it has none.
func codeOf(err error) string {
	coded, ok := errors.AsType[interface {
		error
		Code() string
	}](err)
	if !ok {
		return ""
	}
	return coded.Code()
}
