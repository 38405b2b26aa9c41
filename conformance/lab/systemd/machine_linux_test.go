package systemd

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// boot boots a machine that is gone when the test ends.
func boot(t *testing.T) *Machine {
	t.Helper()
	if err := Unavailable(); err != nil {
		t.Skip(err)
	}
	m, err := Boot(t.Context(), Options{Shared: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// TestTheHostDoesNotNotice removes and writes files of the host in a machine, and
// finds them as they were.
func TestTheHostDoesNotNotice(t *testing.T) {
	t.Parallel()
	m := boot(t)
	name, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for _, parent := range []string{os.TempDir(), "/var/lib", "/etc", "/run", "/dev/shm"} {
		dir := mark(t, parent)
		out, err := m.Shell(t.Context(), "rm -rf "+dir+"; mkdir "+dir+"; echo inside >"+dir+"/new; hostname inside; test $(hostname) = inside")
		if err != nil {
			t.Errorf("in the machine: %v\n%s", err, out)
		}
		if text, err := os.ReadFile(filepath.Join(dir, "mark")); err != nil || string(text) != "outside" {
			t.Errorf("the machine has changed %s: %q, %v", dir, text, err)
		}
		if _, err := os.Lstat(filepath.Join(dir, "new")); err == nil {
			t.Errorf("the machine has written to %s", dir)
		}
	}
	if after, err := os.Hostname(); err != nil || after != name {
		t.Errorf("the host's name is %q, was %q: %v", after, name, err)
	}
}

// mark makes a directory with a file on the host.
func mark(t *testing.T, parent string) string {
	t.Helper()
	dir, err := os.MkdirTemp(parent, "flor-machine-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.WriteFile(filepath.Join(dir, "mark"), []byte("outside"), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestAMachineIsAlone looks at what a machine has of the host's: no process, no
// network, nothing that could be written in /sys, and no clock that it could set.
func TestAMachineIsAlone(t *testing.T) {
	t.Parallel()
	m := boot(t)
	for what, lines := range map[string]string{
		"process 1 is systemd":       "test $(cat /proc/1/comm) = systemd",
		"it sees the shared files":   "test -d /opt/shared",
		"it cannot change them":      "! touch /opt/shared/new",
		"there is only the loopback": "test $(ls /sys/class/net) = lo",
		"/sys is not to be written":  "! test -w /sys/kernel/profiling",
		"/proc/sys is not either":    "! test -w /proc/sys/kernel/sysrq",
		"the cgroup is a root":       "grep -q '^0::/init.scope$' /proc/1/cgroup",
		"no process of the host":     "! pgrep -x systemd.test",
		"systemd has no clock":       "test $((0x$(awk '/^CapBnd/ {print $2}' /proc/1/status) & 0x2000000)) = 0",
		"nor have its commands":      "test $((0x$(awk '/^CapBnd/ {print $2}' /proc/self/status) & 0x2000000)) = 0",
		"the journal takes records":  "logger -t try hello; journalctl --sync; journalctl -t try | grep -q hello",
	} {
		if out, err := m.Shell(t.Context(), lines); err != nil {
			t.Errorf("%s: %v\n%s", what, err, out)
		}
	}
}

// TestCloseEndsAllOfIt leaves a process of the machine to itself.
func TestCloseEndsAllOfIt(t *testing.T) {
	t.Parallel()
	if err := Unavailable(); err != nil {
		t.Skip(err)
	}
	m, err := Boot(t.Context(), Options{Shared: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	cmd := m.Command(context.Background(), "sh", "-c", "echo inside; exec sleep 3600")
	said, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := said.Read(make([]byte, 1)); err != nil {
		t.Fatalf("wait until the command is inside: %v", err)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("a command of a machine that was closed: %v", err)
	}
	if _, err := os.Lstat(m.group); err == nil {
		t.Errorf("%s is left", m.group)
	}
}
