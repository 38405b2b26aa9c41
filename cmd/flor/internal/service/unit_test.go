package service

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/florete/flor/store"
)

var update = flag.Bool("update", false, "write what is rendered into testdata")

func systemSettings(prefix string) Settings {
	return Settings{
		Mode: store.System, Prefix: prefix, Account: "flor",
		Layout: store.Layout{Mode: store.System, State: "/var/lib/flor", Config: "/etc/flor", RuntimeBase: "/run/flor"},
	}
}

func userSettings(prefix string) Settings {
	return Settings{
		Mode: store.User, Prefix: prefix,
		Layout: store.Layout{
			Mode: store.User, State: prefix + "/state/flor", Config: prefix + "/config/flor", RuntimeBase: "/run/user/1000/flor",
		},
		Environment: []string{"FLOR_STATE_HOME=" + prefix + "/state/flor"},
	}
}

// render gives the files of an install by name.
func render(t *testing.T, s Settings) map[string][]byte {
	t.Helper()
	files, err := SystemdFiles(s)
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string][]byte{}
	for _, f := range files {
		texts[f.Path] = f.Data
	}
	return texts
}

// golden compares with a file of testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

func TestWhatSystemdReadsIsAsRecorded(t *testing.T) {
	t.Parallel()
	system := render(t, systemSettings("/usr/local"))
	golden(t, "system.service", system["lib/systemd/system/flor-agent@.service"])
	golden(t, "tmpfiles.conf", system["lib/tmpfiles.d/flor.conf"])
	golden(t, "sysusers.conf", system["lib/sysusers.d/flor.conf"])
	golden(t, "user.service", render(t, userSettings("/home/alice/.local"))["share/systemd/user/flor-agent@.service"])
}

// INS-2 names what a unit must have and must not have.
func TestUnitHasWhatTheRuleNames(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]Settings{"system": systemSettings("/usr/local"), "user": userSettings("/home/alice/.local")} {
		var unit string
		for path, text := range render(t, s) {
			if strings.HasSuffix(path, Template) {
				unit = string(text)
			}
		}
		for _, line := range []string{
			"Restart=on-failure", "RestartPreventExitStatus=78", "StartLimitIntervalSec=0", "KillMode=mixed", "Delegate=yes", "NoNewPrivileges=yes",
		} {
			if !strings.Contains(unit, "\n"+line+"\n") {
				t.Errorf("%s mode: no line %s", name, line)
			}
		}
		if strings.Contains(unit, "RuntimeDirectory") {
			t.Errorf("%s mode: the runtime base is made by tmpfiles.d and the agent, not by the unit", name)
		}
		if strings.Contains(unit, "RestrictNamespaces") {
			t.Errorf("%s mode: RestrictNamespaces= takes away how a workload is born in a cgroup of its own (SUP-5)", name)
		}
	}
}

// need skips a test where a tool is missing.
func need(t *testing.T, tool string) {
	t.Helper()
	if _, err := exec.LookPath(tool); err != nil {
		t.Skipf("%s is not installed: %v", tool, err)
	}
}

// placed is a real prefix with a unit and a program that its ExecStart can name.
func placed(t *testing.T, s func(prefix string) Settings) (prefix, unit string) {
	t.Helper()
	prefix = t.TempDir()
	for path, text := range render(t, s(prefix)) {
		write(t, filepath.Join(prefix, path), text, 0o644)
		if strings.HasSuffix(path, Template) {
			unit = filepath.Join(prefix, path)
		}
	}
	write(t, filepath.Join(prefix, "bin/flor"), []byte("#!/bin/sh\n"), 0o755)
	return prefix, unit
}

func write(t *testing.T, path string, text []byte, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, mode); err != nil {
		t.Fatal(err)
	}
}

func runTool(t *testing.T, tool string, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	cmd := exec.CommandContext(t.Context(), tool, args...)
	cmd.Env = append(os.Environ(), "SYSTEMD_PAGER=", "SYSTEMD_COLORS=0", "LC_ALL=C", "XDG_RUNTIME_DIR="+t.TempDir())
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}

// INS-2: systemd-analyze verify passes. A directive that it does not know makes
// it say so, and fails the test.
func TestSystemdVerifiesTheUnits(t *testing.T) {
	t.Parallel()
	need(t, "systemd-analyze")
	for name, c := range map[string]struct {
		settings func(string) Settings
		mode     string
	}{"system": {systemSettings, "--system"}, "user": {userSettings, "--user"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, unit := placed(t, c.settings)
			instance := strings.Replace(unit, Template, unitOf("demo"), 1)
			if err := os.Symlink(filepath.Base(unit), instance); err != nil {
				t.Fatal(err)
			}
			out, err := runTool(t, "systemd-analyze", "verify", c.mode, "--man=no", "--recursive-errors=no", instance)
			if err != nil || strings.Contains(out, unitPrefix) {
				t.Errorf("systemd-analyze verify: %v\n%s", err, out)
			}
		})
	}
}

// INS-2: systemd-analyze security is recorded; an exposure over the limit is a
// step back.
func TestSystemdRatesTheHardening(t *testing.T) {
	t.Parallel()
	need(t, "systemd-analyze")
	_, unit := placed(t, systemSettings)
	instance := strings.Replace(unit, Template, unitOf("demo"), 1)
	if err := os.Rename(unit, instance); err != nil {
		t.Fatal(err)
	}
	const limit = "28" // tenths
	out, err := runTool(t, "systemd-analyze", "security", "--offline=true", "--threshold="+limit, "--no-pager", instance)
	if err != nil {
		t.Errorf("systemd-analyze security: %v\n%s", err, out)
	}
	t.Log(out[max(0, strings.LastIndex(strings.TrimSpace(out), "\n")):])
}

