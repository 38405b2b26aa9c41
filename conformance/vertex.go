package conformance

import (
	"context"
	"slices"
	"strings"

	"github.com/florete/flor/conformance/internal/trial"
	"github.com/florete/flor/conformance/internal/tunnel"
)

// VertexSuite is the name of the suite for vertices.
const VertexSuite = "vertex"

// Vertex returns the suite for vertices against the command that starts one
// (CNF-2). In each case the command finds the environment of a workload that
// ships with flor (SUP-1), with identities in FLORWL_SCOPE_ROOT as SET-8 has
// them and an artifact in FLORWL_MGMT_ARTIFACT, and with standard error as its
// log. It serves ready and apply on FLORWL_CONTROL_SOCKET (SUP-11) until SIGTERM;
// called with --check and a file it only judges that artifact. The vertex at the
// other end is the suite's own, written on QUIC.
//
// Cases share nothing and may run at once.
func Vertex(command []string) ([]Case, error) {
	rows := slices.Concat(
		vertexHandshakeCases(), vertexGateCases(), vertexStreamCases(), vertexDialCases(),
		vertexReplyCases(), vertexSOCKSCases(), vertexDrainCases(), vertexLocalCases(), vertexProgramCases(),
	)
	cases := make([]Case, 0, len(rows))
	for _, r := range rows {
		cases = append(cases, r.asCase(command))
	}
	return cases, nil
}

// vertexRow is a case of the suite for vertices.
type vertexRow struct {
	name, title string
	rules       string // separated by spaces
	check       func(*trial.T, *tunnel.Vertex)
}

// asCase gives the check a machine of its own. What one must have built is the
// first part of the name.
func (r vertexRow) asCase(command []string) Case {
	feature, _, _ := strings.Cut(r.name, "/")
	return Case{
		Suite: VertexSuite, Name: r.name, Title: r.title, Feature: feature, Requirements: strings.Fields(r.rules),
		Check: func(ctx context.Context) error {
			return trial.Run(ctx, func(t *trial.T) { r.check(t, tunnel.New(t, command)) })
		},
	}
}
