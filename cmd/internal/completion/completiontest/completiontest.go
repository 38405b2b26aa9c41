// Package completiontest presses the Tab key: it tries the completion of a
// program in the shells of this machine, as a person would.
package completiontest

import (
	"bytes"
	"embed"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Program is a program as it is found in PATH.
type Program struct {
	// Name is that of its completion script, and of the file that is run.
	Name string
	// Dir is the directory in which lines are typed.
	Dir string
	// Env are variables beside those of the test.
	Env []string
}

// Case is a line that is typed, and what its last word is once Tab was pressed.
// It should have one completion: of several, shells show each in their own way.
type Case struct{ Line, Want string }

//go:embed press.bash press.zsh press.fish
var drivers embed.FS

// Run tries each case in bash, zsh and fish. A shell that is not installed is
// skipped.
func (p Program) Run(t *testing.T, cases []Case) {
	for _, shell := range []string{"bash", "zsh", "fish"} {
		t.Run(shell, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(shell); err != nil {
				t.Skipf("%s is not installed", shell)
			}
			got := p.press(t, shell, cases)
			for i, c := range cases {
				if got[i] != c.Want {
					t.Errorf("%s: %q is completed as %q, want %q", shell, c.Line, got[i], c.Want)
				}
			}
		})
	}
}

// press gives, for each case, the last word behind Tab.
func (p Program) press(t *testing.T, shell string, cases []Case) []string {
	t.Helper()
	home := t.TempDir()
	script, driver := filepath.Join(home, "script"), filepath.Join(home, "driver")
	p.file(t, script, p.output(t, home, p.Name, "completion", shell))
	text, err := drivers.ReadFile("press." + shell)
	if err != nil {
		t.Fatal(err)
	}
	p.file(t, driver, text)
	args := append(bare[shell], driver, p.Name, script)
	for _, c := range cases {
		args = append(args, c.Line)
	}
	lines := strings.Split(strings.TrimSuffix(string(p.output(t, home, shell, args...)), "\n"), "\n")
	if len(lines) != len(cases) {
		t.Fatalf("%s answered %d of %d lines: %q", shell, len(lines), len(cases), lines)
	}
	return lines
}

// bare are the options with which a shell reads no files of its user.
var bare = map[string][]string{
	"bash": {"--norc", "--noprofile"},
	"zsh":  {"-f"},
	"fish": {"--no-config"},
}

func (p Program) file(t *testing.T, name string, text []byte) {
	t.Helper()
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

func (p Program) output(t *testing.T, home, name string, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = p.Dir
	cmd.Env = append(append(os.Environ(), "HOME="+home), p.Env...)
	var prose bytes.Buffer
	cmd.Stderr = &prose
	out, err := cmd.Output()
	if err != nil || prose.Len() > 0 {
		t.Fatalf("%s %q: %v\n%s", name, args, err, prose.Bytes())
	}
	return out
}
