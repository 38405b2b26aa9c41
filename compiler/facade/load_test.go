package facade

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/florete/flor/compiler/diag"
)

// writeTree makes a repository of the given files.
func writeTree(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// place is short for a range within one line.
func place(file string, line, from, to int) diag.Place {
	return diag.Place{File: file, Start: diag.Position{Line: line, Column: from}, End: diag.Position{Line: line, Column: to}}
}

func TestEveryKeyAndValueHasItsPlace(t *testing.T) { // CMP-1
	t.Parallel()
	dir := writeTree(t, map[string]string{"rete.yaml": "rete: {name: 'demo'}\n", "a/b.yml": "services:\n  \"api\":\n    at: alpha\n    groups: [web]\n    forwards: {127.0.0.1:80: db}\n"})
	src, found := Load(Options{Root: dir})
	if len(found) != 0 {
		t.Fatalf("unexpected findings: %v", found)
	}
	want := &Service{
		Key:      Text{V: "api", At: place("a/b.yml", 2, 3, 8)},
		Node:     Text{V: "alpha", At: place("a/b.yml", 3, 9, 14)},
		Groups:   []Text{{V: "web", At: place("a/b.yml", 4, 14, 17)}},
		Forwards: []*Forward{{Listen: Text{V: "127.0.0.1:80", At: place("a/b.yml", 5, 16, 28)}, Target: Text{V: "db", At: place("a/b.yml", 5, 30, 32)}}},
	}
	if diff := cmp.Diff([]*Service{want}, src.Services); diff != "" {
		t.Errorf("services differ (-want +got):\n%s", diff)
	}
	if want := (Text{V: "demo", At: place("rete.yaml", 1, 14, 20)}); src.Rete.Name != want {
		t.Errorf("name is %v, want %v", src.Rete.Name, want)
	}
}

// TestAValueEndsWhereItIsWritten reads one value in several spellings (CMP-1).
func TestAValueEndsWhereItIsWritten(t *testing.T) {
	t.Parallel()
	at := func(fromLine, from, toLine, to int) diag.Place {
		return diag.Place{File: "rete.yaml", Start: diag.Position{Line: fromLine, Column: from}, End: diag.Position{Line: toLine, Column: to}}
	}
	for name, c := range map[string]struct {
		text string
		want Text
	}{
		"plain":                    {"rete: {name: demo}", Text{V: "demo", At: at(1, 14, 1, 18)}},
		"double quotes":            {`rete: {name: "demo"}`, Text{V: "demo", At: at(1, 14, 1, 20)}},
		"single quotes":            {`rete: {name: 'demo' }`, Text{V: "demo", At: at(1, 14, 1, 20)}},
		"escapes":                  {`rete: {name: "d\x65mo\"\\"}`, Text{V: `demo"\`, At: at(1, 14, 1, 27)}},
		"doubled quotes":           {"rete: {name: 'it''s'}", Text{V: "it's", At: at(1, 14, 1, 21)}},
		"quotes over two lines":    {"rete:\n  name: \"de\n    mö\" # x", Text{V: "de mö", At: at(2, 9, 3, 8)}},
		"quotes behind wide ones":  {`rete: {ca: {cert: "ä"}, name: "\x41"}`, Text{V: "A", At: at(1, 31, 1, 37)}},
		"a block":                  {"rete:\n  name: |\n    demo\n", Text{V: "demo\n", At: at(2, 9, 2, 9)}},
		"plain over several lines": {"rete:\n  name: de\n    mo\n", Text{V: "de mo", At: at(2, 9, 2, 9)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			src, found := Load(Options{Root: writeTree(t, map[string]string{"rete.yaml": c.text})})
			if len(found) > 0 {
				t.Fatalf("unexpected findings: %v", found)
			}
			if src.Rete.Name != c.want {
				t.Errorf("name is %+v, want %+v", src.Rete.Name, c.want)
			}
		})
	}
}

func TestAnUnreadableFileIsALocatedError(t *testing.T) { // CMP-1
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("root reads every file whatever its mode")
	}
	dir := writeTree(t, map[string]string{"rete.yaml": "rete: {name: demo}\n", "secret.yaml": "nodes: \n", "dir/x.yaml": "nodes: \n"})
	for _, name := range []string{"secret.yaml", "dir"} {
		if err := os.Chmod(filepath.Join(dir, name), 0); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { os.Chmod(filepath.Join(dir, "dir"), 0o755) })
	src, found := Load(Options{Root: dir})
	var got []string
	for _, d := range found {
		got = append(got, d.Code+" "+d.Place.File)
	}
	if diff := cmp.Diff([]string{"FL0002 dir", "FL0002 secret.yaml"}, got); diff != "" {
		t.Errorf("findings differ (-want +got):\n%s", diff)
	}
	if !src.Unread() {
		t.Error("the source says that everything was read")
	}
}

func TestAnAbsolutePathBelowTheRootIsTaken(t *testing.T) { // CMP-2
	t.Parallel()
	dir := writeTree(t, map[string]string{"one.yaml": "nodes: {alpha: }\n", "two.yaml": "nodes: {beta: }\n", "three.txt": "nodes: {gamma: }\n"})
	src, found := Load(Options{Root: dir, Files: []string{filepath.Join(dir, "o*.yaml"), filepath.Join(dir, "three.txt"), "/etc/hosts"}})
	var names []string
	for _, n := range src.Nodes {
		names = append(names, n.Name.V)
	}
	if diff := cmp.Diff([]string{"alpha", "gamma"}, names); diff != "" {
		t.Errorf("nodes differ (-want +got):\n%s", diff)
	}
	if len(found) != 1 || found[0].Code != linkLeaves.ID {
		t.Errorf("findings are %v, want one %s for /etc/hosts", found, linkLeaves.ID)
	}
}

// TestHostileTextsEndSoon feeds what is made to cost much: the limits of CMP-1
// keep it linear.
func TestHostileTextsEndSoon(t *testing.T) {
	t.Parallel()
	const n = 20_000
	var laughs strings.Builder
	laughs.WriteString("a0: &a0 [x, x]\n")
	for i := 1; i < 30; i++ {
		fmt.Fprintf(&laughs, "a%d: &a%d [*a%d, *a%d, *a%d]\n", i, i, i-1, i-1, i-1)
	}
	for name, text := range map[string]string{
		"a billion laughs":           laughs.String(),
		"deep flow sequences":        "nodes: " + strings.Repeat("[", n),
		"deep flow mappings":         "nodes: " + strings.Repeat("{a: ", n),
		"deep block sequences":       "nodes:\n  " + strings.Repeat("- ", n),
		"explicit keys":              strings.Repeat("? ", n),
		"many entries on one line":   "groups: {" + strings.Repeat("! a, ", n) + "}",
		"many escapes on one line":   "groups: [" + strings.Repeat(`"\x61", `, n) + "]",
		"many equal keys":            "groups:\n" + strings.Repeat("  a:\n", n),
		"many unknown keys":          "nodes: {alpha: {" + strings.Repeat("!x socks: ,", n) + "}}",
		"one long scalar":            "nodes: " + strings.Repeat("x ", 20*n),
		"one long quoted scalar":     "nodes: \"" + strings.Repeat("\\n", 20*n) + "\"",
		"many comments":              strings.Repeat("# !\n", 10*n) + "nodes: !",
		"many documents":             strings.Repeat("---\n", n),
		"many words that are hidden": "a: b: " + strings.Repeat("word/ ", n),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			doc := &document{file: file{path: RootFile, shown: RootFile}, decoder: decoder{file: RootFile}}
			doc.decode([]byte(text))
			if took := time.Since(start); took > 20*time.Second {
				t.Errorf("took %v for %d bytes", took, len(text))
			}
			if len(doc.found) == 0 {
				t.Error("nothing was refused")
			}
		})
	}
}

func TestGlobs(t *testing.T) { // CMP-2
	t.Parallel()
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"**", "a/b/c.yaml", true},
		{"**/*.yaml", "a.yaml", true},
		{"**/*.yaml", "a/b/c.yaml", true},
		{"**/*.yaml", "a/b/c.yml", false},
		{"*.yaml", "a/b.yaml", false},
		{"a/**", "a/b/c", true},
		{"a/**", "ab/c", false},
		{"a/**/c", "a/c", true},
		{"a/**/c", "a/b/b/c", true},
		{"a/**/b/**/c", "a/x/b/y/z/c", true},
		{"a/**/b/**/c", "a/x/y/z/c", false},
		{"./a/?.[xy]", "a/b.x", true},
		{"a/?.[xy]", "a/b.z", false},
		{strings.Repeat("**/", 60) + "x", strings.Repeat("a/", 500) + "y", false},
	} {
		g, err := parseGlob(c.pattern)
		if err != nil {
			t.Errorf("%q: %v", c.pattern, err)
			continue
		}
		if got := g.match(c.name); got != c.want {
			t.Errorf("%.40q matches %.40q: %t, want %t", c.pattern, c.name, got, c.want)
		}
	}
	for _, bad := range []string{"", "/a", "../a", "a/../../b", "[", "a\\"} {
		if _, err := parseGlob(bad); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}

// FuzzLoad loads a repository of two arbitrary files (CMP-1, CMP-2): it never
// panics, every finding has a place inside its file, and is there once.
func FuzzLoad(f *testing.F) {
	seeds, _ := filepath.Glob("testdata/*/*.txtar")
	pages, _ := filepath.Glob("pages/*.txtar")
	seeds = append(seeds, pages...)
	for _, name := range seeds {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text), "nodes: {alpha: {vertices: [{kind: link}]}}")
		for _, part := range strings.Split(string(text), "-- ") {
			_, body, _ := strings.Cut(part, "--\n")
			f.Add(body, body)
		}
	}
	f.Add("source: {include: ['**/[a-z'], exclude: ['*']}\nrete: {name: x}", "- ? &a *a\n\t!")
	f.Fuzz(func(t *testing.T, rete, other string) {
		if len(rete)+len(other) > 1<<16 {
			t.Skip("longer texts only cost time here; TestHostileTextsEndSoon has them")
		}
		dir := writeTree(t, map[string]string{RootFile: rete, "sub/other.yml": other})
		src, found := Load(Options{Root: dir})
		if diff := cmp.Diff(found.Sorted(), found); diff != "" && len(found) > 0 {
			t.Errorf("not sorted, or twice: %s", diff)
		}
		for _, d := range found {
			checkPlace(t, d, src.Texts)
		}
	})
}

func checkPlace(t *testing.T, d diag.Diagnostic, texts diag.Sources) {
	t.Helper()
	text, known := texts[d.Place.File]
	if !d.Place.Known() || d.Place.Start.Line < 1 || d.Place.Start.Column < 1 {
		t.Errorf("%+v has no place", d)
	}
	if lines := strings.Count(string(text), "\n") + 1; known && d.Place.Start.Line > lines {
		t.Errorf("%+v is behind the last of %d lines", d, lines)
	}
}
