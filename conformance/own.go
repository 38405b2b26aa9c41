package conformance

import (
	"slices"

	"github.com/florete/flor/conformance/internal/mutant"
)

// Subject is one of our own programs as a suite sees it: what flor-conformance
// self checks (CNF-5), and what is made wrong on purpose to check the suite
// (CNF-4).
type Subject struct {
	Name    string   // of the subject, and of its report
	Suite   string   // by which it is checked
	Program string   // its package; empty: packages in this process
	With    []string // packages of programs that have to lie beside it
	// Features are what it claims to have, where that is not everything.
	Features []string

	cases   func(Built) ([]Case, error)
	mutants []mutant.Mutant // of Program
}

// Cases returns the subject's suite, to be looked at and not to be run: there is
// no program.
func (s Subject) Cases() ([]Case, error) { return s.cases(Built{Program: s.Program}) }

// HasMutants tells whether there are mutants of the subject among those that are
// selected.
func (s Subject) HasMutants(o MutantOptions) bool { return slices.ContainsFunc(s.mutants, o.selects) }

// Built is a subject's program, built.
type Built struct {
	Program string   // its path
	Dir     string   // where it lies, with those of Subject.With
	Env     []string // to be added to the environment of Program
}

// Subjects returns our own programs with their suites.
func Subjects() []Subject {
	return append([]Subject{
		{Name: "packages", Suite: VectorSuite, cases: func(Built) ([]Case, error) { return Vectors(Own{}) }},
		{
			Name: "coordinator", Suite: CoordinatorSuite, Program: "cmd/flor-coordinator",
			cases: func(b Built) ([]Case, error) {
				return Coordinator(CoordinatorTarget{Command: []string{b.Program}, Env: b.Env})
			},
			mutants: coordinatorMutants(),
		},
		{
			Name: "program-coordinator", Suite: ProgramSuite, Program: "cmd/flor-coordinator",
			cases:   asProgram(ProgramOptions{Name: "relay", Payload: `{"schema_version":"1.0","listen":{"sync":"{{address}}","publish":"{{address}}"}}`}),
			mutants: programMutants(),
		},
		{
			Name: "program-tenant", Suite: ProgramSuite, Program: "examples/tenant",
			Features: []string{"artifact", "control", "log", "payload", "sink", "start", "stop"},
			cases:    asProgram(ProgramOptions{Name: "files", Payload: `{"listen":"127.0.0.1:0"}`}),
		},
	}, nodeSubjects()...)
}

// asProgram has a program checked by the suite for programs.
func asProgram(o ProgramOptions) func(Built) ([]Case, error) {
	return func(b Built) ([]Case, error) {
		o.Env = b.Env
		return Program([]string{b.Program}, o)
	}
}
