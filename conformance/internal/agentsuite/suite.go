package agentsuite

import (
	"slices"

	"github.com/florete/flor/conformance/internal/node"
	"github.com/florete/flor/conformance/internal/trial"
)

// Case is one check of an agent.
type Case struct {
	Name, Title string
	Rules       string // of SPEC.md, separated by spaces
	Check       func(*trial.T, *node.Node)
}

// Cases returns all of them.
func Cases() []Case {
	return slices.Concat(storeCases(), syncCases(), activationCases(), supervisionCases(), controlCases())
}
