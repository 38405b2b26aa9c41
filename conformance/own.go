package conformance

import (
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

	cases   func(Built) ([]Case, error)
	mutants []mutant.Mutant // of Program
}

// Built is a subject's program, built.
type Built struct {
	Program string   // its path
	Dir     string   // where it lies, with those of Subject.With
	Env     []string // to be added to the environment of Program
}

// Subjects returns our own programs with their suites.
func Subjects() []Subject {
	return []Subject{
		{Name: "packages", Suite: VectorSuite, cases: func(Built) ([]Case, error) { return Vectors(Own{}) }},
	}
}
