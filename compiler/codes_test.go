package compiler_test

import (
	"strings"
	"testing"

	"github.com/florete/flor/compiler"
)

// TestEveryCodeHasAPage walks the registry: cause, fix, and an example in which
// the code stands at a place (the golden tests of the archives make sure that
// the example is what the compiler says).
func TestEveryCodeHasAPage(t *testing.T) {
	t.Parallel()
	for _, code := range compiler.Registry() {
		page, ok := compiler.Explain(code.ID)
		if !ok {
			t.Errorf("%s has no page", code.ID)
			continue
		}
		first, _, _ := strings.Cut(page.Example, "\n")
		place, rest, _ := strings.Cut(first, ": ")
		if strings.Count(place, ":") != 2 || !strings.HasPrefix(rest, string(code.Severity)+" "+code.ID+" "+code.Reason) {
			t.Errorf("the example of %s starts with %q, not with its place and itself", code.ID, first)
		}
		if page.Title == "" || page.Cause == "" || page.Fix == "" {
			t.Errorf("%s lacks a title, cause or fix", code.ID)
		}
	}
	if _, ok := compiler.Explain("FL0999"); ok {
		t.Error("a code that is none has a page")
	}
}

// TestEveryCodeOfThePackageIsExplained covers the refusals as well, which have
// no place and so no example.
func TestEveryCodeOfThePackageIsExplained(t *testing.T) {
	t.Parallel()
	for id := range compiler.Codes() {
		page, ok := compiler.Explain(id)
		if !ok || page.Title == "" || page.Reason == "" || page.Cause == "" || page.Fix == "" {
			t.Errorf("the page of %s is incomplete: %+v", id, page)
		}
	}
}
