package envelope_test

import (
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/florete/flor/envelope"
)

// TestEachReasonHasACode reads the constants from the source, so that a new one
// without a code is noticed.
func TestEachReasonHasACode(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("codes.go")
	if err != nil {
		t.Fatal(err)
	}
	constants := regexp.MustCompile(`(?m)^\t\w+\s+Reason = "([a-z-]+)"$`).FindAllStringSubmatch(string(source), -1)
	codes := make(map[string]bool)
	for _, c := range constants {
		code := envelope.Reason(c[1]).Code()
		if !regexp.MustCompile(`^FL1[01]\d[1-9]|FL1[01][1-9]0$`).MatchString(code) || codes[code] {
			t.Errorf("reason %s has the code %s, which is none or another's", c[1], code)
		}
		codes[code] = true
		if envelope.Codes()[code] == "" {
			t.Errorf("code %s has no meaning", code)
		}
	}
	if len(codes) != len(envelope.Codes()) || len(codes) < 30 {
		t.Errorf("%d reasons for %d codes", len(codes), len(envelope.Codes()))
	}
}

func TestAReasonOutsideTheListHasNoCode(t *testing.T) {
	t.Parallel()
	if got := envelope.Reason("bad-weather").Code(); got != "" {
		t.Errorf("code %q", got)
	}
}

// TestThePackagesArePure: bytes in, values out.
func TestThePackagesArePure(t *testing.T) {
	t.Parallel()
	impure := []string{"os", "os/exec", "net", "net/http", "log", "log/slog", "io/fs", "sync", "context"}
	for _, dir := range []string{".", "schema"} {
		files, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if name := f.Name(); strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") {
				checkPure(t, dir+"/"+name, impure)
			}
		}
	}
}

func checkPure(t *testing.T, path string, impure []string) {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, spec := range file.Imports {
		if name, _ := strconv.Unquote(spec.Path.Value); slices.Contains(impure, name) {
			t.Errorf("%s imports %s", path, name)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "time.Now") {
		t.Errorf("%s has a clock", path)
	}
}
