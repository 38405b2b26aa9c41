package mutant

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// Mutant is one deliberate mistake. One that takes changes in several places is
// several values of one name, of which the first alone names cases.
type Mutant struct {
	Name  string   // kebab-case; it says what is wrong
	File  string   // from the root of the module, with slashes
	Old   string   // text that File has exactly once
	New   string   // what replaces it; mutated() is true while the mutant is on
	Kills []string // names of cases that fail it, without that of their suite
}

// variable names the mutant that is on. It does not begin with FLOR, so that an
// agent hands it down to what it runs (SUP-1).
const variable = "CONFORMANCE_MUTANT"

// Env is the variable that turns a mutant on in a process built with its overlay.
func Env(name string) string { return variable + "=" + name }

// call is what stands for the switch in New.
const call = "mutated()"

// switchFile is added to each package that has a mutant.
const switchFile = "conformance_mutant.go"

const switchText = `package %s

import "os"

var mutantThatIsOn = os.Getenv(%q)

func mutantIsOn(name string) bool { return mutantThatIsOn == name }
`

// Overlay writes changed copies of source files into a directory, and the file
// for go build -overlay, whose path it returns. root is that of the module.
func Overlay(root, dir string, mutants []Mutant) (string, error) {
	byFile := map[string][]Mutant{}
	for _, m := range mutants {
		if !strings.Contains(m.New, call) {
			return "", fmt.Errorf("mutant %s: its new text does not ask for %s, so it would always be on", m.Name, call)
		}
		byFile[m.File] = append(byFile[m.File], m)
	}
	o := overlay{root: root, dir: dir, Replace: map[string]string{}}
	var failed []error
	for file, of := range byFile {
		failed = append(failed, o.change(file, of))
	}
	if err := errors.Join(failed...); err != nil {
		return "", err
	}
	text, err := json.Marshal(o)
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "overlay.json")
	return path, os.WriteFile(path, text, 0o600)
}

// overlay is the file of go build -overlay.
type overlay struct {
	root, dir string
	Replace   map[string]string
}

// change adds a file with its mutants, and the switch of its package.
func (o overlay) change(file string, mutants []Mutant) error {
	path := filepath.Join(o.root, filepath.FromSlash(file))
	source, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("mutant %s: %w", mutants[0].Name, err)
	}
	changed, err := apply(string(source), mutants)
	if err != nil {
		return err
	}
	name := packageClause.FindStringSubmatch(changed)
	if name == nil {
		return fmt.Errorf("mutant %s: %s has no package clause", mutants[0].Name, file)
	}
	return errors.Join(
		o.replace(path, changed),
		o.replace(filepath.Join(filepath.Dir(path), switchFile), fmt.Sprintf(switchText, name[1], variable)))
}

var packageClause = regexp.MustCompile(`(?m)^package (\w+)$`)

// replace writes the text that stands for the file at a path.
func (o overlay) replace(path, text string) error {
	if o.Replace[path] != "" {
		return nil // the switch, for the second file of a package
	}
	copied := filepath.Join(o.dir, fmt.Sprintf("%d.go", len(o.Replace)))
	o.Replace[path] = copied
	return os.WriteFile(copied, []byte(text), 0o600)
}

// apply puts all mutants of one file into its source, one after the other: two may
// share a text that the first of them leaves in place.
func apply(source string, mutants []Mutant) (string, error) {
	changed := source
	for _, m := range mutants {
		if n := strings.Count(source, m.Old); n != 1 {
			return "", fmt.Errorf("mutant %s: %s has this text %d times, not once: %q", m.Name, m.File, n, m.Old)
		}
		if n := strings.Count(changed, m.Old); n != 1 {
			return "", fmt.Errorf("mutant %s: other mutants of %s left this text there %d times, not once: %q", m.Name, m.File, n, m.Old)
		}
		changed = strings.Replace(changed, m.Old, m.switched(), 1)
	}
	return changed, nil
}

// switched is the new text with the switch of this mutant.
func (m Mutant) switched() string {
	return strings.ReplaceAll(m.New, call, fmt.Sprintf("mutantIsOn(%q)", m.Name))
}
