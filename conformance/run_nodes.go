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

// runSubtests runs a suite that needs nothing but a command.
func runSubtests(t *testing.T, argv []string, suite func([]string) ([]Case, error)) {
	t.Helper()
	cases, err := suite(argv)
	runIn(t, cases, err, nil)
}
