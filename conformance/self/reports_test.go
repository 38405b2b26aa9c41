package self

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/florete/flor/conformance"
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
			for i := range cases {
				cases[i].Check = func(context.Context) error { return nil }
			}
			target := conformance.Target{Tool: "flor-conformance", Command: []string{s.Name}}
			want := conformance.Run(t.Context(), target, cases, conformance.Options{Features: s.Features}).Lasting()
			var committed conformance.Report
			text, err := os.ReadFile(filepath.Join("..", "reports", s.Name+".json"))
			check(t, err)
			check(t, json.Unmarshal(text, &committed))
			if diff := cmp.Diff(want, committed); diff != "" {
				t.Errorf("run: go run ./cmd/flor-conformance self --reports conformance/reports\n%s", diff)
			}
		})
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
