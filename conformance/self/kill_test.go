package self

import (
	"bytes"
	"context"
	"errors"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/florete/flor/conformance"
	"github.com/florete/flor/conformance/internal/mutant"
)

// subjectOf makes a subject whose cases come out as fails says: on says which mutant
// is on, empty is none, and nth how often the case ran against it, from 1.
func subjectOf(cases []string, kills map[string][]string, fails func(name, on string, nth int) error) Subject {
	var (
		mu  sync.Mutex
		ran = map[string]int{}
	)
	s := Subject{Name: "subject", Suite: "s"}
	for _, name := range []string{"first", "second"} {
		if kills[name] != nil {
			s.mutants = append(s.mutants, mutant.Mutant{Name: name, Kills: kills[name]})
		}
	}
	s.cases = func(b built) ([]conformance.Case, error) {
		on := ""
		if len(b.env) > 0 {
			on = strings.TrimPrefix(b.env[0], mutant.Env(""))
		}
		var all []conformance.Case
		for _, name := range cases {
			all = append(all, conformance.Case{Suite: "s", Name: name, Check: func(context.Context) error {
				mu.Lock()
				defer mu.Unlock()
				ran[on+" "+name]++
				return fails(name, on, ran[on+" "+name])
			}})
		}
		return all, nil
	}
	return s
}

var errSeen = errors.New("seen")

// sees fails every mutant.
func sees(_, on string, _ int) error {
	if on == "" {
		return nil
	}
	return errSeen
}

// TestWhatComesOutOtherwiseIsLookedAtAgain covers what a second look can come to:
// it counts, and is told, and what is wrong stands at the end of the summary (CNF-4).
func TestWhatComesOutOtherwiseIsLookedAtAgain(t *testing.T) {
	t.Parallel()
	both := map[string][]string{"first": {"a"}, "second": {"b"}}
	tests := map[string]struct {
		kills map[string][]string
		fails func(name, on string, nth int) error
		want  string // the summary
	}{
		"everything as it must": {both, sees, "success: 2 mutants, none survived; every case kills at least one\n"},
		"a mutant passes beside others": {both, func(name, on string, nth int) error {
			if on == "first" && nth == 1 {
				return nil
			}
			return sees(name, on, nth)
		}, "second look: subject: mutant first passed s/a beside other cases, and was killed alone\n" +
			"success: 2 mutants, none survived; every case kills at least one; 1 needed a second look\n"},
		"a mutant passes twice": {both, func(name, on string, nth int) error {
			if on == "first" {
				return nil
			}
			return sees(name, on, nth)
		}, "fault: subject: mutant first SURVIVED: it passes s/a\n" +
			"fault: subject: case s/a kills no mutant: it shows nothing\n" +
			"failure: 2 mutants, 2 faults\n"},
		"one of two cases sees a mutant": {map[string][]string{"first": {"a", "b"}, "second": {"b"}}, func(name, on string, nth int) error {
			if on == "first" && name == "b" {
				return nil
			}
			return sees(name, on, nth)
		}, "fault: subject: mutant first is not killed by s/b\nfailure: 2 mutants, 1 faults\n"},
		"a case fails beside others": {both, func(name, on string, nth int) error {
			if on == "" && name == "b" && nth == 1 {
				return errors.New("change\nthis")
			}
			return sees(name, on, nth)
		}, "second look: subject: case s/b failed beside other cases while no mutant was on, and passed alone: change this\n" +
			"success: 2 mutants, none survived; every case kills at least one; 1 needed a second look\n"},
		"a case fails always": {both, func(name, on string, nth int) error {
			if name == "b" {
				return errors.New("change this")
			}
			return sees(name, on, nth)
		}, "fault: subject: case s/b fails while no mutant is on: change this\nfailure: 2 mutants, 1 faults\n"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			report, err := subjectOf([]string{"a", "b"}, tt.kills, tt.fails).kill(t.Context(), built{}, MutantOptions{Parallel: 4})
			check(t, err)
			var out bytes.Buffer
			check(t, MutantReports{report}.WriteSummary(&out))
			if diff := cmp.Diff(tt.want, out.String()); diff != "" {
				t.Error(diff)
			}
			if good := strings.HasPrefix(tt.want, "fault"); (MutantReports{report}).Good() == good {
				t.Errorf("good: %v", !good)
			}
		})
	}
}

// TestTheTableMarksSecondLooks: who reads the table sees which kill was by chance.
func TestTheTableMarksSecondLooks(t *testing.T) {
	t.Parallel()
	s := subjectOf([]string{"a"}, map[string][]string{"first": {"a"}, "second": {"a"}}, func(_, on string, nth int) error {
		if on == "" || on == "second" && nth == 1 {
			return nil
		}
		return errSeen
	})
	report, err := s.kill(t.Context(), built{}, MutantOptions{})
	check(t, err)
	var out bytes.Buffer
	check(t, report.WriteTable(&out))
	want := "s/a  kills first, second (second look)\n" +
		"mutant second passed s/a beside other cases, and was killed alone\n" +
		"subject: 1 cases kill 2 mutants\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

// TestWhatGoesWrongEverywhereIsNotLookedAtAgain: that is no chance, and would take
// for ever.
func TestWhatGoesWrongEverywhereIsNotLookedAtAgain(t *testing.T) {
	t.Parallel()
	var names []string
	for n := range mostSecondLooks + 1 {
		names = append(names, strings.Repeat("x", n+1))
	}
	most := 0
	s := subjectOf(names, map[string][]string{"first": names}, func(_, _ string, nth int) error {
		most = max(most, nth)
		return nil
	})
	report, err := s.kill(t.Context(), built{}, MutantOptions{Only: regexp.MustCompile("^first$")})
	check(t, err)
	if most != 1 || report.Good() {
		t.Errorf("ran %d times, %v", most, report.Faults())
	}
}
