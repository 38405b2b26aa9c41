package programsuite

import (
	"slices"

	"github.com/florete/flor/conformance/internal/host"
)

// Case is one case of the suite.
type Case struct {
	Name, Title string
	Rules       string // numbers of SPEC.md, separated by spaces
	Check       func(*host.Host)
}

// Cases returns all cases.
func Cases() []Case {
	return slices.Concat(startCases(), artifactCases(), stopCases(), logCases(), controlCases())
}
