package conformance

import (
	"context"
	"errors"
	"strings"

	"github.com/florete/flor/conformance/internal/coordinatorsuite"
	"github.com/florete/flor/conformance/internal/trial"
)

// CoordinatorSuite is the name of the suite for coordinators.
const CoordinatorSuite = "coordinator"

// CoordinatorTarget is the coordinator that is checked: a command, or two
// addresses.
type CoordinatorTarget struct {
	// Command starts one, as its agent would: each case runs it anew, with an
	// artifact that names two free loopback addresses, and a state directory.
	Command []string
	// Env is added to the command's environment, NAME=value each.
	Env []string
	// Sync and Publish are the base addresses of the two listeners of one that
	// runs, such as http://127.0.0.1:9000. What is published there is replaced.
	// Cases that need more than listeners are left out.
	Sync, Publish string
}

// Coordinator returns the suite for coordinators (CNF-2). Cases share nothing where
// the target is a command, and may run at once; those against a coordinator that
// runs somewhere must run one after the other.
func Coordinator(to CoordinatorTarget) ([]Case, error) {
	running := to.Sync != "" || to.Publish != ""
	switch {
	case running && len(to.Command) > 0:
		return nil, errors.New("name a command or the two listeners of a coordinator that runs, not both")
	case running && (to.Sync == "" || to.Publish == ""):
		return nil, errors.New("a coordinator that runs has two listeners: name both, --sync and --publish")
	}
	command, err := anchored(to.Command)
	if err != nil {
		return nil, err
	}
	target := coordinatorsuite.Target{Argv: command, Env: to.Env, Sync: to.Sync, Publish: to.Publish, Arrivals: &trial.Arrivals{}}
	var cases []Case
	for _, c := range coordinatorsuite.Cases() {
		cases = append(cases, coordinatorCase(c, target))
	}
	return cases, nil
}

// ListenerFeatures are the features of a suite for coordinators that can be checked
// on the listeners alone.
func ListenerFeatures() []string {
	var all []string
	for _, c := range coordinatorsuite.Cases() {
		if feature, _, _ := strings.Cut(c.Name, "/"); !coordinatorsuite.NeedsProgram(feature) {
			all = append(all, feature)
		}
	}
	return uniqueSorted(all)
}

func coordinatorCase(c coordinatorsuite.Case, to coordinatorsuite.Target) Case {
	feature, _, _ := strings.Cut(c.Name, "/")
	return Case{
		Suite: CoordinatorSuite, Name: c.Name, Title: c.Title, Feature: feature, Requirements: strings.Fields(c.Rules),
		Check: func(ctx context.Context) error { return c.Check(ctx, to) },
	}
}
