package agent

import (
	"bytes"
	"slices"
)

// member is a workload of a set as planning sees it.
type member struct {
	name string
	run  string
	// payload is the canonical payload (ENV-8), nil when the artifact failed
	// verification and the workload does not run.
	payload []byte
}

// action is what activation does to one workload.
type action int

const (
	keep action = iota
	start
	// offer hands the new artifact over on the control channel and restarts the
	// workload if it does not swap (SUP-11).
	offer
	restart
	stop
)

func (a action) String() string {
	return [...]string{"keep", "start", "offer", "restart", "stop"}[a]
}

// step is one line of an activation plan.
type step struct {
	name   string
	action action
}

// plan says what activating the set next does to the workloads of the set
// prev (AGT-4.5). Workloads that left are stopped first, in reverse order, so
// that their ports are free for those that follow; the others come in list
// order (SUP-8). Only a canonical payload or an executable that differs is a
// change: white space and the version stamp are not.
func plan(prev, next []member) []step {
	var steps []step
	for _, old := range slices.Backward(prev) {
		if find(next, old.name) == nil {
			steps = append(steps, step{old.name, stop})
		}
	}
	for _, m := range next {
		steps = append(steps, step{m.name, actionFor(find(prev, m.name), m)})
	}
	return steps
}

func actionFor(old *member, next member) action {
	switch {
	case old == nil, old.payload == nil:
		return start
	case next.payload == nil, old.run != next.run:
		return restart
	case !bytes.Equal(old.payload, next.payload):
		return offer
	}
	return keep
}

// changed lists the workloads that would run on something new, in order: those
// a set must be checked with before it is staged (AGT-4.3).
func changed(steps []step) []string {
	var names []string
	for _, s := range steps {
		if s.action == start || s.action == offer || s.action == restart {
			names = append(names, s.name)
		}
	}
	return names
}

func find(members []member, name string) *member {
	i := slices.IndexFunc(members, func(m member) bool { return m.name == name })
	if i < 0 {
		return nil
	}
	return &members[i]
}
