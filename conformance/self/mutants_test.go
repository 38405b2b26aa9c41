package self

import (
	"slices"
	"testing"

	"github.com/florete/flor/conformance"
	"github.com/florete/flor/conformance/internal/mutant"
)

// TestTheTableOfMutantsIsWhole pins the table of cases and mutants (CNF-4)
// without running it, which flor-conformance self --mutants does: of each suite
// that has mutants, every case is named by one, every name is that of a case, and
// every mutant finds the text that it changes.
func TestTheTableOfMutantsIsWhole(t *testing.T) {
	t.Parallel()
	for _, s := range Subjects() {
		if len(s.mutants) == 0 {
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			cases, err := s.cases(built{program: "program"})
			check(t, err)
			checkMutants(t, s, cases)
			_, err = mutant.Overlay("../..", t.TempDir(), s.mutants)
			check(t, err)
		})
	}
}

func checkMutants(t *testing.T, s Subject, cases []conformance.Case) {
	t.Helper()
	killing := map[string]bool{}
	seen := map[string]bool{}
	for _, m := range s.mutants {
		if first := !seen[m.Name]; first != (len(m.Kills) > 0) {
			t.Errorf("of the changes that make mutant %s the first, and no other, names cases", m.Name)
		}
		seen[m.Name] = true
		for _, name := range m.Kills {
			killing[name] = true
			if !slices.ContainsFunc(cases, func(c conformance.Case) bool { return c.Name == name }) {
				t.Errorf("mutant %s names %s/%s, which is no case", m.Name, s.Suite, name)
			}
		}
	}
	for _, c := range cases {
		if !killing[c.Name] {
			t.Errorf("%s is named by no mutant: nothing shows that it can fail", c.ID())
		}
	}
}

// TestEverySuiteThatRunsAProgramHasMutants: else nothing checks the suite.
func TestEverySuiteThatRunsAProgramHasMutants(t *testing.T) {
	t.Parallel()
	has := map[string]bool{}
	for _, s := range Subjects() {
		has[s.Suite] = has[s.Suite] || len(s.mutants) > 0 || s.Program == ""
	}
	for suite, ok := range has {
		if !ok {
			t.Errorf("suite %s has no mutant", suite)
		}
	}
}
