package self

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// Killing says which cases a mutant fails (CNF-4).
type Killing struct {
	Mutant string   `json:"mutant"`
	Killed []string `json:"killed_by"` // names of cases that fail it
	Spared []string `json:"spared_by"` // that should fail it, and pass, also alone
	// SecondLook are those of Killed that passed it beside other cases, and failed
	// it alone.
	SecondLook []string `json:"second_look,omitempty"`
}

// Survives tells whether no case fails the mutant.
func (k Killing) Survives() bool { return len(k.Killed) == 0 }

// Failed is a case that failed although nothing was wrong on purpose.
type Failed struct {
	Case  string `json:"case"`
	Words string `json:"words"` // what it failed with
}

// MutantReport says whether a suite sees what is wrong: of one subject, each
// mutant with the cases that it fails, and the cases that no mutant fails.
type MutantReport struct {
	Subject  string    `json:"subject"`
	Suite    string    `json:"suite"`
	Mutants  []Killing `json:"mutants"`
	Useless  []string  `json:"useless"`  // cases that no mutant fails
	Baseline []Failed  `json:"baseline"` // cases that fail while no mutant is on, also alone
	// SecondLook are cases that failed, while no mutant was on, beside other cases,
	// and passed alone.
	SecondLook []Failed `json:"second_look,omitempty"`
}

// Good tells whether each mutant is killed by all the cases that it names, and
// each case kills one and passes where nothing is wrong.
func (r MutantReport) Good() bool { return len(r.Faults()) == 0 }

// Faults says in words what keeps the report from being good.
func (r MutantReport) Faults() []string {
	var faults []string
	tell := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	for _, k := range r.Mutants {
		switch {
		case k.Survives() && len(k.Spared) == 0:
			tell("mutant %s SURVIVED", k.Mutant)
		case k.Survives():
			tell("mutant %s SURVIVED: it passes %s", k.Mutant, r.ids(k.Spared))
		case len(k.Spared) > 0:
			tell("mutant %s is not killed by %s", k.Mutant, r.ids(k.Spared))
		}
	}
	for _, name := range r.Useless {
		tell("case %s/%s kills no mutant: it shows nothing", r.Suite, name)
	}
	for _, f := range r.Baseline {
		tell("case %s/%s fails while no mutant is on: %s", r.Suite, f.Case, oneLine(f.Words))
	}
	return faults
}

// SecondLooks says in words what came out as it must only when it was run once
// more, alone. It is no fault, and should not be: a case that sees what is wrong by
// chance is to be made certain.
func (r MutantReport) SecondLooks() []string {
	var looks []string
	for _, k := range r.Mutants {
		if len(k.SecondLook) > 0 {
			looks = append(looks, fmt.Sprintf("mutant %s passed %s beside other cases, and was killed alone", k.Mutant, r.ids(k.SecondLook)))
		}
	}
	for _, f := range r.SecondLook {
		looks = append(looks, fmt.Sprintf("case %s/%s failed beside other cases while no mutant was on, and passed alone: %s", r.Suite, f.Case, oneLine(f.Words)))
	}
	return looks
}

// ids are the full names of cases.
func (r MutantReport) ids(names []string) string {
	var all []string
	for _, name := range names {
		all = append(all, r.Suite+"/"+name)
	}
	return strings.Join(all, ", ")
}

func oneLine(words string) string { return strings.ReplaceAll(words, "\n", " ") }

// WriteTable writes for each case the mutants that it kills, those marked that it
// killed at a second look; then what is wrong, and one line that sums it up.
func (r MutantReport) WriteTable(w io.Writer) error {
	by := map[string][]string{}
	var cases []string
	for _, k := range r.Mutants {
		for _, name := range k.Killed {
			if by[name] == nil {
				cases = append(cases, name)
			}
			words := k.Mutant
			if slices.Contains(k.SecondLook, name) {
				words += " (second look)"
			}
			by[name] = append(by[name], words)
		}
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, name := range cases {
		fmt.Fprintf(table, "%s/%s\tkills %s\n", r.Suite, name, strings.Join(by[name], ", "))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, words := range slices.Concat(r.SecondLooks(), r.Faults()) {
		fmt.Fprintln(w, words)
	}
	_, err := fmt.Fprintf(w, "%s: %d cases kill %d mutants\n", r.Subject, len(cases), len(r.Mutants))
	return err
}

// MutantReports are those of all subjects.
type MutantReports []MutantReport

// Good tells whether every report is.
func (rs MutantReports) Good() bool {
	return !slices.ContainsFunc(rs, func(r MutantReport) bool { return !r.Good() })
}

// ExitCode is 0 if every report is good, else 1.
func (rs MutantReports) ExitCode() int {
	if rs.Good() {
		return 0
	}
	return 1
}

// Summary is the reports in one line.
func (rs MutantReports) Summary() string {
	mutants, faults, looks := 0, 0, 0
	for _, r := range rs {
		mutants, faults, looks = mutants+len(r.Mutants), faults+len(r.Faults()), looks+len(r.SecondLooks())
	}
	line := fmt.Sprintf("success: %d mutants, none survived; every case kills at least one", mutants)
	if faults > 0 {
		line = fmt.Sprintf("failure: %d mutants, %d faults", mutants, faults)
	}
	if looks > 0 {
		line += fmt.Sprintf("; %d needed a second look", looks)
	}
	return line
}

// WriteSummary writes every second look and every fault once more, with the subject
// that it is about, and the line that sums them up: the end of a long output tells
// what to do.
func (rs MutantReports) WriteSummary(w io.Writer) error {
	for _, r := range rs {
		for _, words := range r.SecondLooks() {
			fmt.Fprintf(w, "second look: %s: %s\n", r.Subject, words)
		}
	}
	for _, r := range rs {
		for _, words := range r.Faults() {
			fmt.Fprintf(w, "fault: %s: %s\n", r.Subject, words)
		}
	}
	_, err := fmt.Fprintln(w, rs.Summary())
	return err
}

// WriteJSON writes the reports for programs.
func (rs MutantReports) WriteJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(rs)
}
