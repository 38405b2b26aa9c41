package main

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/florete/flor/conformance"
)

// call runs a command line.
func call(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	code = run(t.Context(), append([]string{"flor-conformance"}, args...), &out, &err)
	return code, out.String(), err.String()
}

// script writes a verifier in shell that answers every vector alike.
func script(t *testing.T, body string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "verifier.sh")
	if err := os.WriteFile(path, []byte(body), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestOurOwnPackagesPassAllVectors is CNF-5 for the suite that there is.
func TestOurOwnPackagesPassAllVectors(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := call(t, "vectors")
	if code != 0 || !strings.Contains(stdout, "\nsuccess: ") || stderr != "" {
		t.Errorf("exit %d\n%s%s", code, stdout[max(0, len(stdout)-2000):], stderr)
	}
}

// CNF-3: nothing but passing everything that is claimed is exit 0.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	accepts := script(t, "exit 0")
	tests := []struct {
		name string
		args []string
		code int
		says string // in either stream
	}{
		{"no suite", nil, 2, "say which command"},
		{"an unknown suite", []string{"vektors"}, 2, "flor-conformance has no command \"vektors\"; did you mean \"vectors\"?"},
		{"an unknown flag", []string{"vectors", "--rnu", "x"}, 2, "flor-conformance vectors has no flag --rnu; did you mean \"--run\"?"},
		{"a bad expression", []string{"vectors", "--run", "("}, 2, "--run"},
		{"a bad repeat", []string{"vectors", "--repeat", "0"}, 2, "--repeat"},
		{"an unknown feature", []string{"vectors", "--features", "tea"}, 2, "there is no feature \"tea\""},
		{"an argument too many", []string{"vectors", "x"}, 2, "takes no arguments"},
		{"no verifier", []string{"verifier"}, 2, "after --"},
		{"no case selected", []string{"vectors", "--run", "^nothing$"}, 3, "no-result: 0 passed"},
		{"an expression that matches nothing", []string{"vectors", "--run", "^nothing$"}, 3, "--run ^nothing$ matches none of the "},
		{"only unclaimed cases selected", []string{"vectors", "--features", "bundle", "--run", "^vectors/trust/"}, 3, "no-result: 0 passed"},
		{"a part is claimed", []string{"vectors", "--features", "hostname"}, 0, "partial: "},
		{"what is not claimed is named", []string{"vectors", "--features", "hostname"}, 0, "not claimed: agent-payload, bundle, canonical, route, set, vertex-payload"},
		{"a selection passes", []string{"vectors", "--run", "^vectors/mark/"}, 0, "selected among"},
		{"a verifier that accepts everything", []string{"verifier", "--run", "/mark/below$", "--", "sh", accepts}, 1, "accepted; it must be refused with FL1401"},
		{"a verifier that refuses everything", []string{"verifier", "--run", "/mark/equal$", "--", "sh", script(t, "echo FL1401; exit 1")}, 1, "refused with"},
		{"a verifier with another code", []string{"verifier", "--run", "/mark/below$", "--", "sh", script(t, "echo FL9999; exit 1")}, 1, "the code must be FL1401"},
		{"a verifier with the right code", []string{"verifier", "--run", "/mark/below$", "--", "sh", script(t, "echo FL1401 words; exit 1")}, 0, "success: 1 passed"},
		{"a verifier with another output", []string{"verifier", "--run", "/canonical/scalar$", "--", "sh", script(t, `echo '"b"'`)}, 1, "it must print"},
		{"a verifier with the right output", []string{"verifier", "--run", "/canonical/scalar$", "--", "sh", script(t, `echo '"a"'`)}, 0, "success: 1 passed"},
		{"a verifier that claims and does not support", []string{"verifier", "--run", "/mark/", "--", "sh", script(t, "exit 3")}, 1, "leave it out of --features"},
		{"a verifier that crashes", []string{"verifier", "--run", "/mark/below$", "--", "sh", script(t, "kill -9 $$")}, 1, "is no answer"},
		{"a verifier that is not there", []string{"verifier", "--run", "/mark/below$", "--", "./no-such-program"}, 1, "gave no answer"},
		{"a verifier sees the directory", []string{"verifier", "--run", "/mark/below$", "--", "sh", script(t, `test "$1" = verify && test "$(cat "$2/node")" = alpha && echo FL1401 && exit 1`)}, 0, "success"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := call(t, tt.args...)
			if code != tt.code || !strings.Contains(stdout+stderr, tt.says) {
				t.Errorf("exit %d, want %d with %q\n%s%s", code, tt.code, tt.says, stdout, stderr)
			}
		})
	}
}

// CNF-3: the report for programs has what the table has.
func TestReportsForPrograms(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	asJSON, asJUnit := filepath.Join(dir, "r.json"), filepath.Join(dir, "r.xml")
	code, _, stderr := call(t, "verifier", "--seed", "7", "--run", "/mark/", "--json", asJSON, "--junit", asJUnit, "--", "sh", script(t, "exit 0"))
	if code != 1 {
		t.Fatalf("exit %d\n%s", code, stderr)
	}
	var report conformance.Report
	read(t, asJSON, json.Unmarshal, &report)
	if report.Seed != 7 || report.Passed != 2 || report.Failed != 4 || len(report.Target.Command) != 2 {
		t.Errorf("JSON: %+v", report)
	}
	for _, c := range report.Cases {
		if len(c.Requirements) == 0 || c.Verdict == conformance.Fail && c.Words == "" {
			t.Errorf("JSON: %+v", c)
		}
	}
	var suite struct {
		Tests    int        `xml:"tests,attr"`
		Failures int        `xml:"failures,attr"`
		Failed   []struct{} `xml:"testcase>failure"`
	}
	read(t, asJUnit, xml.Unmarshal, &suite)
	if suite.Tests != 6 || suite.Failures != 4 || len(suite.Failed) != 4 {
		t.Errorf("JUnit: %+v", suite)
	}
}

func TestJSONOnStandardOutputIsAlone(t *testing.T) {
	t.Parallel()
	_, stdout, _ := call(t, "vectors", "--run", "/mark/", "--json", "-")
	var report conformance.Report
	if err := json.Unmarshal([]byte(stdout), &report); err != nil {
		t.Errorf("%v in %s", err, stdout)
	}
}

func TestListRunsNothing(t *testing.T) {
	t.Parallel()
	code, stdout, _ := call(t, "verifier", "--list", "--run", "/mark/below$", "--", "./no-such-program")
	if want := "vectors/mark/below\tset\tAGT-4\ta version below the mark\n"; code != 0 || stdout != want {
		t.Errorf("exit %d, %q, want %q", code, stdout, want)
	}
}

func read(t *testing.T, path string, decode func([]byte, any) error, into any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err == nil {
		err = decode(text, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}
