package conformance

import (
	"context"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
)

// Verdict is how a case ended.
type Verdict string

// The verdicts.
const (
	Pass Verdict = "pass"
	Fail Verdict = "fail"
	Skip Verdict = "skip" // of a feature that is not claimed
)

// Case is one check of a suite: one observation, independent of all others.
type Case struct {
	Suite        string   // vectors, program, coordinator, agent or vertex
	Name         string   // unique within the suite
	Title        string   // what is looked at, a sentence without full stop
	Feature      string   // what an implementation must have built
	Requirements []string // rule numbers of SPEC.md
	// Check returns nil when the requirement is kept, and else words that tell
	// an implementer what to change. It ends soon after its context does.
	Check func(context.Context) error
}

// ID is the case's name among all suites, such as vectors/trust/expired.
func (c Case) ID() string { return c.Suite + "/" + c.Name }

// Options says which cases are run, and how.
type Options struct {
	Only     *regexp.Regexp // of IDs; nil: all
	Features []string       // claimed; nil: all
	Repeat   int            // how often each case is run; 0 counts as 1
	Seed     uint64         // of the order of cases: the same seed, the same run
	Parallel int            // how many cases run at once; 0 counts as 1
}

// Run runs cases in an order that the seed decides, and reports them in the order
// given (CNF-3). A case is run until it fails, and not beside itself. When ctx
// ends, the cases that are left fail.
func Run(ctx context.Context, target Target, cases []Case, o Options) Report {
	report := Report{Target: target, Seed: o.Seed, Repeat: max(o.Repeat, 1), Total: len(cases)}
	for _, c := range cases {
		if o.Selects(c) {
			report.Cases = append(report.Cases, newResult(c))
		}
	}
	byID := make(map[string]Case, len(cases))
	for _, c := range cases {
		byID[c.ID()] = c
	}
	order := rand.New(rand.NewPCG(o.Seed, 0)).Perm(len(report.Cases))
	var group errgroup.Group
	group.SetLimit(max(o.Parallel, 1))
	for _, i := range order {
		group.Go(func() error {
			result := &report.Cases[i]
			result.conclude(o.judge(ctx, byID[result.ID], report.Repeat))
			return nil
		})
	}
	_ = group.Wait() // no case ends the others
	report.settle(o.Features, cases)
	return report
}

// Selects tells whether a case is among those that are run.
func (o Options) Selects(c Case) bool { return o.Only == nil || o.Only.MatchString(c.ID()) }

func (o Options) claims(c Case) bool {
	return o.Features == nil || slices.Contains(o.Features, c.Feature)
}

// unclaimed returns the features of cases that are not claimed.
func unclaimed(claimed []string, cases []Case) []string {
	left := []string{}
	for _, feature := range Features(cases) {
		if claimed != nil && !slices.Contains(claimed, feature) {
			left = append(left, feature)
		}
	}
	return left
}

// judge runs one case.
func (o Options) judge(ctx context.Context, c Case, times int) (Verdict, error) {
	if !o.claims(c) {
		return Skip, fmt.Errorf("the feature %s is not claimed", c.Feature)
	}
	for n := range times {
		err := ctx.Err()
		if err == nil {
			err = c.Check(ctx)
		}
		if err != nil && ctx.Err() != nil {
			err = fmt.Errorf("the run was ended before the case was: %w", ctx.Err())
		}
		if err != nil && times > 1 {
			err = fmt.Errorf("run %d of %d: %w", n+1, times, err)
		}
		if err != nil {
			return Fail, err
		}
	}
	return Pass, nil
}

// Features returns the features of cases, sorted.
func Features(cases []Case) []string {
	var all []string
	for _, c := range cases {
		all = append(all, c.Feature)
	}
	return uniqueSorted(all)
}

func uniqueSorted(words []string) []string {
	slices.Sort(words)
	return slices.Compact(words)
}

// CheckFeatures refuses a claim of something that no case is about: it would
// pass by having nothing to show.
func CheckFeatures(claimed []string, cases []Case) error {
	known := Features(cases)
	for _, feature := range claimed {
		if !slices.Contains(known, feature) {
			return fmt.Errorf("there is no feature %q; there are %s", feature, strings.Join(known, ", "))
		}
	}
	return nil
}
