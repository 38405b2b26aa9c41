package conformance

import (
	"testing"
)

// RunVerifier runs the vectors against a verifier inside of a test, a subtest for
// each: the program of a command line that is called with verify <directory>.
func RunVerifier(t *testing.T, argv ...string) {
	t.Helper()
	cases, err := Vectors(Command(argv))
	runIn(t, cases, err, nil)
}

// RunProgram runs the suite for supervised programs inside of a test. A program
// that needs a payload, or has not built everything, uses [ProgramTest].
func RunProgram(t *testing.T, argv ...string) {
	t.Helper()
	ProgramTest{}.Run(t, argv...)
}

// ProgramTest is the suite for supervised programs with options.
type ProgramTest struct {
	ProgramOptions
	// Features are what the program claims to have; nil: everything. The rest is
	// skipped, and no success is claimed for it.
	Features []string
}

// Run runs the suite inside of a test.
func (p ProgramTest) Run(t *testing.T, argv ...string) {
	t.Helper()
	cases, err := Program(argv, p.ProgramOptions)
	runIn(t, cases, err, p.Features)
}

// RunCoordinator runs the suite for coordinators inside of a test.
func RunCoordinator(t *testing.T, argv ...string) {
	t.Helper()
	cases, err := Coordinator(CoordinatorTarget{Command: argv})
	runIn(t, cases, err, nil)
}

// RunCases runs cases inside of a test, a subtest for each, those at once that the
// test's -parallel allows. features are claimed; nil: everything. Cases of what is
// not claimed are left out, and the test's log names it.
func RunCases(t *testing.T, cases []Case, features []string) {
	t.Helper()
	runIn(t, cases, nil, features)
}

func runIn(t *testing.T, cases []Case, err error, features []string) {
	t.Helper()
	if err == nil {
		err = CheckFeatures(features, cases)
	}
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Features: features}
	for _, c := range cases {
		if !o.claims(c) {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			if err := c.Check(t.Context()); err != nil {
				t.Errorf("%s (%v): %v", c.Title, c.Requirements, err)
			}
		})
	}
	if left := unclaimed(features, cases); len(left) > 0 {
		t.Logf("partial; not claimed: %v", left)
	}
}