// TestSystemctlEnablesAScopeOfAnyPrefix has the real systemctl link and enable a
// scope of an install where systemd does not look itself, and undo it, on a
// directory in the place of the host's root.
func TestSystemctlEnablesAScopeOfAnyPrefix(t *testing.T) {
	t.Parallel()
	need(t, "systemctl")
	root := t.TempDir()
	for path, text := range render(t, systemSettings("/opt/flor")) {
		write(t, filepath.Join(root, "opt/flor", path), text, 0o644)
	}
	systemctl := func(args ...string) string {
		t.Helper()
		out, err := runTool(t, "systemctl", append([]string{"--root=" + root}, args...)...)
		if err != nil {
			t.Errorf("systemctl %v: %v\n%s", args, err, out)
		}
		return out
	}
	systemctl("link", "/opt/flor/"+systemUnits+Template)
	systemctl("enable", unitOf("my-rete"))
	if out := systemctl("is-enabled", unitOf("my-rete")); strings.TrimSpace(out) != "enabled" {
		t.Errorf("is-enabled says %q", out)
	}
	systemctl("disable", unitOf("my-rete"))
	systemctl("disable", Template)
	left, err := filepath.Glob(filepath.Join(root, "etc/systemd/system", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range left {
		if info, err := os.Lstat(path); err == nil && !info.IsDir() {
			t.Errorf("%s is left", path)
		}
	}
}

// TestTmpfilesMakesTheRuntimeBase has the real systemd-tmpfiles do what it would
// do at a boot, on a directory in the place of the host's root.
func TestTmpfilesMakesTheRuntimeBase(t *testing.T) {
	t.Parallel()
	need(t, "systemd-tmpfiles")
	root := t.TempDir()
	write(t, filepath.Join(root, "etc/passwd"), []byte(fmt.Sprintf("flor:x:%d:%d::/:/bin/false\n", os.Getuid(), os.Getgid())), 0o644)
	write(t, filepath.Join(root, "etc/group"), []byte(fmt.Sprintf("flor:x:%d:\n", os.Getgid())), 0o644)
	write(t, filepath.Join(root, "usr/local/lib/tmpfiles.d/flor.conf"), render(t, systemSettings("/usr/local"))[tmpfiles], 0o644)
	if out, err := runTool(t, "systemd-tmpfiles", "--root="+root, "--create", "flor.conf"); err != nil {
		t.Fatalf("systemd-tmpfiles: %v\n%s", err, out)
	}
	info, err := os.Stat(filepath.Join(root, "run/flor"))
	if err != nil || info.Mode() != os.ModeDir|0o755 {
		t.Errorf("the runtime base: %v, %v", info, err)
	}
}

func TestSysusersMakesTheAccount(t *testing.T) {
	t.Parallel()
	need(t, "systemd-sysusers")
	root := t.TempDir()
	write(t, filepath.Join(root, "usr/local/lib/sysusers.d/flor.conf"), render(t, systemSettings("/usr/local"))[sysusers], 0o644)
	if err := os.Mkdir(filepath.Join(root, "etc"), 0o755); err != nil {
		t.Fatal(err)
	}
	out, err := runTool(t, "systemd-sysusers", "--root="+root, "flor.conf")
	if err != nil {
		t.Fatalf("systemd-sysusers: %v\n%s", err, out)
	}
	passwd, err := os.ReadFile(filepath.Join(root, "etc/passwd"))
	if err != nil || !strings.Contains(string(passwd), "\nflor:x:") && !strings.HasPrefix(string(passwd), "flor:x:") {
		t.Errorf("no account: %q, %v", passwd, err)
	}
}

func TestPathsThatNoUnitCanHoldAreRefused(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]Settings{
		"a relative prefix":          systemSettings("usr/local"),
		"a prefix with a line break": systemSettings("/usr/local\nExecStartPre=/bin/sh"),
		"a prefix with quotes":       systemSettings(`/usr/"local"`),
		"an account of two words":    {Mode: store.System, Prefix: "/usr/local", Account: "flor root", Layout: systemSettings("/").Layout},
	} {
		if _, err := SystemdFiles(s); err == nil {
			t.Errorf("%s is not refused", name)
		}
	}
}

// Quoting is judged by systemd itself: an odd prefix still names its program.
func TestOddPrefixesAreQuoted(t *testing.T) {
	t.Parallel()
	need(t, "systemd-analyze")
	prefix := filepath.Join(t.TempDir(), `my flor 100% $HOME`)
	for path, text := range render(t, systemSettings(prefix)) {
		write(t, filepath.Join(prefix, path), text, 0o644)
	}
	write(t, filepath.Join(prefix, "bin/flor"), []byte("#!/bin/sh\n"), 0o755)
	instance := filepath.Join(t.TempDir(), unitOf("demo"))
	write(t, instance, render(t, systemSettings(prefix))[systemUnits+Template], 0o644)
	out, err := runTool(t, "systemd-analyze", "verify", "--man=no", "--recursive-errors=no", instance)
	if err != nil || strings.Contains(out, unitPrefix) {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
}
