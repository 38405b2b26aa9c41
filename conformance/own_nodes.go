package conformance

import (
	"slices"

	"github.com/florete/flor/conformance/internal/agentsuite"
	"github.com/florete/flor/conformance/internal/vertexsuite"
)

// nodeSubjects are our agent and our vertex.
func nodeSubjects() []Subject {
	return []Subject{
		{
			Name: "agent", Suite: AgentSuite, Program: "cmd/flor", mutants: agentsuite.Mutants(),
			cases: func(b Built) ([]Case, error) { return Agent(b.command("agent", "run")) },
		},
		{
			Name: "vertex", Suite: VertexSuite, Program: "cmd/flor-vertex", mutants: vertexsuite.Mutants(),
			cases: func(b Built) ([]Case, error) { return Vertex(b.command()) },
		},
	}
}

// command is the command line of a program that finds Built.Env in its
// environment.
func (b Built) command(args ...string) []string {
	argv := append([]string{b.Program}, args...)
	if len(b.Env) == 0 {
		return argv
	}
	return slices.Concat([]string{"env"}, b.Env, argv)
}
