package lab

import (
	"strings"

	"github.com/florete/flor/supervise/control"
)

// Serving tells that every workload is up and serves what it should.
func Serving(status control.StatusDoc) bool {
	for _, workload := range status.Workloads {
		if workload.State != "up" && workload.State != "starting" || workload.Ready == nil || !workload.Ready.Ready {
			return false
		}
	}
	return len(status.Workloads) > 0
}

// Healthy tells that nothing is wrong and everything serves.
func Healthy(status control.StatusDoc) bool { return len(status.Health) == 0 && Serving(status) }

// InStep tells that the last word of the coordinator was that the node holds
// what is published for it.
func InStep(status control.StatusDoc) bool {
	sync := status.LastSync
	return sync != nil && (sync.Result == control.Unchanged || sync.Result == control.Applied)
}

// Holds tells that a set, or a later one, is active.
func Holds(version uint64) func(control.StatusDoc) bool {
	return func(status control.StatusDoc) bool { return status.Set.Active >= version }
}

// Workload is the one of a name; the zero value when there is none.
func Workload(status control.StatusDoc, name string) control.Workload {
	for _, w := range status.Workloads {
		if w.Name == name {
			return w
		}
	}
	return control.Workload{}
}

// WorkloadNames lists the workloads for people.
func WorkloadNames(status control.StatusDoc) string {
	var names []string
	for _, w := range status.Workloads {
		names = append(names, w.Name)
	}
	return strings.Join(names, " and ")
}
