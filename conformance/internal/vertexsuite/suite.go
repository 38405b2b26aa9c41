package vertexsuite

import (
	"slices"

	"github.com/florete/flor/conformance/internal/trial"
	"github.com/florete/flor/conformance/internal/tunnel"
)

// Case is one check of a vertex.
type Case struct {
	Name, Title string
	Rules       string // of SPEC.md, separated by spaces
	Check       func(*trial.T, *tunnel.Vertex)
}

// Cases returns all of them.
func Cases() []Case {
	return slices.Concat(
		handshakeCases(), gateCases(), streamCases(), drainCases(), dialCases(),
		replyCases(), socksCases(), localCases(), programCases(),
	)
}
