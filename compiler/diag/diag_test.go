package diag_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/florete/flor/compiler/diag"
)

var registry diag.Registry

var (
	unknown = registry.Error("FL9002", "unknown-thing", "a thing is not known", "A typing error.", "Correct it.")
	unused  = registry.Warning("FL9001", "unused-thing", "a thing is not used", "It was forgotten.", "Use it.")
)

func span(file string, line, from, to int) diag.Place {
	return diag.Place{File: file, Start: diag.Position{Line: line, Column: from}, End: diag.Position{Line: line, Column: to}}
}

func render(t *testing.T, list diag.List, sources diag.Sources, color bool) string {
	t.Helper()
	var b bytes.Buffer
	if err := diag.Render(&b, list, sources, color); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestTheCaretStandsUnderTheRange(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 200) + "HERE" + strings.Repeat("y", 200)
	for name, c := range map[string]struct {
		line     string
		from, to int
		want     string
	}{
		"plain":                          {"a: bcd", 4, 7, "    1 | a: bcd\n      |    ^^^\n"},
		"a point has one caret":          {"a: bcd", 4, 4, "    1 | a: bcd\n      |    ^\n"},
		"tabs are four cells":            {"\ta:\tbc", 5, 7, "    1 |     a:  bc\n      |         ^^\n"},
		"wide characters are two cells":  {"網: ab網", 4, 7, "    1 | 網: ab網\n      |     ^^^^\n"},
		"combining marks are none":       {"e\u0301: ab", 5, 7, "    1 | e\u0301: ab\n      |    ^^\n"},
		"behind the end of the line":     {"a:", 9, 9, "    1 | a:\n      |   ^\n"},
		"to behind the end of the line":  {"a: b", 4, 40, "    1 | a: b\n      |    ^\n"},
		"carriage returns are not shown": {"a: b\r", 4, 5, "    1 | a: b\n      |    ^\n"},
		"the terminal is not steered":    {"a: \x1b[31mb", 9, 10, "    1 | a: \ufffd[31mb\n      |         ^\n"},
		"an empty line has no excerpt":   {"  ", 1, 1, ""},
		"long lines are cut":             {long, 201, 205, "    1 | " + strings.Repeat("x", 60) + "HERE" + strings.Repeat("y", 96) + "\n      | " + strings.Repeat(" ", 60) + "^^^^\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			list := diag.List{unknown.At(span("f", 1, c.from, c.to), "no")}
			got := render(t, list, diag.Sources{"f": []byte(c.line)}, false)
			want := fmt.Sprintf("f:1:%d: error FL9002 unknown-thing: no\n%s1 error, 0 warnings\n", c.from, c.want)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("text differs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRenderShowsRelatedPlacesAndTheSuggestion(t *testing.T) {
	t.Parallel()
	d := unused.At(span("a", 2, 1, 2), "twice\x07").Also(span("b", 1, 1, 2), "first").Also(diag.Place{}, "nowhere").Suggest("say %q", "x").Suggest("")
	got := render(t, diag.List{d}, diag.Sources{"a": []byte("1\n2\n"), "b": []byte("x")}, false)
	want := "a:2:1: warning FL9001 unused-thing: twice\ufffd\n    2 | 2\n      | ^\n  b:1:1: first\n    1 | x\n      | ^\n      = say \"x\"\n0 errors, 1 warning\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("text differs (-want +got):\n%s", diff)
	}
}

func TestColourOnlyWhenTold(t *testing.T) {
	t.Parallel()
	list := diag.List{unknown.At(span("a", 1, 1, 2), "no").Suggest("yes"), unused.At(span("a", 1, 2, 3), "no")}
	sources := diag.Sources{"a": []byte("xy")}
	if got := render(t, list, sources, false); strings.Contains(got, "\x1b") {
		t.Errorf("escape codes without being told:\n%q", got)
	}
	got := render(t, list, sources, true)
	for _, want := range []string{"\x1b[1;31merror FL9002\x1b[0m", "\x1b[1;33mwarning FL9001\x1b[0m", "\x1b[36m= yes\x1b[0m"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%q", want, got)
		}
	}
}

func TestTheFirstHundredAreShownAndAllAreCounted(t *testing.T) {
	t.Parallel()
	var list diag.List
	for i := range 10_000 {
		list.Add(unknown.At(span("a", i+1, 1, 2), "no"), unknown.At(span("a", i+1, 1, 2), "no"))
	}
	got := render(t, list, nil, false)
	if n := strings.Count(got, "FL9002"); n != diag.MaxShown {
		t.Errorf("%d are shown", n)
	}
	if want := "10000 errors, 0 warnings (the first 100 are shown)\n"; !strings.HasSuffix(got, want) {
		t.Errorf("the end is %q", got[len(got)-80:])
	}
	if got := render(t, nil, nil, false); got != "" {
		t.Errorf("an empty list gives %q", got)
	}
}

func TestSortedDependsOnTheFindingsAlone(t *testing.T) {
	t.Parallel()
	want := diag.List{
		unknown.At(span("a", 1, 2, 3), "a"),
		unused.At(span("a", 2, 1, 2), "a"),
		unknown.At(span("a", 2, 1, 2), "a"),
		unknown.At(span("a", 2, 1, 2), "b"),
		unknown.At(span("a", 10, 1, 2), "a"),
		unknown.At(span("b", 1, 1, 2), "a"),
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		mixed := slices.Concat(want, want)
		rng.Shuffle(len(mixed), func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
		before := slices.Clone(mixed)
		if diff := cmp.Diff(want, mixed.Sorted()); diff != "" {
			t.Fatalf("order differs (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(before, mixed); diff != "" {
			t.Fatalf("the receiver changed:\n%s", diff)
		}
	}
	if !want.HasErrors() || want.Count(diag.Warning) != 1 || want[1:2].HasErrors() {
		t.Error("errors and warnings are miscounted")
	}
}

func TestJSON(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	list := diag.List{
		unused.At(span("b<", 1, 1, 2), "odd"),
		unknown.At(span("a", 2, 3, 5), "no").Also(span("a", 1, 1, 2), "first").Suggest("yes"),
	}
	sources := diag.Sources{"a": []byte("twice: 1\n  \x1bé: {x: y}\n")}
	if err := diag.WriteJSON(&b, list, sources); err != nil {
		t.Fatal(err)
	}
	want := `{
  "schema_version": "1.1",
  "valid": false,
  "error_count": 1,
  "warning_count": 1,
  "diagnostics": [
    {
      "code": "FL9002",
      "reason": "unknown-thing",
      "severity": "error",
      "message": "no",
      "place": {"file": "a", "start": {"line": 2, "column": 3}, "end": {"line": 2, "column": 5}},
      "excerpt": {"text": "  \ufffdé: {x: y}", "start": 2, "end": 4},
      "related": [{"message": "first", "place": {"file": "a", "start": {"line": 1, "column": 1}, "end": {"line": 1, "column": 2}},
        "excerpt": {"text": "twice: 1", "start": 0, "end": 1}}],
      "suggestion": "yes"
    },
    {
      "code": "FL9001",
      "reason": "unused-thing",
      "severity": "warning",
      "message": "odd",
      "place": {"file": "b<", "start": {"line": 1, "column": 1}, "end": {"line": 1, "column": 2}}
    }
  ]
}`
	if diff := cmp.Diff(parsed(t, want), parsed(t, b.String())); diff != "" {
		t.Errorf("JSON differs (-want +got):\n%s", diff)
	}
	b.Reset()
	if err := diag.WriteJSON(&b, nil, nil); err != nil || !strings.Contains(b.String(), `"diagnostics": []`) {
		t.Errorf("an empty list gives %v\n%s", err, &b)
	}
}

// An excerpt for programs is short, and its range lies within it, whatever the
// place says of the line.
func TestExcerptsForProgramsAreWindows(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 200) + "HERE" + strings.Repeat("y", 200)
	for name, c := range map[string]struct {
		line     string
		from, to int
		want     *diag.Excerpt
	}{
		"a long line":                {long, 201, 205, &diag.Excerpt{Text: strings.Repeat("é", 60) + "HERE" + strings.Repeat("y", 96), Start: 60, End: 64}},
		"tabs stay":                  {"\ta:\tbc", 5, 7, &diag.Excerpt{Text: "\ta:\tbc", Start: 4, End: 6}},
		"behind the end of the line": {"a:", 9, 9, &diag.Excerpt{Text: "a:", Start: 2, End: 2}},
		"an empty line":              {" ", 1, 1, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			report := diag.NewReport(diag.List{unused.At(span("x", 1, c.from, c.to), "odd")}, diag.Sources{"x": []byte(c.line)})
			if diff := cmp.Diff(c.want, report.Diagnostics[0].Excerpt); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func parsed(t *testing.T, text string) (v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return v
}

func TestNearest(t *testing.T) {
	t.Parallel()
	names := []string{"alpha", "beta", "alice-laptop", "api", "coordinator"}
	for name, want := range map[string]string{
		"aplha": "alpha", "alpa": "alpha", "betta": "beta", "apo": "api", "alice-labtop": "alice-laptop",
		"coordinater": "coordinator", "x": "", "alpha": "", "gamma": "", "": "", strings.Repeat("a", 65): "",
	} {
		got, ok := diag.Nearest(name, names)
		if got != want || ok != (want != "") {
			t.Errorf("near %q is %q, %t; want %q", name, got, ok, want)
		}
	}
}

func TestFewNamesAreListed(t *testing.T) {
	t.Parallel()
	for want, names := range map[string][]string{
		"":                              nil,
		"alpha":                         {"alpha"},
		"one of alpha, beta":            {"beta", "alpha"},
		"one of a, b, c, d, e, f, g, h": strings.Split("hgfedcba", ""),
	} {
		if got := diag.Few(names); got != want {
			t.Errorf("%q is listed as %q, want %q", names, got, want)
		}
	}
	if got := diag.Few(strings.Split("abcdefghi", "")); got != "" {
		t.Errorf("nine names are listed: %q", got)
	}
}

func TestRegistryIsOrderedByCode(t *testing.T) {
	t.Parallel()
	if diff := cmp.Diff([]diag.Code{unused, unknown}, registry.Codes()); diff != "" {
		t.Errorf("codes differ (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"FL9001": "a thing is not used", "FL9002": "a thing is not known"}, registry.Titles()); diff != "" {
		t.Errorf("titles differ (-want +got):\n%s", diff)
	}
}

// FuzzRender renders any range of any line: no panic, one caret line for one
// excerpt line, and nothing that steers a terminal.
func FuzzRender(f *testing.F) {
	f.Add("a: b\n\tc", 2, 1, 2)
	f.Add(strings.Repeat("網", 300), 1, 290, 900)
	f.Add("\x1b\xff\n", 1, 0, -5)
	f.Add("\n0", 2, -54, -30)
	f.Fuzz(func(t *testing.T, text string, line, from, to int) {
		got := render(t, diag.List{unknown.At(span("f\x1b", line, from, to), "%s", text)}, diag.Sources{"f\x1b": []byte(text)}, false)
		if strings.ContainsAny(got, "\x1b\t\r") || !utf8.ValidString(got) {
			t.Errorf("raw text came through: %q", got)
		}
		if n := strings.Count(got, "\n"); n != 2 && n != 4 {
			t.Errorf("%d lines: %q", n, got)
		}
	})
}

func ExampleRender() {
	texts := diag.Sources{"access.yaml": []byte("roles:\n  dev: {allow: [apii]}\n")}
	found := diag.List{
		unknown.At(span("access.yaml", 2, 17, 21), `role dev names the group "apii", which nobody declares`).Suggest("did you mean %q?", "api"),
	}
	diag.Render(os.Stdout, found, texts, false)
	// Output:
	// access.yaml:2:17: error FL9002 unknown-thing: role dev names the group "apii", which nobody declares
	//     2 |   dev: {allow: [apii]}
	//       |                 ^^^^
	//       = did you mean "api"?
	// 1 error, 0 warnings
}
