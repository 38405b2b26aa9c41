package agent

import (
	"slices"
	"time"

	"github.com/florete/flor/supervise"
	"github.com/florete/flor/supervise/control"
	"github.com/florete/flor/supervise/program"
)

// portrait is all that a status document is made of.
type portrait struct {
	now time.Time
	// clock is the time by which certificates are judged.
	clock      time.Time
	self       control.Agent
	scope      string
	trust      string // trust domain
	facts      facts
	statuses   []supervise.Status
	missing    map[string]error // executables that the lib directory lacks, by workload
	strays     []supervise.Stray
	identity   []control.Certificate
	unreadable []error // what identity lacks
	retained   []uint64
	sinkFault  error
}

// document draws the status document (AGT-9). It is a function of values.
func (p portrait) document() control.StatusDoc {
	f := p.facts
	if f.stopping.IsZero() {
		p.statuses = listed(f.gen, p.statuses, p.self.Since)
	}
	return control.StatusDoc{
		Scope: p.scope, Node: f.gen.node, TrustDomain: p.trust,
		Agent: p.self, Set: f.set(p.retained),
		Workloads: p.workloads(),
		LastSync:  f.last, NextSync: f.next,
		LastContact: f.lastContact, LastChange: f.lastChange, OlderOffers: f.olderOffers,
		Identity: p.identity,
		Health:   health(p.condition()),
	}
}

func (f facts) set(retained []uint64) control.Set {
	return control.Set{
		Active: f.gen.version, Mark: f.state.Mark, Pending: f.state.Pending,
		Retained: retained, Recovered: f.recovered, TrustStateLost: f.trustLost,
	}
}

// listed adds those of the inventory that the supervisor has not been given yet,
// as in the instant after a start: an agent that runs nothing so far must not
// look like one that has nothing to run.
func listed(g *generation, statuses []supervise.Status, since time.Time) []supervise.Status {
	known := map[string]bool{}
	for _, s := range statuses {
		known[s.Name] = true
	}
	var coming []supervise.Status
	for _, name := range inventory(g.agent) {
		if !known[name] {
			coming = append(coming, supervise.Status{Name: name, State: supervise.Starting, Since: since})
		}
	}
	return append(slices.Clip(statuses), coming...)
}

// workloads lists the supervisor's statuses in its order: the inventory's, then
// those that are being stopped for good.
func (p portrait) workloads() []control.Workload {
	list := make([]control.Workload, 0, len(p.statuses))
	for _, s := range p.statuses {
		list = append(list, p.workload(s))
	}
	return list
}

func (p portrait) workload(s supervise.Status) control.Workload {
	w := control.Workload{
		Name: s.Name, State: string(s.State), Since: since(s).UTC(), PID: s.PID,
		Restarts: s.Restarts, NextTry: s.NextTry, Reason: p.reason(s),
	}
	ready, _ := p.facts.said.of(s)
	w.Ready = wireReadiness(ready)
	if s.PID != 0 {
		w.Set, w.Via = versionOf(s.Tag), "spawned"
		if s.Swapped {
			w.Via = "swapped"
		}
	}
	if s.LastExit != nil {
		w.LastExit = &control.Exit{Code: s.LastExit.Code, Signal: s.LastExit.Signal, At: s.LastExit.At.UTC(), Reason: s.LastExit.Reason}
	}
	return w
}

// since is when a person would say that it began: a workload is up since its
// start, not since the supervisor was sure of it.
func since(s supervise.Status) time.Time {
	if s.State == supervise.Up {
		return s.Started
	}
	return s.Since
}

// reason prefers what a person can mend: an executable that is not there.
func (p portrait) reason(s supervise.Status) string {
	if err := p.missing[s.Name]; err != nil && s.State != supervise.Up {
		return err.Error()
	}
	return reasonFor(s)
}

func wireReadiness(r *program.Readiness) *control.Readiness {
	if r == nil {
		return nil
	}
	return &control.Readiness{Ready: r.Ready, Listening: append([]string{}, r.Listening...), Waiting: append([]string{}, r.Waiting...)}
}

// condition is what the health list is made of.
func (p portrait) condition() condition {
	c := condition{
		node: p.facts.gen.node,
		now:  p.now, clock: p.clock, stopping: p.facts.stopping, strays: p.strays, unreadable: p.unreadable, recovered: p.facts.recovered, trustLost: p.facts.trustLost,
		active: p.facts.gen.version, mark: p.facts.state.Mark,
		occupied: p.facts.said.occupied, inbound: p.facts.gen.inbound(),
		late: p.facts.late, unwritten: p.facts.unwritten, untidy: p.facts.untidy, trouble: p.facts.trouble, since: p.facts.troubleSince,
	}
	if f := p.facts.fetched; f != nil && f.Reason == string(InboundBusy) && p.facts.inboundBusy() != nil {
		c.trouble = "" // the workload that waits for the address says it
	}
	if p.sinkFault != nil {
		c.sinkTrouble = p.sinkFault.Error()
	}
	for _, s := range p.statuses {
		c.workloads = append(c.workloads, p.observed(s))
	}
	for _, cert := range p.identity {
		c.certificates = append(c.certificates, certificate{cert.ID, cert.NotBefore, cert.NotAfter})
	}
	return c
}

// observed is a workload as health sees it.
func (p portrait) observed(s supervise.Status) observed {
	gen := p.facts.gen
	ready, silent := p.facts.said.of(s)
	return observed{
		liveness: liveness{
			name: s.Name, state: s.State, reason: p.reason(s), ready: ready, silent: silent,
			runs: versionOf(s.Tag), needs: gen.needs[s.Name],
		},
		since: s.Since, pid: s.PID, nextTry: s.NextTry,
		active: slices.Contains(inventory(gen.agent), s.Name), answers: gen.answers(s.Name),
	}
}
