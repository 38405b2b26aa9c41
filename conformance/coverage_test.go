package conformance

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// ruleLine is a line of SPEC.md that states a rule.
var ruleLine = regexp.MustCompile(`(?m)^- \*\*([A-Z]+-\d+[a-z]?)\*\* `)

// rulesOf returns the numbers of all rules of SPEC.md, in its order.
func rulesOf(spec string) []string {
	var rules []string
	for _, found := range ruleLine.FindAllStringSubmatch(spec, -1) {
		rules = append(rules, found[1])
	}
	return rules
}

// allCases returns the cases of all suites, to be looked at and not to be run.
func allCases(t *testing.T) []Case {
	t.Helper()
	command := []string{"program"}
	var all []Case
	add := func(cases []Case, err error) {
		check(t, err)
		all = append(all, cases...)
	}
	add(Vectors(Command(command)))
	add(Coordinator(CoordinatorTarget{Command: command}))
	add(Program(command, ProgramOptions{}))
	add(Agent(command))
	add(Vertex(command))
	return all
}

// casesByRule returns the IDs of all cases of all suites, by rule.
func casesByRule(t *testing.T) map[string][]string {
	t.Helper()
	byRule := map[string][]string{}
	for _, c := range allCases(t) {
		if len(c.Requirements) == 0 {
			t.Errorf("%s cites no requirement", c.ID())
		}
		for _, rule := range c.Requirements {
			byRule[rule] = append(byRule[rule], c.ID())
		}
	}
	return byRule
}

// TestEachRuleHasCasesOrSaysWhyNot checks both directions of CNF-1: no rule
// without a case or an explicit reason, no case without a rule.
func TestEachRuleHasCasesOrSaysWhyNot(t *testing.T) {
	t.Parallel()
	rules, byRule := rulesOf(readSpec(t)), casesByRule(t)
	for i, rule := range rules {
		switch _, excused := untested[rule]; {
		case slices.Contains(rules[:i], rule):
			t.Errorf("SPEC.md states %s twice", rule)
		case len(byRule[rule]) == 0 && !excused:
			t.Errorf("%s has neither a case nor a reason why not", rule)
		case len(byRule[rule]) > 0 && excused:
			t.Errorf("%s has cases, and a reason why it has none", rule)
		}
	}
	for rule := range byRule {
		if !slices.Contains(rules, rule) {
			t.Errorf("cases cite %s, which SPEC.md does not state: %v", rule, byRule[rule])
		}
	}
	for rule := range untested {
		if !slices.Contains(rules, rule) {
			t.Errorf("%s is excused, and SPEC.md does not state it", rule)
		}
	}
}

// TestSpecificationListsTheCasesOfEachRule holds the table of rules and cases in
// SPEC.md against the suites; with -update it writes it.
func TestSpecificationListsTheCasesOfEachRule(t *testing.T) {
	spec, byRule := readSpec(t), casesByRule(t)
	table := "\n| rule | cases |\n|---|---|\n"
	for _, rule := range rulesOf(spec) {
		table += fmt.Sprintf("| %s | %s |\n", rule, ruleCases(rule, byRule[rule]))
	}
	writeSpec(t, replaceBlock(t, spec, "<!-- cases: written by go test ./conformance -update -->\n", "<!-- end of cases -->\n", table))
}

// ruleCases lists cases by their groups, so that the table stays readable.
func ruleCases(rule string, ids []string) string {
	if len(ids) == 0 {
		return "none; " + untested[rule]
	}
	var cells []string
	for len(ids) > 0 {
		group := ids[0][:strings.LastIndexByte(ids[0], '/')+1]
		var names []string
		for len(ids) > 0 && strings.HasPrefix(ids[0], group) {
			names = append(names, strings.TrimPrefix(ids[0], group))
			ids = ids[1:]
		}
		cells = append(cells, group+": "+strings.Join(names, ", "))
	}
	return strings.Join(cells, "; ")
}

// TestSuitesHaveTheDepthThatIsAskedFor holds the number of cases of each suite, and
// that no two have one name.
func TestSuitesHaveTheDepthThatIsAskedFor(t *testing.T) {
	t.Parallel()
	count, seen := map[string]int{}, map[string]bool{}
	for _, c := range allCases(t) {
		count[c.Suite]++
		if seen[c.ID()] {
			t.Errorf("two cases are named %s", c.ID())
		}
		seen[c.ID()] = true
	}
	least := map[string]int{VectorSuite: 120, ProgramSuite: 20, CoordinatorSuite: 40, AgentSuite: 40, VertexSuite: 50}
	for suite, n := range least {
		if count[suite] < n {
			t.Errorf("suite %s has %d cases, want %d", suite, count[suite], n)
		}
	}
}

func TestFeaturesOfTheVectors(t *testing.T) {
	t.Parallel()
	cases, err := Vectors(Command{"verifier"})
	check(t, err)
	want := []string{"agent-payload", "bundle", "canonical", "hostname", "route", "set", "vertex-payload"}
	if got := Features(cases); !slices.Equal(got, want) {
		t.Errorf("features %v, want %v", got, want)
	}
}
