package schema_test

import (
	"os"
	"regexp"
	"testing"

	"github.com/florete/flor/envelope/schema"
)

// TestEachReasonHasACode reads the constants from the source, so that a new one
// without a code is noticed.
func TestEachReasonHasACode(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("codes.go")
	if err != nil {
		t.Fatal(err)
	}
	codes := make(map[string]bool)
	for _, c := range regexp.MustCompile(`(?m)^\t\w+\s+Reason = "([a-z0-9-]+)"$`).FindAllStringSubmatch(string(source), -1) {
		code := schema.Reason(c[1]).Code()
		if !regexp.MustCompile(`^FL1[23]\d\d$`).MatchString(code) || codes[code] {
			t.Errorf("reason %s has the code %s, which is none or another's", c[1], code)
		}
		codes[code] = true
		if schema.Codes()[code] == "" {
			t.Errorf("code %s has no meaning", code)
		}
	}
	if len(codes) != len(schema.Codes()) || len(codes) < 30 {
		t.Errorf("%d reasons for %d codes", len(codes), len(schema.Codes()))
	}
	if got := schema.Reason("bad-weather").Code(); got != "" {
		t.Errorf("code of no reason is %q", got)
	}
}
