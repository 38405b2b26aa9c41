package supervise

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// agentGroup is where this process moves, because a cgroup holds either
// processes or groups with controllers.
const agentGroup = "agent"

// cgroupTree is this process's own cgroup v2, delegated to it, in which each
// child gets a group.
type cgroupTree struct {
	dir string
	// held keeps any other supervisor out of the same group.
	held *os.File
}

// openCgroupTree takes the own cgroup over, or says why it cannot.
func openCgroupTree() (*cgroupTree, error) {
	dir, err := delegatedCgroup()
	if err != nil {
		return nil, err
	}
	held, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	t := &cgroupTree{dir: dir, held: held}
	if err := t.take(); err != nil {
		held.Close()
		return nil, err
	}
	return t, nil
}

// take locks the group, for two supervisors may have been started in the same
// one, and moves this process to its leaf.
func (t *cgroupTree) take() error {
	if err := unix.Flock(int(t.held.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return fmt.Errorf("%s is another supervisor's: %w", t.dir, err)
	}
	leaf := filepath.Join(t.dir, agentGroup)
	if err := os.Mkdir(leaf, 0o755); err != nil && !os.IsExist(err) {
		return err
	}
	return enterCgroup(leaf)
}

// close moves this process back and removes its leaf, if nobody else is there.
func (t *cgroupTree) close() {
	_ = enterCgroup(t.dir)
	_ = os.Remove(filepath.Join(t.dir, agentGroup))
	t.held.Close()
}

func enterCgroup(dir string) error {
	return writeCgroup(dir, "cgroup.procs", strconv.Itoa(os.Getpid()))
}

func writeCgroup(dir, name, text string) error {
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// cgroup is the group of one child between its spawn and its end.
type cgroup struct {
	dir *os.File
}

// groupDir is where the group of a child lies.
func (t *cgroupTree) groupDir(name string) string {
	return filepath.Join(t.dir, childGroup+name)
}

// make creates the group of a child, which is empty: one that still holds
// processes is refused, because it is not known whose they are.
func (t *cgroupTree) make(name string) (*cgroup, error) {
	path := t.groupDir(name)
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		return nil, fmt.Errorf("%s holds processes of somebody else: %w", path, err)
	}
	if err := os.Mkdir(path, 0o755); err != nil {
		return nil, err
	}
	dir, err := os.Open(path)
	if err != nil {
		return nil, errors.Join(err, os.Remove(path))
	}
	return &cgroup{dir: dir}, nil
}

// attr has a child born in the group, so that it has no moment outside.
func (g *cgroup) attr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, UseCgroupFD: true, CgroupFD: int(g.dir.Fd())}
}

func (g *cgroup) path() string { return g.dir.Name() }

// remove gives the group up. One that still holds processes stays.
func (g *cgroup) remove() {
	_ = os.Remove(g.path())
	g.dir.Close()
}

// killCgroup ends every process in a group and below it, and reports whether
// all had ended in time.
func killCgroup(dir string, within time.Duration) bool {
	if writeCgroup(dir, "cgroup.kill", "1") != nil {
		return !populated(dir)
	}
	deadline := time.Now().Add(within)
	for pause := time.Millisecond; populated(dir); pause = longer(pause) {
		if time.Now().After(deadline) {
			return false
		}
		time.Sleep(pause)
	}
	return true
}

// cgroupMembers are the processes in a group, not those below it.
func cgroupMembers(dir string) []int {
	text, _ := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	var pids []int
	for _, field := range strings.Fields(string(text)) {
		if pid, err := strconv.Atoi(field); err == nil && pid > 0 {
			pids = append(pids, pid)
		}
	}
	return pids
}

// populated reports whether processes run in a group or below it.
func populated(dir string) bool {
	events, err := os.ReadFile(filepath.Join(dir, "cgroup.events"))
	return err == nil && strings.Contains("\n"+string(events), "\npopulated 1")
}

// removeCgroup removes a group with the groups that its processes made in it.
func removeCgroup(dir string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if e.IsDir() {
			removeCgroup(filepath.Join(dir, e.Name()))
		}
	}
	_ = os.Remove(dir)
}

// delegatedCgroup is the directory of this process's own cgroup v2, if that can
// be used.
func delegatedCgroup() (string, error) {
	dir, err := ownCgroup()
	if err != nil {
		return "", err
	}
	return dir, usableCgroup(dir)
}

func ownCgroup() (string, error) {
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", err
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return "", err
	}
	return findCgroup(string(own), string(mounts))
}

// usableCgroup refuses the root, which is everybody's and has no cgroup.kill,
// and a group that is not delegated. Whoever delegates one gives away its
// directory and cgroup.procs; its cgroup.kill stays with the giver, those of
// the groups that are made in it do not.
func usableCgroup(dir string) error {
	if err := unix.Access(filepath.Join(dir, "cgroup.kill"), unix.F_OK); err != nil {
		return fmt.Errorf("%s is the root of all, or the kernel is older than 5.14: cgroup.kill: %w", dir, err)
	}
	for _, path := range []string{dir, filepath.Join(dir, "cgroup.procs")} {
		if err := unix.Access(path, unix.W_OK); err != nil {
			return fmt.Errorf("%s is not delegated: %w", path, err)
		}
	}
	return nil
}

// findCgroup finds the directory of a process's cgroup v2 from what
// /proc/<pid>/cgroup and /proc/<pid>/mountinfo say. It may lie anywhere, as
// /sys/fs/cgroup/unified does on machines that have version 1 as well.
func findCgroup(cgroups, mounts string) (string, error) {
	path, ok := unifiedPath(cgroups)
	if !ok {
		return "", errors.New("this process has no cgroup v2")
	}
	for line := range strings.Lines(mounts) {
		root, point, ok := cgroupMount(line)
		if below, inside := within(path, root); ok && inside {
			return filepath.Join(point, below), nil
		}
	}
	return "", fmt.Errorf("no mount of cgroup v2 shows %s", path)
}

// unifiedPath reads the line "0::<path>".
func unifiedPath(cgroups string) (string, bool) {
	for line := range strings.Lines(cgroups) {
		if path, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "0::"); ok {
			return path, filepath.IsAbs(path) && filepath.Clean(path) == path
		}
	}
	return "", false
}

// cgroupMount reads a line of mountinfo: which part of the hierarchy is mounted
// where.
func cgroupMount(line string) (root, point string, ok bool) {
	before, after, found := strings.Cut(line, " - ")
	fields, kind := strings.Fields(before), strings.Fields(after)
	if !found || len(fields) < 5 || len(kind) < 1 || kind[0] != "cgroup2" {
		return "", "", false
	}
	return unescapeMount(fields[3]), unescapeMount(fields[4]), true
}

// unescapeMount undoes the octal escapes of mountinfo.
func unescapeMount(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}

// within returns path relative to root, if it lies there.
func within(path, root string) (string, bool) {
	if root == "/" {
		return path, true
	}
	below, ok := strings.CutPrefix(path, root)
	return below, ok && (below == "" || below[0] == '/')
}
