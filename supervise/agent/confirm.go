package agent

import (
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
	// serves none.
	ready *program.Readiness
}

// unconfirmed names what keeps the active set from being confirmed, one line
// per workload; it is empty when the mark may move (AGT-4.6). inbound is the
// address that sync dials: a workload that waits for another port is a health
// problem and not a failed set.
func unconfirmed(workloads []liveness, inbound string) []string {
	var causes []string
	for _, w := range workloads {
		if cause := w.obstacle(inbound); cause != "" {
			causes = append(causes, w.name+": "+cause)
		}
	}
	return causes
}

func (w liveness) obstacle(inbound string) string {
	switch {
	case w.state == "":
		return "has not been started yet"
	case w.state != supervise.Up:
		return withReason(w.state, w.reason)
	case w.runs < w.needs:
		return fmt.Sprintf("still runs on v%d", w.runs)
	case w.ready == nil:
		return ""
	case names(w.ready.Waiting, inbound):
		return fmt.Sprintf("waits for %s, which sync dials", inbound)
	case !w.ready.Ready:
		return "is not ready, waits for " + strings.Join(w.ready.Waiting, ", ")
	}
	return ""
}

// names tells whether a list of what a workload listens on, or waits for, has
// an entry for an address. Entries may carry words around the address.
func names(entries []string, addr string) bool {
	return slices.ContainsFunc(entries, func(entry string) bool {
		return slices.Contains(strings.Fields(entry), addr)
	})
}

func withReason(state supervise.State, reason string) string {
	if reason == "" {
		return string(state)
	}
	return string(state) + " (" + reason + ")"
}
