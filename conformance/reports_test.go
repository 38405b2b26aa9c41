package conformance

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCommittedReportsAreOfTheCasesThereAre holds the reports of our own programs
// against the suites; that they come out so again is compared by CI, with
// flor-conformance self --reports (CNF-5).
func TestCommittedReportsAreOfTheCasesThereAre(t *testing.T) {
	t.Parallel()
	for _, s := range Subjects() {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			cases, err := s.Cases()
			check(t, err)
			want := Report{Target: Target{Tool: "flor-conformance", Command: []string{s.Name}}, Repeat: 1, Total: len(cases)}
			for _, c := range cases {
				result := newResult(c)
				result.Verdict = Pass
				if o := (Options{Features: s.Features}); !o.claims(c) {
					result.conclude(o.judge(t.Context(), c, 1))
				}
				want.Cases = append(want.Cases, result)
			}
			want.settle(s.Features, cases)
			var committed Report
			text, err := os.ReadFile(filepath.Join("reports", s.Name+".json"))
			check(t, err)
			check(t, json.Unmarshal(text, &committed))
			if diff := cmp.Diff(want, committed); diff != "" {
				t.Errorf("run: go run ./cmd/flor-conformance self --reports conformance/reports\n%s", diff)
			}
		})
	}
}
