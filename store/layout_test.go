package store

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestResolve is the table "Directories".
func TestResolve(t *testing.T) {
	t.Parallel()
	home := map[string]string{"HOME": "/home/eve"}
	cases := map[string]struct {
		host Host
		env  map[string]string
		want Layout
	}{
		"user mode below the home": {
			Host{GOOS: "linux", Executable: "/home/eve/.local/bin/flor"}, home,
			Layout{Mode: User, Bin: "/home/eve/.local/bin", Lib: "/home/eve/.local/lib/flor",
				State: "/home/eve/.local/state/flor", Config: "/home/eve/.config/flor", RuntimeBase: "/tmp/flor-7"},
		},
		"user mode by XDG": {
			Host{GOOS: "linux", Executable: "/opt/x/bin/flor"},
			map[string]string{"HOME": "/home/eve", "XDG_STATE_HOME": "/s", "XDG_CONFIG_HOME": "/c", "XDG_RUNTIME_DIR": "/run/user/7"},
			Layout{Mode: User, Bin: "/opt/x/bin", Lib: "/opt/x/lib/flor", State: "/s/flor", Config: "/c/flor", RuntimeBase: "/run/user/7/flor"},
		},
		"relative XDG variables count as unset": {
			Host{GOOS: "linux", Executable: "/opt/x/bin/flor"},
			map[string]string{"HOME": "/home/eve", "XDG_STATE_HOME": "s", "XDG_CONFIG_HOME": "c", "XDG_RUNTIME_DIR": "r"},
			Layout{Mode: User, Bin: "/opt/x/bin", Lib: "/opt/x/lib/flor", State: "/home/eve/.local/state/flor",
				Config: "/home/eve/.config/flor", RuntimeBase: "/tmp/flor-7"},
		},
		"system mode is inferred from /usr/local/bin": {
			Host{GOOS: "linux", Executable: "/usr/local/bin/flor"}, nil,
			Layout{Mode: System, Bin: "/usr/local/bin", Lib: "/usr/local/lib/flor", State: "/var/lib/flor", Config: "/etc/flor", RuntimeBase: "/run/flor"},
		},
		"system mode is inferred from /usr/bin": {
			Host{GOOS: "linux", Executable: "/usr/bin/flor"}, home,
			Layout{Mode: System, Bin: "/usr/bin", Lib: "/usr/lib/flor", State: "/var/lib/flor", Config: "/etc/flor", RuntimeBase: "/run/flor"},
		},
		"a workload of the same install finds the same": {
			Host{GOOS: "linux", Executable: "/usr/local/lib/flor/flor-vertex"}, nil,
			Layout{Mode: System, Bin: "/usr/local/bin", Lib: "/usr/local/lib/flor", State: "/var/lib/flor", Config: "/etc/flor", RuntimeBase: "/run/flor"},
		},
		"the receipt overrules the place": {
			Host{GOOS: "linux", Executable: "/opt/flor/bin/flor", Mode: System}, home,
			Layout{Mode: System, Bin: "/opt/flor/bin", Lib: "/opt/flor/lib/flor", State: "/var/lib/flor", Config: "/etc/flor", RuntimeBase: "/run/flor"},
		},
		"darwin infers user mode and uses TMPDIR": {
			Host{GOOS: "darwin", Executable: "/usr/local/bin/flor"}, map[string]string{"HOME": "/Users/eve", "TMPDIR": "/var/folders/z/"},
			Layout{Mode: User, Bin: "/usr/local/bin", Lib: "/usr/local/lib/flor", State: "/Users/eve/.local/state/flor",
				Config: "/Users/eve/.config/flor", RuntimeBase: "/var/folders/z/flor"},
		},
		"darwin has no /run": {
			Host{GOOS: "darwin", Executable: "/usr/local/bin/flor", Mode: System}, nil,
			Layout{Mode: System, Bin: "/usr/local/bin", Lib: "/usr/local/lib/flor", State: "/var/lib/flor", Config: "/etc/flor", RuntimeBase: "/var/run/flor"},
		},
		"overrides win, a home is not needed": {
			Host{GOOS: "linux", Executable: "/opt/x/bin/flor"},
			map[string]string{"FLOR_LIB_DIR": "/l", "FLOR_STATE_HOME": "/s/", "FLOR_CONFIG_HOME": "/c", "FLOR_RUNTIME_DIR": "/r"},
			Layout{Mode: User, Bin: "/opt/x/bin", Lib: "/l", State: "/s", Config: "/c", RuntimeBase: "/r"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.host.Getenv = func(key string) string { return c.env[key] }
			c.host.UID, c.host.TempDir = 7, "/tmp"
			got, err := Resolve(c.host)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("layout (-want +got):\n%s", diff)
			}
		})
	}
}

func TestResolveRefuses(t *testing.T) {
	t.Parallel()
	for name, env := range map[string]map[string]string{
		"a relative override":    {"HOME": "/home/eve", "FLOR_STATE_HOME": "state"},
		"no home at all":         {},
		"a home that is no path": {"HOME": "eve"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Resolve(Host{Getenv: func(k string) string { return env[k] }, GOOS: "linux", Executable: "/x/bin/flor", TempDir: "/tmp"})
			wantReason(t, err, BadLayout)
		})
	}
	_, err := Resolve(Host{})
	wantReason(t, err, BadLayout)
}

// TestThisHostResolvesLinks starts a program through a link: its install is
// where the file lies.
func TestThisHostResolvesLinks(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if self, err = filepath.EvalSymlinks(self); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	link(t, dir, self, "flor")
	cmd := role("where")
	cmd.Path = filepath.Join(dir, "flor")
	got, err := cmd.Output()
	if err != nil || string(got) != self {
		t.Errorf("executable %s, want %s: %v", got, self, err)
	}
}

