package self

import (
	"slices"

	"github.com/florete/flor/conformance"
	"github.com/florete/flor/conformance/internal/agentsuite"
	"github.com/florete/flor/conformance/internal/coordinatorsuite"
	"github.com/florete/flor/conformance/internal/mutant"
	"github.com/florete/flor/conformance/internal/programsuite"
	"github.com/florete/flor/conformance/internal/vertexsuite"
)

// Subject is one of our own programs as a suite sees it: what flor-conformance
// self checks (CNF-5), and what is made wrong on purpose to check the suite
// (CNF-4).
type Subject struct {
	Name    string // of the subject, and of its report
	Suite   string // by which it is checked
	Program string // its package; empty: packages in this process
	// Features are what it claims to have, where that is not everything.
	Features []string

	cases   func(built) ([]conformance.Case, error)
	mutants []mutant.Mutant // of Program
}

// Cases returns the subject's suite, to be looked at and not to be run: there is
// no program.
func (s Subject) Cases() ([]conformance.Case, error) { return s.cases(built{program: s.Program}) }

// HasMutants tells whether there are mutants of the subject among those that are
// selected.
func (s Subject) HasMutants(o MutantOptions) bool { return slices.ContainsFunc(s.mutants, o.selects) }

// built is a subject's program, built.
type built struct {
	program string   // its path
	env     []string // to be added to its environment
}

// command is the command line of a program that finds env in its environment.
func (b built) command(args ...string) []string {
	argv := append([]string{b.program}, args...)
	if len(b.env) == 0 {
		return argv
	}
	return slices.Concat([]string{"env"}, b.env, argv)
}

// Subjects returns our own programs with their suites.
func Subjects() []Subject {
	return []Subject{
		{
			Name: "packages", Suite: conformance.VectorSuite,
			cases: func(built) ([]conformance.Case, error) { return conformance.Vectors(Verifier{}) },
		},
		{
			Name: "coordinator", Suite: conformance.CoordinatorSuite, Program: "cmd/flor-coordinator",
			cases: func(b built) ([]conformance.Case, error) {
				return conformance.Coordinator(conformance.CoordinatorTarget{Command: []string{b.program}, Env: b.env})
			},
			mutants: coordinatorsuite.Mutants(),
		},
		{
			Name: "program-coordinator", Suite: conformance.ProgramSuite, Program: "cmd/flor-coordinator",
			cases: asProgram(conformance.ProgramOptions{
				Name: "relay", Payload: `{"schema_version":"1.0","listen":{"sync":"{{address}}","publish":"{{address}}"}}`,
			}),
			mutants: programsuite.Mutants(),
		},
		{
			Name: "program-tenant", Suite: conformance.ProgramSuite, Program: "examples/tenant",
			Features: []string{"artifact", "control", "log", "payload", "sink", "start", "stop"},
			cases:    asProgram(conformance.ProgramOptions{Name: "files", Payload: `{"listen":"127.0.0.1:0"}`}),
		},
		{
			Name: "agent", Suite: conformance.AgentSuite, Program: "cmd/flor", mutants: agentsuite.Mutants(),
			cases: func(b built) ([]conformance.Case, error) { return conformance.Agent(b.command("agent", "run")) },
		},
		{
			Name: "vertex", Suite: conformance.VertexSuite, Program: "cmd/flor-vertex", mutants: vertexsuite.Mutants(),
			cases: func(b built) ([]conformance.Case, error) { return conformance.Vertex(b.command()) },
		},
	}
}

// asProgram has a program checked by the suite for programs.
func asProgram(o conformance.ProgramOptions) func(built) ([]conformance.Case, error) {
	return func(b built) ([]conformance.Case, error) {
		o.Env = b.env
		return conformance.Program([]string{b.program}, o)
	}
}
