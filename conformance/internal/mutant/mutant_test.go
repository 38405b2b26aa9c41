package mutant_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/florete/flor/conformance/internal/mutant"
)

const program = `package main

import "fmt"

func main() {
	sum := 1 + 1
	fmt.Println(sum, "apples")
}
`

// world writes a module with one program.
func world(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module example.org/m\n\ngo 1.26\n", "main.go": program} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

var (
	pears = mutant.Mutant{
		Name: "pears", File: "main.go", Old: `"apples"`, New: `map[bool]string{true: "pears", false: "apples"}[mutated()]`,
	}
	three = mutant.Mutant{Name: "three", File: "main.go", Old: "sum := 1 + 1\n", New: "sum := 1 + 1\n if mutated() { sum++ }\n"}
	four  = mutant.Mutant{Name: "four", File: "main.go", Old: "sum := 1 + 1\n", New: "sum := 1 + 1\n if mutated() { sum += 2 }\n"}
)

// CNF-4: one build serves all mutants; none is on unless it is asked for.
func TestOneBuildServesAllMutants(t *testing.T) {
	t.Parallel()
	root, dir := world(t), t.TempDir()
	overlay, err := mutant.Overlay(root, dir, []mutant.Mutant{pears, three, four})
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(dir, "m")
	build := exec.Command("go", "build", "-overlay", overlay, "-o", binary, ".")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for name, want := range map[string]string{"": "2 apples\n", "pears": "2 pears\n", "three": "3 apples\n", "four": "4 apples\n", "other": "2 apples\n"} {
		cmd := exec.Command(binary)
		cmd.Env = append(os.Environ(), mutant.Env(name))
		if got, err := cmd.Output(); err != nil || string(got) != want {
			t.Errorf("with %q on: %q, %v, want %q", name, got, err, want)
		}
	}
	if text, err := os.ReadFile(filepath.Join(root, "main.go")); err != nil || string(text) != program {
		t.Errorf("the source was changed: %v\n%s", err, text)
	}
}

func TestMutantsThatCannotBeAreRefused(t *testing.T) {
	t.Parallel()
	with := func(change func(*mutant.Mutant)) []mutant.Mutant {
		m := pears
		change(&m)
		return []mutant.Mutant{three, m}
	}
	tests := map[string]struct {
		mutants []mutant.Mutant
		says    string
	}{
		"text that is not there":          {with(func(m *mutant.Mutant) { m.Old = "plums" }), `mutant pears: main.go has this text 0 times, not once: "plums"`},
		"text that is there twice":        {with(func(m *mutant.Mutant) { m.Old = "1" }), "mutant pears: main.go has this text 2 times"},
		"a file that is not there":        {with(func(m *mutant.Mutant) { m.File = "gone.go" }), "mutant pears: "},
		"a mutant without a switch":       {with(func(m *mutant.Mutant) { m.New = `"pears"` }), "mutant pears: its new text does not ask for mutated()"},
		"two mutants of one text":         {with(func(m *mutant.Mutant) { m.Old = "1 + 1\n\tfmt" }), "mutant pears: other mutants of main.go left this text there 0 times"},
		"a file without a package clause": {with(func(m *mutant.Mutant) { m.File, m.Old = "go.mod", "example" }), "mutant pears: go.mod has no package clause"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := mutant.Overlay(world(t), t.TempDir(), tt.mutants)
			if err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%v, want %q", err, tt.says)
			}
		})
	}
}
