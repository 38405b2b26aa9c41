package conformance

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/florete/flor/conformance/vectors"
)

// pythonVerifier is the verifier in another language, written from SPEC.md.
const pythonVerifier = "verifiers/python"

// needPython skips a test where the verifier cannot run.
func needPython(t *testing.T) {
	t.Helper()
	if out, err := exec.Command("python3", "-B", "-c", "import cryptography").CombinedOutput(); err != nil {
		t.Skipf("the verifier in Python needs python3 and python3-cryptography: %v\n%s", err, out)
	}
}

// runPython runs a program of the verifier, and returns its output and whether
// it exited with 0.
func runPython(t *testing.T, dir string, args ...string) (string, bool) {
	t.Helper()
	published, err := filepath.Abs("vectors")
	check(t, err)
	cmd := exec.Command("python3", append([]string{"-B", filepath.Join(dir, "vectors.py")}, append(args, published)...)...)
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState.ExitCode() != 1 {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
	}
	return string(out), err == nil
}

// TestVerifierInAnotherLanguagePassesAllVectors is the proof that SPEC.md
// suffices (CNF-1, CNF-2).
func TestVerifierInAnotherLanguagePassesAllVectors(t *testing.T) {
	t.Parallel()
	needPython(t)
	if out, ok := runPython(t, pythonVerifier); !ok || !strings.HasSuffix(out, " 0 failed\n") {
		t.Error(out)
	}
}

// TestVerifierAnswersOnItsCommandLine runs a few vectors the way CNF-2 has it:
// a process for each.
func TestVerifierAnswersOnItsCommandLine(t *testing.T) {
	t.Parallel()
	needPython(t)
	cases, err := Vectors(Command{"python3", "-B", pythonVerifier + "/verify.py"})
	check(t, err)
	report := Run(t.Context(), Target{}, cases, Options{Only: regexp.MustCompile(`/plain$|/mark/below$|/escapes-needless$`)})
	if report.Passed != 7 || report.Failed != 0 {
		t.Errorf("%s\n%+v", report.Summary(), report.Cases)
	}
}

// TestACopyWithoutOneCheckFailsTheCasesOfThatCheck takes one check out of the
// verifier: exactly the cases of that check fail, and no other.
func TestACopyWithoutOneCheckFailsTheCasesOfThatCheck(t *testing.T) {
	t.Parallel()
	needPython(t)
	tests := []struct {
		name, file, old, new string
		fails                func(vectors.Entry) bool
	}{
		{"numbers (ENV-7)", "canon.py", "if not exact(value):", "if False:", hasCode("FL1015")},
		{"the signer's window (ENV-13)", "sets.py", "if not valid_at(by.cert, self.now):", "if False:",
			either(hasCode("FL1106"), named("bundle/set-signer-expired"))},
		{"replay (AGT-4)", "sets.py", "if version < mark:", "if False:", hasCode("FL1401")},
		{"modes of entries (BND-1)", "bundle.py", "if self.mode != 0o600:", "if False:", named("bundle/mode-0644", "bundle/mode-setuid")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			out, _ := runPython(t, copyWith(t, tt.file, tt.old, tt.new))
			if diff := cmp.Diff(casesWhere(t, tt.fails), failedCases(out)); diff != "" {
				t.Errorf("without its check of %s the verifier fails others (-want +got):\n%s", tt.name, diff)
			}
		})
	}
}

// copyWith copies the verifier with one change.
func copyWith(t *testing.T, file, old, new string) string {
	t.Helper()
	dir := t.TempDir()
	check(t, os.CopyFS(dir, os.DirFS(pythonVerifier)))
	path := filepath.Join(dir, file)
	text, err := os.ReadFile(path)
	check(t, err)
	if n := strings.Count(string(text), old); n != 1 {
		t.Fatalf("%s has %q %d times, not once", file, old, n)
	}
	check(t, os.WriteFile(path, []byte(strings.Replace(string(text), old, new, 1)), 0o600))
	return dir
}

func failedCases(out string) []string {
	var failed []string
	for line := range strings.Lines(out) {
		if rest, ok := strings.CutPrefix(line, "fail "); ok {
			name, _, _ := strings.Cut(rest, ":")
			failed = append(failed, name)
		}
	}
	slices.Sort(failed)
	return failed
}

func casesWhere(t *testing.T, holds func(vectors.Entry) bool) []string {
	t.Helper()
	index, err := vectors.Load()
	check(t, err)
	var names []string
	for _, e := range index.Cases {
		if holds(e) {
			names = append(names, e.Name)
		}
	}
	return names
}

func hasCode(code string) func(vectors.Entry) bool {
	return func(e vectors.Entry) bool { return e.Code == code }
}

func named(names ...string) func(vectors.Entry) bool {
	return func(e vectors.Entry) bool { return slices.Contains(names, e.Name) }
}

func either(a, b func(vectors.Entry) bool) func(vectors.Entry) bool {
	return func(e vectors.Entry) bool { return a(e) || b(e) }
}

// TestEveryVectorIsKilledByAMutant tests the vectors: each is failed by a
// verifier that is wrong in one place (CNF-4). With -v it prints the table of
// cases and their mutants.
func TestEveryVectorIsKilledByAMutant(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: some 250 wrong verifiers take 6 s of CPU")
	}
	needPython(t)
	table, ok := runPython(t, pythonVerifier, "--mutants")
	t.Log(table)
	index, err := vectors.Load()
	check(t, err)
	if !ok || strings.Contains(table, "SURVIVED") {
		t.Error("a vector is killed by no mutant, so that it shows nothing; or a mutant is alive")
	}
	for _, e := range index.Cases {
		if !strings.Contains(table, "\n"+e.Name+"\t") && !strings.HasPrefix(table, e.Name+"\t") {
			t.Errorf("%s is not in the table of mutants", e.Name)
		}
	}
}
