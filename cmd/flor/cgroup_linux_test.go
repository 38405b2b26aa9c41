package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// inGroups is one instance of each workload and all that it leaves, and the
// agent, as the cgroups below the agent's own have them.
var inGroups = map[string]int{"agent": 1, "w-app": 3, "w-flor": 1}

// TestKillTheAgentInACgroup kills an agent that has a delegated cgroup: what its
// workloads leave is ended although nothing but the cgroup tells whose it is, and
// at the end no process and no group is left (SUP-5, SUP-9).
func TestKillTheAgentInACgroup(t *testing.T) {
	t.Parallel()
	group := delegatedGroup(t)
	unenrolled(t).into(group).enrolled().killAgain(rand.New(rand.NewPCG(rand.Uint64(), 0)), 4)
	if diff := cmp.Diff(map[string]int{}, populations(t, group)); diff != "" {
		t.Errorf("groups after a clean stop (-want +got):\n%s", diff)
	}
}

// grouped checks that each workload is in a group of its own with all that it
// has left, where the agent has one.
func (k *killed) grouped() {
	k.t.Helper()
	if k.group == "" {
		return
	}
	var got map[string]int
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if got = populations(k.t, k.group); cmp.Equal(inGroups, got) {
			return
		}
	}
	k.t.Errorf("processes by cgroup (-want +got):\n%s", cmp.Diff(inGroups, got))
}

// populations counts the processes of each group below one.
func populations(t testing.TB, group string) map[string]int {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(group, "*", "cgroup.procs"))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int{}
	for _, file := range files {
		if pids, err := os.ReadFile(file); err == nil {
			found[filepath.Base(filepath.Dir(file))] = strings.Count(string(pids), "\n")
		}
	}
	return found
}

// delegatedGroup makes a cgroup v2 below the test's own, as a service manager
// delegates one.
func delegatedGroup(t *testing.T) string {
	t.Helper()
	var errs []error
	for _, mount := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"} {
		group, err := makeGroup(mount)
		if err == nil {
			t.Cleanup(func() { removeGroup(t, group) })
			return group
		}
		errs = append(errs, err)
	}
	t.Skip("no cgroup can be made here; root can, where cgroup v2 is mounted writable: ", errors.Join(errs...))
	return ""
}

func makeGroup(mount string) (string, error) {
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", err
	}
	_, own, found := strings.Cut("\n"+string(text), "\n0::")
	if !found {
		return "", errors.New("this process has no cgroup v2")
	}
	own, _, _ = strings.Cut(own, "\n")
	dir := filepath.Join(mount, own)
	if _, err := os.Stat(filepath.Join(dir, "cgroup.procs")); err != nil {
		return "", fmt.Errorf("%s is no cgroup v2: %w", dir, err)
	}
	return os.MkdirTemp(dir, "flor-test-")
}

// removeGroup removes a group in which nothing runs any more.
func removeGroup(t *testing.T, group string) {
	below, _ := filepath.Glob(filepath.Join(group, "*", "cgroup.procs"))
	for _, file := range below {
		_ = os.Remove(filepath.Dir(file))
	}
	if err := os.Remove(group); err != nil {
		t.Errorf("the group is not empty: %v", err)
	}
}

// into has agents start in a group. What the workloads leave depends on it from the
// first set on, so it comes before the enrolment.
func (k *killed) into(group string) *killed {
	k.t.Helper()
	dir, err := os.Open(group)
	if err != nil {
		k.t.Fatal(err)
	}
	k.t.Cleanup(func() { dir.Close() })
	k.group, k.attr = group, &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(dir.Fd())}
	return k
}
