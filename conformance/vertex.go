package conformance

import (
	"context"
	"strings"

	"github.com/florete/flor/conformance/internal/trial"
	"github.com/florete/flor/conformance/internal/tunnel"
	"github.com/florete/flor/conformance/internal/vertexsuite"
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
	command, err := anchored(command)
	if err != nil {
		return nil, err
	}
	var cases []Case
	arrivals := &trial.Arrivals{}
	for _, c := range vertexsuite.Cases() {
		cases = append(cases, vertexCase(c, command, arrivals))
	}
	return cases, nil
}

// vertexCase gives a case a machine of its own.
func vertexCase(c vertexsuite.Case, command []string, arrivals *trial.Arrivals) Case {
	feature, _, _ := strings.Cut(c.Name, "/")
	return Case{
		Suite: VertexSuite, Name: c.Name, Title: c.Title, Feature: feature, Requirements: strings.Fields(c.Rules),
		Check: func(ctx context.Context) error {
			return trial.Run(ctx, arrivals, func(t *trial.T) { c.Check(t, tunnel.New(t, command)) })
		},
	}
}
