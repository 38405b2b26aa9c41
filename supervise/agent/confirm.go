package agent

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/florete/flor/supervise"
	"github.com/florete/flor/supervise/program"
)

// confirmWithin is the default of Options.ConfirmWithin (AGT-4.6).
const confirmWithin = 10 * time.Second

// liveness is one workload of the active set as confirmation sees it.
type liveness struct {
	name string
	// state is the supervisor's word (SUP-7), reason the cause it gives.
	state  supervise.State
	reason string
	// runs is the version of the set that its process was given, needs the
	// version that last changed its payload or executable.
	runs, needs uint64
	// ready is what the workload serves on its control channel, nil when it
	// serves none; silent is since when it does not answer although it did.
	ready  *program.Readiness
	silent time.Time
}

// unconfirmed names what keeps the active set from being confirmed, one line
// per workload; it is empty when the mark may move (AGT-4.6). A workload that
// waits for what sync needs is in the way; one that waits for another port is a
// health problem and not a failed set.
func unconfirmed(workloads []liveness, sync syncNeeds) []string {
	var causes []string
	for _, w := range workloads {
		if cause := w.obstacle(sync); cause != "" {
			causes = append(causes, w.name+": "+cause)
		}
	}
	return causes
}

// syncNeeds is what sync dials, and as whom.
type syncNeeds struct{ addr, principal string }

// missing is the entry of a list of what is waited for that stops sync: the
// port, or the principal's identity, without which there is no port.
func (n syncNeeds) missing(waiting []string) string {
	for _, entry := range waiting {
		if entry == n.addr || entry == "identity "+n.principal {
			return entry
		}
	}
	return ""
}

func (w liveness) obstacle(sync syncNeeds) string {
	switch {
	case w.state == "":
		return "has not been started yet"
	case w.state != supervise.Up:
		return withReason(w.state, w.reason)
	case w.runs < w.needs:
		return fmt.Sprintf("still runs on v%d", w.runs)
	case !w.silent.IsZero():
		return noAnswer
	case w.ready == nil:
		return ""
	case !w.ready.Ready:
		return "is not ready, waits for " + orNothing(strings.Join(w.ready.Waiting, ", "))
	}
	if entry := sync.missing(w.ready.Waiting); entry != "" {
		return fmt.Sprintf("waits for %s, which sync needs", entry)
	}
	return ""
}

// anyStarting tells that a process was spawned that has not outlived its liveness
// window yet.
func anyStarting(statuses []supervise.Status) bool {
	return slices.ContainsFunc(statuses, func(s supervise.Status) bool { return s.State == supervise.Starting })
}

// noAnswer is said of a process that served its control channel before.
const noAnswer = "does not answer on its control channel"

func orNothing(list string) string { return cmp.Or(list, "nothing it names") }

func withReason(state supervise.State, reason string) string {
	if reason == "" {
		return string(state)
	}
	return string(state) + " (" + reason + ")"
}
