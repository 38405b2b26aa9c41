package coordinatorsuite

import (
	"context"
	"slices"

	"github.com/florete/flor/conformance/internal/trial"
)

// Case is one case of the suite. The first part of its name is the feature that a
// coordinator must have built for it.
type Case struct {
	Name, Title string
	Rules       string // numbers of SPEC.md, separated by spaces
	Run         func(*Relay)
	Stopped     bool // Run starts the program itself
}

// Cases returns all cases.
func Cases() []Case {
	return slices.Concat(fetchCases(), httpCases(), publishCases(), gateCases(), watchCases(), freshCases(), restartCases(), configCases(), drainCases())
}

// needProgram are the features for which the listeners alone do not suffice.
var needProgram = []string{"config", "drain", "fresh", "restart"}

// NeedsProgram tells whether a feature is checked only where the suite starts the
// coordinator.
func NeedsProgram(feature string) bool { return slices.Contains(needProgram, feature) }

// Check runs the case.
func (c Case) Check(ctx context.Context, to Target) error {
	return trial.Run(ctx, to.Arrivals, func(t *trial.T) {
		r := newRelay(t, to)
		if !c.Stopped {
			r.start()
		}
		c.Run(r)
	})
}
