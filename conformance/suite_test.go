package conformance

import (
	"bytes"
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// caseThat makes a case of a feature whose check is f.
func caseThat(name, feature string, f func() error) Case {
	return Case{
		Suite: "s", Name: name, Title: "title of " + name, Feature: feature, Requirements: []string{"CNF-3"},
		Check: func(context.Context) error { return f() },
	}
}

func good() error { return nil }

func bad() error { return errors.New("change this") }

// TestOutcomesOfARun: only what passed everything is a success, and only what
// passed all that it claims is exit 0 (CNF-3).
func TestOutcomesOfARun(t *testing.T) {
	t.Parallel()
	mixed := []Case{caseThat("a", "x", good), caseThat("b", "y", bad)}
	tests := []struct {
		name    string
		cases   []Case
		options Options
		outcome Outcome
		exit    int
	}{
		{"everything passes", []Case{caseThat("a", "x", good)}, Options{}, Success, 0},
		{"something fails", mixed, Options{}, Failure, 1},
		{"what fails is not claimed", mixed, Options{Features: []string{"x"}}, Partial, 0},
		{"what is claimed fails", mixed, Options{Features: []string{"y"}}, Failure, 1},
		{"nothing is claimed", mixed, Options{Features: []string{}}, NoResult, 3},
		{"nothing is selected", mixed, Options{Only: regexp.MustCompile("^z$")}, NoResult, 3},
		{"what is selected is not claimed", mixed, Options{Only: regexp.MustCompile("b$"), Features: []string{"x"}}, NoResult, 3},
		{"what is selected passes", mixed, Options{Only: regexp.MustCompile("a$")}, Success, 0},
		{"there are no cases", nil, Options{}, NoResult, 3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			report := Run(t.Context(), Target{}, tt.cases, tt.options)
			if report.Outcome != tt.outcome || report.ExitCode() != tt.exit {
				t.Errorf("%s, exit %d: want %s, exit %d", report.Outcome, report.ExitCode(), tt.outcome, tt.exit)
			}
		})
	}
}

// TestTheSeedDecidesTheOrder: the same seed, the same run (CNF-3).
func TestTheSeedDecidesTheOrder(t *testing.T) {
	t.Parallel()
	order := func(seed uint64) string {
		var ran strings.Builder
		var cases []Case
		for _, name := range strings.Split("abcdefghij", "") {
			cases = append(cases, caseThat(name, "x", func() error {
				ran.WriteString(name)
				return nil
			}))
		}
		report := Run(t.Context(), Target{}, cases, Options{Seed: seed})
		if report.Cases[0].ID != "s/a" || report.Cases[9].ID != "s/j" {
			t.Errorf("the report is not in the order of the suite: %+v", report.Cases)
		}
		return ran.String()
	}
	first, again, other := order(1), order(1), order(2)
	if first != again || first == other {
		t.Errorf("seed 1 %s, seed 1 again %s, seed 2 %s", first, again, other)
	}
}

// TestRepeatFindsAFlake: a case that fails once has failed.
func TestRepeatFindsAFlake(t *testing.T) {
	t.Parallel()
	runs := 0
	flake := caseThat("flake", "x", func() error {
		if runs++; runs == 3 {
			return bad()
		}
		return nil
	})
	report := Run(t.Context(), Target{}, []Case{flake}, Options{Repeat: 5})
	want := Result{ID: "s/flake", Title: "title of flake", Feature: "x", Requirements: []string{"CNF-3"}, Verdict: Fail, Words: "run 3 of 5: change this"}
	if diff := cmp.Diff(want, report.Cases[0]); diff != "" {
		t.Error(diff)
	}
}

func TestARunThatIsEndedIsNoSuccess(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	report := Run(ctx, Target{}, []Case{caseThat("a", "x", good)}, Options{})
	if report.Outcome != Failure {
		t.Errorf("%+v", report)
	}
}

// TestARunThatIsEndedBlamesNobody: what a case says of a program that it was kept
// from watching to the end is not true.
func TestARunThatIsEndedBlamesNobody(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	report := Run(ctx, Target{}, []Case{caseThat("a", "x", func() error { cancel(); return bad() })}, Options{})
	if got := report.Cases[0].Words; got != "the run was ended before the case was: context canceled" {
		t.Error(got)
	}
}

func TestAClaimOfNothingThatThereIsIsRefused(t *testing.T) {
	t.Parallel()
	cases := []Case{caseThat("a", "x", good)}
	if err := CheckFeatures([]string{"x"}, cases); err != nil {
		t.Error(err)
	}
	if err := CheckFeatures([]string{"x", "tea"}, cases); err == nil {
		t.Error("a claim of tea was taken")
	}
}

// TestTheTableTellsWhatToChange: words of a failure stand below its case, and
// what is not claimed in the last line.
func TestTheTableTellsWhatToChange(t *testing.T) {
	t.Parallel()
	report := Run(t.Context(), Target{}, []Case{caseThat("a", "x", bad), caseThat("b", "y", good)}, Options{Features: []string{"x"}})
	var out bytes.Buffer
	check(t, report.WriteTable(&out))
	want := "fail  s/a  CNF-3  title of a\n" +
		"                    change this\n" +
		"skip  s/b  CNF-3  title of b\n" +
		"failure: 0 passed, 1 failed, 1 skipped; not claimed: y (seed 0)\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}
