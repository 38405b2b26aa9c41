package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/florete/flor/cmd/internal/completion/completiontest"
)

// Tab completes in the shells, with names from the repository, be it that its
// YAML has faults.
func TestTab(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	env := []string{"RETECTL_HOME=" + filepath.Join(dir, "keys")}
	made := exec.CommandContext(t.Context(), "retectl", "init", "demo", "--no-passphrase", "--operator", "fyodor")
	made.Dir, made.Env = dir, append(os.Environ(), env...)
	if out, err := made.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	dir = filepath.Join(dir, "demo")
	more := "nodes: {alpha: {vertices: [{kind: lonk}]}, $(touch hacked): }\nservices: {alpha/ssh: {addr: 127.0.0.1:22}}\n"
	if err := os.WriteFile(filepath.Join(dir, "more.yaml"), []byte(more), 0o600); err != nil {
		t.Fatal(err)
	}
	completiontest.Program{Name: "retectl", Dir: dir, Env: env}.Run(t, []completiontest.Case{
		{Line: "retectl issue-b", Want: "issue-bundle"},
		{Line: "retectl issue-bundle --node al", Want: "alpha"},
		{Line: "retectl issue-bundle --node=al", Want: "--node=alpha"},
		{Line: "retectl issue-bundle --node alpha --out users.y", Want: "users.yaml"},
		{Line: "retectl access --to alpha/ssh --who fy", Want: "fyodor"},
		{Line: "retectl access --to alpha/", Want: "alpha/ssh"},
		{Line: "retectl access --format me", Want: "mermaid"},
		{Line: "retectl ca rev", Want: "revoke"},
		{Line: "retectl ca rotate-signer retire pri", Want: "primary"},
		{Line: "retectl --repo ../demo issue-bundle --node al", Want: "alpha"},
	})
}
