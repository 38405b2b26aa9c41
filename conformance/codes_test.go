package conformance

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/florete/flor/compiler"
	"github.com/florete/flor/compiler/ca"
	"github.com/florete/flor/compiler/facade"
	"github.com/florete/flor/envelope"
	"github.com/florete/flor/envelope/schema"
	"github.com/florete/flor/relay"
	"github.com/florete/flor/relay/client"
	"github.com/florete/flor/relay/config"
	"github.com/florete/flor/store"
	"github.com/florete/flor/store/bundle"
	"github.com/florete/flor/store/identity"
	"github.com/florete/flor/supervise"
	"github.com/florete/flor/supervise/agent"
	"github.com/florete/flor/supervise/control"
	"github.com/florete/flor/supervise/program"
	"github.com/florete/flor/vertex"
)

var update = flag.Bool("update", false, "write the table of codes into SPEC.md")

// registries are the packages that raise coded refusals, with the blocks that
// their codes must lie in.
var registries = []struct {
	room   string
	codes  func() map[string]string
	blocks []string
}{
	{"compiler", compiler.Codes, []string{"FL00", "FL01", "FL02", "FL03", "FL04", "FL05"}},
	{"compiler/facade", facade.Codes, []string{"FL00", "FL01"}},
	{"compiler/ca", ca.Codes, []string{"FL06"}},
	{"cmd/retectl", programCodes("../cmd/retectl"), []string{"FL07"}},
	{"envelope", envelope.Codes, []string{"FL10", "FL11"}},
	{"envelope/schema", schema.Codes, []string{"FL12", "FL13"}},
	{"supervise/agent", agent.Codes, []string{"FL14", "FL24"}},
	{"store", store.Codes, []string{"FL20"}},
	{"store/identity", identity.Codes, []string{"FL21"}},
	{"store/bundle", bundle.Codes, []string{"FL22"}},
	{"supervise", supervise.Codes, []string{"FL23"}},
	{"supervise/program", program.Codes, []string{"FL25"}},
	{"cmd/flor", programCodes("../cmd/flor"), []string{"FL26"}},
	{"cmd/flor/internal/install", programCodes("../cmd/flor/internal/install"), []string{"FL50"}},
	{"relay", relay.Codes, []string{"FL30", "FL31"}},
	{"relay/client", client.Codes, []string{"FL32"}},
	{"supervise/control", control.Codes, []string{"FL33"}},
	{"relay/config", config.Codes, []string{"FL34"}},
	{"vertex", vertex.Codes, []string{"FL40", "FL41", "FL42", "FL43", "FL44"}},
}

// code is one row of the table: what a code means, and who raises it.
type code struct{ number, meaning, room string }

var codeForm = regexp.MustCompile(`^FL\d{4}$`)

// TestEachCodeIsRaisedByOnePackage joins the registries of all packages.
func TestEachCodeIsRaisedByOnePackage(t *testing.T) {
	t.Parallel()
	owner := map[string]string{}
	for _, r := range registries {
		for number, meaning := range r.codes() {
			switch {
			case !codeForm.MatchString(number):
				t.Errorf("%s: %q is not FL and four digits", r.room, number)
			case !slices.Contains(r.blocks, number[:4]):
				t.Errorf("%s: %s lies outside %v", r.room, number, r.blocks)
			case owner[number] != "":
				t.Errorf("%s is in the registries of %s and %s", number, owner[number], r.room)
			case strings.TrimSpace(meaning) == "":
				t.Errorf("%s: %s has no meaning", r.room, number)
			}
			owner[number] = r.room
		}
	}
}

// TestEveryCodeInTheSourceIsRegistered finds codes that are raised and stand in
// no registry.
func TestEveryCodeInTheSourceIsRegistered(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, c := range allCodes() {
		known[c.number] = true
	}
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		for _, number := range codesIn(t, path) {
			if !known[number] {
				t.Errorf("%s raises %s, which is in no registry", path, number)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestSpecificationListsEveryCode holds SPEC.md against the registries; with
// -update it writes the table.
func TestSpecificationListsEveryCode(t *testing.T) {
	const begin, end = "<!-- codes: written by go test ./conformance -update -->\n", "<!-- end of codes -->\n"
	spec, err := os.ReadFile("SPEC.md")
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(spec), begin)
	table, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("SPEC.md lacks the markers around the table of codes")
	}
	want := codeTable()
	if *update {
		if err := os.WriteFile("SPEC.md", []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, table); diff != "" {
		t.Errorf("the table of codes in SPEC.md is not what the code says; run go test ./conformance -update\n(-code +SPEC.md)\n%s", diff)
	}
}

func codeTable() string {
	var text strings.Builder
	text.WriteString("\n| code | meaning | raised by |\n|---|---|---|\n")
	for _, c := range allCodes() {
		fmt.Fprintf(&text, "| %s | %s | %s |\n", c.number, strings.ReplaceAll(c.meaning, "|", `\|`), c.room)
	}
	text.WriteString("\n")
	return text.String()
}

func allCodes() []code {
	var all []code
	for _, r := range registries {
		codes := r.codes()
		for _, number := range slices.Sorted(maps.Keys(codes)) {
			all = append(all, code{number, codes[number], r.room})
		}
	}
	slices.SortFunc(all, func(a, b code) int { return strings.Compare(a.number, b.number) })
	return all
}

// programCodes reads the registry of a program, which cannot be imported, from
// its source: each code stands beside its meaning in a literal.
func programCodes(dir string) func() map[string]string {
	return func() map[string]string {
		codes := map[string]string{}
		files, _ := filepath.Glob(filepath.Join(dir, "*.go"))
		for _, file := range files {
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
			if err != nil || strings.HasSuffix(file, "_test.go") {
				continue // what does not parse, the build tells
			}
			ast.Inspect(parsed, func(node ast.Node) bool {
				if number, meaning, ok := codeAndMeaning(node); ok {
					codes[number] = meaning
				}
				return true
			})
		}
		return codes
	}
}

// codeAndMeaning recognises {"FL0000", "meaning"} and "FL0000": "meaning".
func codeAndMeaning(node ast.Node) (number, meaning string, ok bool) {
	switch node := node.(type) {
	case *ast.KeyValueExpr:
		number, meaning = text(node.Key), text(node.Value)
	case *ast.CompositeLit:
		if len(node.Elts) == 2 {
			number, meaning = text(node.Elts[0]), text(node.Elts[1])
		}
	}
	return number, meaning, codeForm.MatchString(number) && meaning != ""
}

func codesIn(t *testing.T, file string) []string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var codes []string
	ast.Inspect(parsed, func(node ast.Node) bool {
		if expr, ok := node.(ast.Expr); ok && codeForm.MatchString(text(expr)) {
			codes = append(codes, text(expr))
		}
		return true
	})
	return codes
}

// text is the value of a string literal, and empty for anything else.
func text(expr ast.Expr) string {
	literal, ok := expr.(*ast.BasicLit)
	if !ok || literal.Kind != token.STRING {
		return ""
	}
	value, err := strconv.Unquote(literal.Value)
	if err != nil {
		return ""
	}
	return value
}
