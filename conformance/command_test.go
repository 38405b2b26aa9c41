package conformance

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestACommandIsMeantFromWhereTheCallerStands covers each way to name a program:
// cases start it from directories of their own (CNF-3).
func TestACommandIsMeantFromWhereTheCallerStands(t *testing.T) {
	t.Parallel()
	here := mustGetwd(t)
	for name, c := range map[string]struct{ given, want []string }{
		"beside the caller":   {[]string{"./mine", "-v"}, []string{filepath.Join(here, "mine"), "-v"}},
		"below the caller":    {[]string{"bin/mine"}, []string{filepath.Join(here, "bin/mine")}},
		"from the root":       {[]string{"/bin/true"}, []string{"/bin/true"}},
		"along PATH":          {[]string{"python3", "./mine.py"}, []string{"python3", "./mine.py"}},
		"nothing, for --list": {nil, nil},
	} {
		got, err := anchored(c.given)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", name, diff)
		}
	}
}

// TestSuitesTakeAProgramByARelativePath runs a case of a suite against one.
func TestSuitesTakeAProgramByARelativePath(t *testing.T) {
	t.Parallel()
	dir, err := filepath.Rel(mustGetwd(t), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "leaves-a-mark")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n: >\"$0.started\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	cases, err := Program([]string{program}, ProgramOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_ = cases[0].Check(t.Context())
	if _, err := os.Stat(program + ".started"); err != nil {
		t.Errorf("the program was not started: %v", err)
	}
}

func mustGetwd(t *testing.T) string {
	t.Helper()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	return here
}
