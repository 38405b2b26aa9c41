package conformance

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/florete/flor/conformance/internal/mutant"
)

// Bounds of one case against one mutant, which is often to wait in vain.
const (
	mutantWithin = 20 * time.Second // at most
	mutantLeast  = 5 * time.Second  // beside mutantTimes what the case takes with no mutant on
	mutantTimes  = 4
)

// Killing says which cases a mutant fails (CNF-4).
type Killing struct {
	Mutant string   `json:"mutant"`
	Killed []string `json:"killed_by"` // names of cases that fail it
	Spared []string `json:"spared_by"` // that should fail it, and pass
}

// Survives tells whether no case fails the mutant.
func (k Killing) Survives() bool { return len(k.Killed) == 0 }

// MutantReport says whether a suite sees what is wrong: of one subject, each
// mutant with the cases that it fails, and the cases that no mutant fails.
type MutantReport struct {
	Subject  string    `json:"subject"`
	Suite    string    `json:"suite"`
	Mutants  []Killing `json:"mutants"`
	Useless  []string  `json:"useless"`  // cases that no mutant fails
	Baseline []string  `json:"baseline"` // cases that fail while no mutant is on
}

// Good tells whether each mutant is killed by all the cases that it names, and
// each case kills one and passes where nothing is wrong.
func (r MutantReport) Good() bool {
	spared := slices.ContainsFunc(r.Mutants, func(k Killing) bool { return k.Survives() || len(k.Spared) > 0 })
	return !spared && len(r.Useless) == 0 && len(r.Baseline) == 0
}

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
// that it is the mutants that fail.
func (w *Workshop) KillMutants(ctx context.Context, s Subject, o MutantOptions) (MutantReport, error) {
	built, err := w.buildMutants(ctx, s)
	if err != nil {
		return MutantReport{}, err
	}
	trials, err := s.trials(built, o)
	if err != nil {
		return MutantReport{}, err
	}
	baseline := 0
	for baseline < len(trials) && trials[baseline].mutant == "" {
		baseline++
	}
	if err := runAll(ctx, trials[:baseline], o.Parallel); err != nil {
		return MutantReport{}, err
	}
	bound(trials)
	if err := runAll(ctx, trials[baseline:], o.Parallel); err != nil {
		return MutantReport{}, err
	}
	return s.sumUp(trials, o), nil
}

func runAll(ctx context.Context, trials []attempt, parallel int) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(parallel, 1))
	for i := range trials {
		group.Go(func() error {
			trials[i].run(ctx)
			return ctx.Err()
		})
	}
	return group.Wait()
}

// bound gives each mutant several times what its case took with none on.
func bound(trials []attempt) {
	took := map[string]time.Duration{}
	for i, t := range trials {
		if t.mutant == "" {
			took[t.check.Name] = t.took
		} else if base, known := took[t.check.Name]; known {
			trials[i].within = min(mutantWithin, mutantLeast+mutantTimes*base)
		}
	}
}

// attempt is one case against one mutant, or against none.
type attempt struct {
	mutant string // empty: the baseline
	named  bool   // the mutant says that this case kills it
	check  Case
	within time.Duration // 0: what the suite gives it
	took   time.Duration
	failed bool
}

func (a *attempt) run(ctx context.Context) {
	if a.within > 0 {
		bounded, cancel := context.WithTimeout(ctx, a.within)
		defer cancel()
		ctx = bounded
	}
	begun := time.Now()
	a.failed = a.check.Check(ctx) != nil
	a.took = time.Since(begun)
}

// trials lists what has to be run, the baseline first.
func (s Subject) trials(built Built, o MutantOptions) ([]attempt, error) {
	var trials []attempt
	if o.Only == nil {
		cases, err := s.cases(built)
		if err != nil {
			return nil, err
		}
		for _, c := range cases {
			trials = append(trials, attempt{check: c})
		}
	}
	for _, m := range s.mutants {
		if !o.selects(m) || len(m.Kills) == 0 {
			continue
		}
		built.Env = []string{mutant.Env(m.Name)}
		cases, err := s.cases(built)
		if err != nil {
			return nil, err
		}
		for _, c := range cases {
			if named := slices.Contains(m.Kills, c.Name); named || o.All {
				trials = append(trials, attempt{mutant: m.Name, named: named, check: c, within: mutantWithin})
			}
		}
	}
	return trials, nil
}

// sumUp makes the report of what was run.
func (s Subject) sumUp(trials []attempt, o MutantOptions) MutantReport {
	report := MutantReport{Subject: s.Name, Suite: s.Suite}
	byMutant := map[string]*Killing{}
	kills := map[string]bool{} // cases that fail some mutant
	for _, m := range s.mutants {
		if o.selects(m) {
			byMutant[m.Name] = &Killing{Mutant: m.Name}
		}
	}
	for _, t := range trials {
		switch k := byMutant[t.mutant]; {
		case k == nil && t.failed:
			report.Baseline = append(report.Baseline, t.check.Name)
		case k == nil:
		case t.failed:
			k.Killed = append(k.Killed, t.check.Name)
			kills[t.check.Name] = true
		case t.named:
			k.Spared = append(k.Spared, t.check.Name)
		}
	}
	for _, m := range s.mutants {
		if k := byMutant[m.Name]; k != nil && len(m.Kills) > 0 {
			report.Mutants = append(report.Mutants, *k)
		}
	}
	for _, t := range trials {
		if t.mutant == "" && !kills[t.check.Name] {
			report.Useless = append(report.Useless, t.check.Name)
		}
	}
	return report
}

// WriteTable writes for each case the mutants that it kills, then what is wrong,
// and one line that sums it up.
func (r MutantReport) WriteTable(w io.Writer) error {
	by := map[string][]string{}
	var cases []string
	for _, k := range r.Mutants {
		for _, name := range k.Killed {
			if by[name] == nil {
				cases = append(cases, name)
			}
			by[name] = append(by[name], k.Mutant)
		}
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, name := range cases {
		fmt.Fprintf(table, "%s/%s\tkills %s\n", r.Suite, name, strings.Join(by[name], ", "))
	}
	for _, fault := range r.Faults() {
		fmt.Fprintf(table, "%s\n", fault)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "%s: %d cases kill %d mutants\n", r.Subject, len(cases), len(r.Mutants))
	return err
}

// Faults says in words what keeps the report from being good.
func (r MutantReport) Faults() []string {
	var faults []string
	for _, k := range r.Mutants {
		if k.Survives() {
			faults = append(faults, fmt.Sprintf("mutant %s SURVIVED", k.Mutant))
		} else if len(k.Spared) > 0 {
			faults = append(faults, fmt.Sprintf("mutant %s is not killed by %s", k.Mutant, strings.Join(k.Spared, ", ")))
		}
	}
	for _, name := range r.Useless {
		faults = append(faults, fmt.Sprintf("case %s/%s kills no mutant: it shows nothing", r.Suite, name))
	}
	for _, name := range r.Baseline {
		faults = append(faults, fmt.Sprintf("case %s/%s fails while no mutant is on", r.Suite, name))
	}
	return faults
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
	mutants, faults := 0, 0
	for _, r := range rs {
		mutants, faults = mutants+len(r.Mutants), faults+len(r.Faults())
	}
	if faults > 0 {
		return fmt.Sprintf("failure: %d mutants, %d faults", mutants, faults)
	}
	return fmt.Sprintf("success: %d mutants, none survived; every case kills at least one", mutants)
}

// WriteJSON writes the reports for programs.
func (rs MutantReports) WriteJSON(w io.Writer) error { return encodeJSON(w, rs) }
