package conformance

import "testing"

// RunAgent runs the suite for agents against a command, each case a subtest of t.
func RunAgent(t *testing.T, argv ...string) {
	t.Helper()
	runSubtests(t, argv, Agent)
}

// RunVertex runs the suite for vertices against a command, each case a subtest of
// t.
func RunVertex(t *testing.T, argv ...string) {
	t.Helper()
	runSubtests(t, argv, Vertex)
}

// runSubtests runs cases at once, as far as -parallel allows; a case that fails
// says what the program must do otherwise.
func runSubtests(t *testing.T, argv []string, suite func([]string) ([]Case, error)) {
	t.Helper()
	cases, err := suite(argv)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			if err := c.Check(t.Context()); err != nil {
				t.Errorf("%s %v: %v", c.ID(), c.Requirements, err)
			}
		})
	}
}
