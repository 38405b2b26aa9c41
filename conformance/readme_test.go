package conformance

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// commandBlocks are the shell blocks of README.md, in order.
func commandBlocks(t *testing.T) []string {
	t.Helper()
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	var blocks []string
	for _, match := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllSubmatch(readme, -1) {
		blocks = append(blocks, string(match[1]))
	}
	return blocks
}

// TestReadmeBeginsWithTheTwoCommands pins what a fresh machine is promised;
// the project's CI runs both as they stand there.
func TestReadmeBeginsWithTheTwoCommands(t *testing.T) {
	t.Parallel()
	const want = "go run ./examples/quickstart\ngo test ./...\n"
	if got := commandBlocks(t)[0]; got != want {
		t.Fatalf("README.md begins with %q, want %q", got, want)
	}
	ci, err := os.ReadFile("../.ci/run")
	if err != nil {
		t.Fatal(err)
	}
	for command := range strings.Lines(want) {
		command = strings.TrimSpace(command)
		if !strings.Contains(string(ci), strings.Replace(command, "go test", "go test -json", 1)) {
			t.Errorf(".ci/run does not run %q", command)
		}
	}
}

// TestReadmeCommandsOfTheOperatorWork runs the operator's first minutes as
// written, in an empty directory.
func TestReadmeCommandsOfTheOperatorWork(t *testing.T) {
	t.Parallel()
	bin, home := t.TempDir(), t.TempDir()
	build := exec.Command("go", "build", "-o", bin+string(filepath.Separator), "../cmd/retectl")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	shell := exec.Command("sh", "-eu", "-c", commandBlocks(t)[1])
	shell.Dir = home
	shell.Env = append(os.Environ(), "PATH="+bin+string(filepath.ListSeparator)+os.Getenv("PATH"), "HOME="+home)
	if out, err := shell.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if _, err := os.Stat(filepath.Join(home, "demo", "mgmt01.bundle")); err != nil {
		t.Errorf("the last command left no bundle: %v", err)
	}
}
