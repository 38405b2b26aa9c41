package self

import (
	"context"
	"regexp"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/florete/flor/conformance"
	"github.com/florete/flor/conformance/internal/mutant"
)

// Bounds of one case against one mutant, which is often to wait in vain.
const (
	mutantWithin = 20 * time.Second // at most
	mutantLeast  = 5 * time.Second  // beside mutantTimes what the case takes with no mutant on
	mutantTimes  = 4
)

// mostSecondLooks is how many attempts of one round may come out otherwise than
// they must and be looked at again: where it is more, it is not by chance.
const mostSecondLooks = 20

// MutantOptions say how mutants are run.
type MutantOptions struct {
	Only     *regexp.Regexp // names of mutants; nil: all. With it no case is useless
	All      bool           // run every case against every mutant, not only those it names
	Parallel int            // how many cases run at once; 0 counts as 1
}

func (o MutantOptions) selects(m mutant.Mutant) bool {
	return o.Only == nil || o.Only.MatchString(m.Name)
}

// KillMutants builds a subject with all its mutants, and runs each mutant against
// the cases that it names; and every case once while no mutant is on, which tells
// that it is the mutants that fail. What comes out otherwise than it must is run once
// more, alone, after the others.
func (w *Workshop) KillMutants(ctx context.Context, s Subject, o MutantOptions) (MutantReport, error) {
	b, err := w.buildMutants(ctx, s)
	if err != nil {
		return MutantReport{}, err
	}
	return s.kill(ctx, b, o)
}

// kill runs a program that was built with all mutants of a subject.
func (s Subject) kill(ctx context.Context, b built, o MutantOptions) (MutantReport, error) {
	attempts, err := s.attempts(b, o)
	if err != nil {
		return MutantReport{}, err
	}
	baseline := 0
	for baseline < len(attempts) && attempts[baseline].mutant == "" {
		baseline++
	}
	if err := runAll(ctx, attempts[:baseline], o.Parallel); err != nil {
		return MutantReport{}, err
	}
	bound(attempts)
	if err := runAll(ctx, attempts[baseline:], o.Parallel); err != nil {
		return MutantReport{}, err
	}
	return s.sumUp(attempts, o), nil
}

// runAll runs attempts beside each other, then those once more that have not come
// out as they must, one after the other.
func runAll(ctx context.Context, attempts []attempt, parallel int) error {
	group, beside := errgroup.WithContext(ctx)
	group.SetLimit(max(parallel, 1))
	for i := range attempts {
		group.Go(func() error {
			attempts[i].run(beside)
			return beside.Err()
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	odd := 0
	for _, a := range attempts {
		if !a.asItMust() {
			odd++
		}
	}
	for i := range attempts {
		if odd <= mostSecondLooks && !attempts[i].asItMust() {
			attempts[i].lookAgain(ctx)
		}
	}
	return ctx.Err()
}

// bound gives each mutant several times what its case took with none on.
func bound(attempts []attempt) {
	took := map[string]time.Duration{}
	for i, a := range attempts {
		if a.mutant == "" {
			took[a.check.Name] = a.took
		} else if base, known := took[a.check.Name]; known {
			attempts[i].within = min(mutantWithin, mutantLeast+mutantTimes*base)
		}
	}
}

// attempt is one case against one mutant, or against none.
type attempt struct {
	mutant string // empty: the baseline
	named  bool   // the mutant says that this case kills it
	check  conformance.Case
	within time.Duration // 0: what the suite gives it

	took   time.Duration
	err    error // what the case failed with; nil: it passed
	second bool  // this is what a second look came to
	first  error // and this the first one
}

func (a *attempt) run(ctx context.Context) {
	if a.within > 0 {
		bounded, cancel := context.WithTimeout(ctx, a.within)
		defer cancel()
		ctx = bounded
	}
	begun := time.Now()
	a.err = a.check.Check(ctx)
	a.took = max(a.took, time.Since(begun))
}

// lookAgain runs the attempt once more, and what that comes to counts.
func (a *attempt) lookAgain(ctx context.Context) {
	a.first, a.second = a.err, true
	a.run(ctx)
}

// asItMust tells whether the attempt has come out as it must: a case passes while no
// mutant is on, and fails a mutant that names it.
func (a attempt) asItMust() bool {
	if a.mutant == "" {
		return a.err == nil
	}
	return !a.named || a.err != nil
}

// attempts lists what has to be run, the baseline first.
func (s Subject) attempts(b built, o MutantOptions) ([]attempt, error) {
	var all []attempt
	if o.Only == nil {
		cases, err := s.cases(b)
		if err != nil {
			return nil, err
		}
		for _, c := range cases {
			all = append(all, attempt{check: c})
		}
	}
	for _, m := range s.mutants {
		if !o.selects(m) || len(m.Kills) == 0 {
			continue
		}
		b.env = []string{mutant.Env(m.Name)}
		cases, err := s.cases(b)
		if err != nil {
			return nil, err
		}
		for _, c := range cases {
			if named := slices.Contains(m.Kills, c.Name); named || o.All {
				all = append(all, attempt{mutant: m.Name, named: named, check: c, within: mutantWithin})
			}
		}
	}
	return all, nil
}

// sumUp makes the report of what was run.
func (s Subject) sumUp(attempts []attempt, o MutantOptions) MutantReport {
	report := MutantReport{Subject: s.Name, Suite: s.Suite}
	at := map[string]int{} // where a mutant is in the report
	for _, m := range s.mutants {
		if o.selects(m) && len(m.Kills) > 0 {
			at[m.Name] = len(report.Mutants)
			report.Mutants = append(report.Mutants, Killing{Mutant: m.Name})
		}
	}
	kills := map[string]bool{} // cases that fail some mutant
	for _, a := range attempts {
		if a.mutant == "" {
			report.noteBaseline(a)
			continue
		}
		report.Mutants[at[a.mutant]].note(a)
		kills[a.check.Name] = kills[a.check.Name] || a.err != nil
	}
	for _, a := range attempts {
		if a.mutant == "" && !kills[a.check.Name] {
			report.Useless = append(report.Useless, a.check.Name)
		}
	}
	return report
}

// noteBaseline notes a case that failed while no mutant was on.
func (r *MutantReport) noteBaseline(a attempt) {
	switch {
	case a.err != nil:
		r.Baseline = append(r.Baseline, Failed{a.check.Name, a.err.Error()})
	case a.second:
		r.SecondLook = append(r.SecondLook, Failed{a.check.Name, a.first.Error()})
	}
}

// note notes what a case came to against the mutant.
func (k *Killing) note(a attempt) {
	switch {
	case a.err == nil && a.named:
		k.Spared = append(k.Spared, a.check.Name)
	case a.err != nil:
		k.Killed = append(k.Killed, a.check.Name)
		if a.second {
			k.SecondLook = append(k.SecondLook, a.check.Name)
		}
	}
}
