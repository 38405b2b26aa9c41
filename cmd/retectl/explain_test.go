package main

import (
	"os"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/florete/flor/compiler"
	"github.com/florete/flor/compiler/diag"
)

var codeRow = regexp.MustCompile(`(?m)^\| (FL\d{4}) \| (.+) \| [a-z/-]+ \|$`)

// specified are the codes of the whole module, as SPEC.md lists them.
func specified(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("../../conformance/SPEC.md")
	if err != nil {
		t.Fatal(err)
	}
	codes := map[string]string{}
	for _, row := range codeRow.FindAllStringSubmatch(string(text), -1) {
		codes[row[1]] = row[2]
	}
	return codes
}

// Whatever code somebody meets, on whichever machine, can be looked up.
func TestEveryCodeOfTheModuleIsExplained(t *testing.T) {
	t.Parallel()
	codes := specified(t)
	if len(codes) < 400 {
		t.Fatalf("SPEC.md has a table of %d codes", len(codes))
	}
	if diff := cmp.Diff(codes, allCodes()); diff != "" {
		t.Errorf("-SPEC.md +retectl explain:\n%s", diff)
	}
	for id, meaning := range codes {
		page, known := pageOf(id)
		if !known || page.ID != id || page.Reason == "" || page.Cause == "" || page.Fix == "" {
			t.Errorf("the page of %s is incomplete: %+v", id, page)
		}
		if page.Title != meaning && page.Reason+": "+page.Title != meaning {
			t.Errorf("%s means %q, and its page says %s %q", id, meaning, page.Reason, page.Title)
		}
	}
}

func pageOf(id string) (diag.Page, bool) {
	for _, explain := range []func(string) (diag.Page, bool){compiler.Explain, explainRefusal, explainElsewhere} {
		if page, known := explain(id); known {
			return page, true
		}
	}
	return diag.Page{}, false
}
