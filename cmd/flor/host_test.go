package main

import (
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/florete/flor/cmd/flor/internal/service"
	"github.com/florete/flor/store"
)

// TestHostScripts pins how flor is installed, enabled, upgraded and removed, with
// agents that run (INS-1 to INS-3, BND-2, BND-3).
func TestHostScripts(t *testing.T) {
	t.Parallel()
	root, err := os.MkdirTemp("", "flor")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(root) })
	demo := newRete("demo")
	testscript.Run(t, testscript.Params{
		Dir:         "testdata/host",
		WorkdirRoot: root,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"await": await, "syslog": syslog, "build": buildPrograms, "started": started,
		},
		Setup: func(env *testscript.Env) error {
			if err := setUp(env); err != nil {
				return err
			}
			env.Setenv("FLOR_LIB_DIR", "")
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("FAKE_SYSTEMD", "")
			env.Setenv("FAKE_UNIT_PATH", filepath.Join(env.WorkDir, "p/share/systemd/user"))
			env.Defer(func() { stopAgents(filepath.Join(env.WorkDir, "systemd")) })
			for name, version := range map[string]uint64{"alpha.bundle": 1, "newer.bundle": 2} {
				if err := os.WriteFile(filepath.Join(env.WorkDir, name), demo.bundleAt(version), 0o600); err != nil {
					return err
				}
			}
			return os.Mkdir(filepath.Join(env.WorkDir, "systemd"), 0o755)
		},
	})
}

// stopAgents ends what the fake of systemd has started and a script left.
func stopAgents(dir string) {
	f := &fakeSystemd{dir: dir}
	files, _ := filepath.Glob(f.file("*", "pid"))
	for _, file := range files {
		_ = f.stop(strings.TrimSuffix(filepath.Base(file), ".pid"))
	}
}

// build DIR VERSION: puts the four programs into DIR, each a little other in each
// version.
func buildPrograms(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(os.MkdirAll(ts.MkAbs(args[0]), 0o755))
	for _, name := range []string{"flor", "retectl", "flor-vertex", "flor-coordinator"} {
		from, err := exec.LookPath(name)
		ts.Check(err)
		text, err := os.ReadFile(from)
		ts.Check(err)
		ts.Check(os.WriteFile(filepath.Join(ts.MkAbs(args[0]), name), append(text, args[1]...), 0o755))
	}
}

// started again|still VAR: the agent of scope demo that the fake runs is another
// process than the one in VAR, or still that; VAR is set to it.
func started(ts *testscript.TestScript, _ bool, args []string) {
	f := &fakeSystemd{dir: ts.Getenv("FAKE_SYSTEMD")}
	text, err := os.ReadFile(f.file("demo", "pid"))
	ts.Check(err)
	pid, before := string(text), ts.Getenv(args[1])
	if f.pid("demo") == 0 {
		ts.Fatalf("process %s does not run", pid)
	}
	if (pid == before) != (args[0] == "still") {
		ts.Fatalf("the agent is process %s, before it was %q", pid, before)
	}
	ts.Setenv(args[1], pid)
}

// TestInSystemModeTheScopeBelongsToTheAccount enrols as root does (SET-1, INS-1).
func TestInSystemModeTheScopeBelongsToTheAccount(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root can give files to another account")
	}
	nobody, err := user.Lookup("nobody")
	if err != nil {
		t.Fatal(err)
	}
	s := newStation(t)
	prefix := filepath.Join(s.dir, "p")
	run := func(want int, program string, args ...string) string {
		t.Helper()
		cmd := s.command(args...)
		cmd.Path = program
		out, _ := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != want {
			t.Fatalf("flor %v: exit code %d\n%s", args, code, out)
		}
		return string(out)
	}
	run(0, filepath.Join(s.lib, "flor"), "install", "--system", "--prefix", prefix, "--account", "nobody")
	installed := filepath.Join(prefix, "bin/flor")
	out := run(0, installed, "enroll", s.file("node.bundle", newRete("demo").bundle()))
	if !strings.Contains(out, "flor agent run --rete demo") {
		t.Errorf("where no service manager runs, enroll says: %s", out)
	}
	for path, want := range map[string]string{"state/retes": "0", "state/retes/demo": nobody.Uid, "state/retes/demo/identity/ca.crt": nobody.Uid, "state/retes/demo.lock": nobody.Uid} {
		info, err := os.Stat(filepath.Join(s.dir, path))
		if err != nil {
			t.Fatal(err)
		}
		if uid := info.Sys().(*syscall.Stat_t).Uid; want != strconv.Itoa(int(uid)) {
			t.Errorf("%s belongs to %d, want %s", path, uid, want)
		}
	}
	if out := run(3, installed, "agent", "enable"); !strings.Contains(out, "flor agent run --rete demo") {
		t.Errorf("enable without a service manager says: %s", out)
	}
	if out := run(0, installed, "uninstall", "--purge"); !strings.Contains(out, "the account nobody stays") {
		t.Errorf("uninstall says: %s", out)
	}
	if left, _ := filepath.Glob(filepath.Join(s.dir, "state/*")); len(left) > 0 {
		t.Errorf("after a purge there is %v", left)
	}
}

// INS-1: an account is told to stay where there is one, and had to do with it.
func TestTheAccountThatStays(t *testing.T) {
	t.Parallel()
	whoever, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		s    service.Settings
		want string
	}{
		{"one that is there", service.Settings{Mode: store.System, Account: whoever.Username}, "the account " + whoever.Username + " stays\n"},
		{"one that is not", service.Settings{Mode: store.System, Account: "no account of this name"}, ""},
		{"in user mode there is none", service.Settings{Mode: store.User, Account: whoever.Username}, ""},
	}
	for _, tt := range tests {
		var said strings.Builder
		tt.s.Layout.State = t.TempDir()
		(&console{err: &said}).sayWhatStays(tt.s, false)
		if said.String() != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, said.String(), tt.want)
		}
	}
}