func TestScopes(t *testing.T) {
	t.Parallel()
	stateDir := newRete().enrol(t, 1)
	l := Layout{State: stateDir}
	if got, err := l.ChooseScope(""); got != testScope || err != nil {
		t.Errorf("the only scope: %q, %v", got, err)
	}
	mkdir(t, l.RetesDir(), "b")
	mkdir(t, l.RetesDir(), "c.partial")
	mkdir(t, l.RetesDir(), ".replaced-x-20260101T000000Z")
	overwrite(t, l.RetesDir(), "afile", "")
	got, err := l.Scopes()
	if diff := cmp.Diff([]string{"b", testScope}, got); diff != "" || err != nil {
		t.Errorf("scopes (-want +got): %v\n%s", err, diff)
	}
	_, err = l.ChooseScope("")
	wantReason(t, err, AmbiguousScope)
	if !strings.Contains(err.Error(), "b, lovers") {
		t.Errorf("the scopes are not listed: %v", err)
	}
	_, err = l.ChooseScope("../b")
	wantReason(t, err, BadScope)
	_, err = Layout{State: filepath.Join(stateDir, "none")}.ChooseScope("")
	wantReason(t, err, NotEnrolled)
}

// TestRuntimeBase refuses a base in which somebody else could answer for us.
func TestRuntimeBase(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		make func(t *testing.T, base string)
		ok   bool
	}{
		"ours":                     {func(t *testing.T, b string) { mkdirMode(t, b, 0o700) }, true},
		"missing":                  {func(*testing.T, string) {}, true},
		"readable for others":      {func(t *testing.T, b string) { mkdirMode(t, b, 0o755) }, true},
		"writable for others":      {func(t *testing.T, b string) { mkdirMode(t, b, 0o777) }, false},
		"writable for all, sticky": {func(t *testing.T, b string) { mkdirMode(t, b, 0o777|os.ModeSticky) }, false},
		"writable for a group":     {func(t *testing.T, b string) { mkdirMode(t, b, 0o770) }, false},
		"a file":                   {func(t *testing.T, b string) { overwrite(t, filepath.Dir(b), filepath.Base(b), "") }, false},
		"a link to a directory":    {func(t *testing.T, b string) { link(t, filepath.Dir(b), t.TempDir(), filepath.Base(b)) }, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := Layout{Mode: User, RuntimeBase: filepath.Join(t.TempDir(), "run")}
			c.make(t, l.RuntimeBase)
			_, lookErr := l.RuntimeRoot(testScope)
			root, makeErr := l.MakeRuntimeRoot(testScope)
			if c.ok {
				if err := errors.Join(lookErr, makeErr); err != nil {
					t.Fatal(err)
				}
				wantMode(t, root, 0o750)
				return
			}
			wantReason(t, lookErr, RuntimeBase)
			wantReason(t, makeErr, RuntimeBase)
		})
	}
}

func TestRuntimeBaseOfSomebodyElse(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root can give a directory away")
	}
	base := filepath.Join(t.TempDir(), "run")
	mkdirMode(t, base, 0o755)
	info, err := os.Lstat(base)
	if err != nil {
		t.Fatal(err)
	}
	if fault := baseFault(info, 4711); fault != "" {
		t.Errorf("a base of root's, for another account: it %s", fault)
	}
	if err := os.Chown(base, 4712, 0); err != nil {
		t.Fatal(err)
	}
	_, err = Layout{RuntimeBase: base}.RuntimeRoot(testScope)
	wantReason(t, err, RuntimeBase)
}

// In system mode the base is the service user's, who owns the scope, and root or
// an operator asks.
func TestRuntimeBaseOfTheServiceUser(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root can give a directory away")
	}
	l := Layout{Mode: System, State: t.TempDir(), RuntimeBase: filepath.Join(t.TempDir(), "run")}
	scope := filepath.Join(l.RetesDir(), testScope)
	mkdirMode(t, l.RetesDir(), 0o755)
	mkdirMode(t, scope, 0o700)
	mkdirMode(t, l.RuntimeBase, 0o755)
	if err := errorsFrom(os.Chown(l.RuntimeBase, 4712, 0), os.Chown(scope, 4713, 0)); err != nil {
		t.Fatal(err)
	}
	_, err := l.RuntimeRoot(testScope)
	wantReason(t, err, RuntimeBase)
	if err := os.Chown(scope, 4712, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := l.RuntimeRoot(testScope); err != nil {
		t.Errorf("a base of the account that the scope belongs to: %v", err)
	}
	l.Mode = User
	_, err = l.RuntimeRoot(testScope)
	wantReason(t, err, RuntimeBase)
}

func mkdirMode(t *testing.T, dir string, mode os.FileMode) {
	t.Helper()
	if err := errorsFrom(os.Mkdir(dir, 0o700), os.Chmod(dir, mode)); err != nil {
		t.Fatal(err)
	}
}

// TestSocketPath is SET-1: a path over the limit is refused with the path, its
// length and the limit; one at the limit can be bound.
func TestSocketPath(t *testing.T) {
	t.Parallel()
	root := "/" + strings.Repeat("r", maxSocketPath-len("/")-len("/agent.sock"))
	path, err := SocketPath(root, "agent.sock")
	if err != nil || len(path) != maxSocketPath {
		t.Errorf("at the limit: %d bytes, %v", len(path), err)
	}
	_, err = SocketPath(root+"r", "agent.sock")
	wantReason(t, err, PathTooLong)
	for _, part := range []string{root + "r/agent.sock", "108 bytes", "limit here is 107"} {
		if maxSocketPath == 107 && !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not tell %q", err, part)
		}
	}
}
