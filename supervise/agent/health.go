package agent

import (
	"fmt"
	"strings"
	"time"

	"github.com/florete/flor/supervise"
)

const (
	// expirySoon is how long before its end a certificate becomes a problem.
	expirySoon = 14 * 24 * time.Hour
	// slowStop is how long a stop may take before status says who holds it
	// (SUP-8).
	slowStop = time.Second
)

// condition is what the agent knows about itself when it is asked how it is.
type condition struct {
	now       time.Time
	workloads []observed
	// recovered: the active set is not the newest one admitted (SET-5).
	// trustLost: state.json is gone (SET-6).
	recovered, trustLost bool
	active, mark         uint64
	// late names what keeps the active set from being confirmed, once a request
	// would have been told "failed".
	late []string
	// trouble is the last sync's code, reason and words when it did not end well,
	// and since is when that began.
	trouble string
	since   time.Time
	// sinkTrouble says why the log destination could not be opened.
	sinkTrouble string
	// certificates are those of the identity store.
	certificates []certificate
}

// observed is one workload with what the supervisor tells of it.
type observed struct {
	liveness
	since time.Time
	pid   int
}

// certificate is what health needs of one in the store.
type certificate struct {
	id       string
	notAfter time.Time
}

// health lists what is wrong in plain words, the most urgent first; it is
// empty when all is well. It is a function of values.
func health(c condition) []string {
	problems := []string{}
	for _, w := range c.workloads {
		problems = append(problems, w.problems(c.now)...)
	}
	problems = append(problems, c.setProblems()...)
	if c.trouble != "" {
		problems = append(problems, fmt.Sprintf("sync: %s, since %s", c.trouble, stamp(c.since)))
	}
	if c.sinkTrouble != "" {
		problems = append(problems, "log: "+c.sinkTrouble)
	}
	for _, cert := range c.certificates {
		problems = append(problems, cert.problems(c.now)...)
	}
	return problems
}

func (w observed) problems(now time.Time) []string {
	switch w.state {
	case supervise.Starting:
		return nil
	case supervise.Up:
		return w.portProblems()
	case supervise.Stopping:
		if now.Sub(w.since) < slowStop {
			return nil
		}
		return []string{fmt.Sprintf("%s: is being stopped since %s, process %d holds it", w.name, stamp(w.since), w.pid)}
	}
	return []string{fmt.Sprintf("%s: %s since %s", w.name, withReason(w.state, w.reason), stamp(w.since))}
}

func (w observed) portProblems() []string {
	if w.ready == nil || w.ready.Ready && len(w.ready.Waiting) == 0 {
		return nil
	}
	if len(w.ready.Waiting) == 0 {
		return []string{w.name + ": runs, but is not ready"}
	}
	return []string{w.name + ": waits for " + strings.Join(w.ready.Waiting, ", ")}
}

func (c condition) setProblems() []string {
	var problems []string
	if c.trustLost {
		problems = append(problems, "trust-state-lost: agent/state.json is gone, so no set can be admitted; workloads run on; remedy: flor enroll with a new bundle")
	}
	if c.recovered {
		problems = append(problems, fmt.Sprintf("recovered: the set v%d was damaged on disk, an older or partial one runs (v%d)", c.mark, c.active))
	}
	if len(c.late) > 0 {
		problems = append(problems, fmt.Sprintf("set v%d is active but not confirmed: %s", c.active, strings.Join(c.late, "; ")))
	}
	return problems
}

func (c certificate) problems(now time.Time) []string {
	switch left := c.notAfter.Sub(now); {
	case left <= 0:
		return []string{fmt.Sprintf("certificate of %s expired at %s", c.id, stamp(c.notAfter))}
	case left < expirySoon:
		return []string{fmt.Sprintf("certificate of %s expires at %s", c.id, stamp(c.notAfter))}
	}
	return nil
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
