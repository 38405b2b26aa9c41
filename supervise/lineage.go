package supervise

import (
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Stray is a process that a child has left behind and that nothing attributes
// to one: it has left the group, and its environment lacks every [Spec].Marker.
// It is told of and never touched (SUP-5).
type Stray struct {
	PID int
	// Command is the name of its program, as the kernel shortens it.
	Command string
	// Since is when it was found.
	Since time.Time
}

// lineage finds and ends what children leave behind (SUP-5). Its zero tree and
// reaps mean that process groups are all there is.
type lineage struct {
	log *slog.Logger
	// changed is called when the list of strays has changed.
	changed func()
	// tree is where children get cgroups of their own; nil for none.
	tree *cgroupTree
	// reaps: orphans are re-parented to this process.
	reaps bool

	// mu is held while a process is spawned and while the process table is
	// read, so that no spawned child is ever taken for an orphan.
	mu sync.Mutex
	// spawned counts the children that somebody here waits for, by pid.
	spawned map[int]int
	// markers counts the children whose descendants carry a marker, besides
	// those of what runs beside the list. The latter tell first whose an orphan
	// is: it may carry a child's as well.
	markers, besides map[string]int
	strays           map[int]stray
}

// stray is a Stray that cannot be mistaken for a later process of its pid.
type stray struct {
	Stray
	start uint64
}

func newLineage(log *slog.Logger, changed func()) *lineage {
	return &lineage{
		log: log, changed: changed,
		spawned: map[int]int{}, markers: map[string]int{}, besides: map[string]int{},
		strays: map[int]stray{},
	}
}

// start spawns a child, in a cgroup of its own where there are such.
func (l *lineage) start(s *Spec, spawn func(*syscall.SysProcAttr) (*os.Process, error)) (*os.Process, *cgroup, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	proc, group, err := l.startInGroup(s.Name, spawn)
	if err != nil {
		return nil, nil, err
	}
	l.spawned[proc.Pid]++
	l.markers[s.Marker]++
	if strings.HasPrefix(s.Name, besidePrefix) {
		l.besides[s.Marker]++
	}
	return proc, group, nil
}

// startInGroup falls back to a spawn without a cgroup: a child that runs is
// worth more than a guarantee about what it may leave.
func (l *lineage) startInGroup(name string, spawn func(*syscall.SysProcAttr) (*os.Process, error)) (*os.Process, *cgroup, error) {
	plain := &syscall.SysProcAttr{Setpgid: true}
	if l.tree == nil {
		proc, err := spawn(plain)
		return proc, nil, err
	}
	group, groupErr := l.tree.make(name)
	if groupErr == nil {
		proc, err := spawn(group.attr())
		if err == nil {
			return proc, group, nil
		}
		group.remove()
		groupErr = err
	}
	proc, err := spawn(plain)
	if err == nil {
		l.log.Warn("runs outside of a cgroup of its own", "workload", name, "err", groupErr)
	}
	return proc, nil, err
}

// groupDir is where the cgroup of a child will be; empty when it has none.
func (l *lineage) groupDir(name string) string {
	if l.tree == nil {
		return ""
	}
	return l.tree.groupDir(name)
}

// reaped forgets a child that was waited for and left nothing more to end.
func (l *lineage) reaped(pid int, marker string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	uncount(l.spawned, pid)
	uncount(l.markers, marker)
	uncount(l.besides, marker)
}

func uncount[K comparable](counts map[K]int, key K) {
	if counts[key]--; counts[key] <= 0 {
		delete(counts, key)
	}
}

// list returns the strays in the order of their pids.
func (l *lineage) list() []Stray {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []Stray
	for _, pid := range slices.Sorted(maps.Keys(l.strays)) {
		out = append(out, l.strays[pid].Stray)
	}
	return out
}

// longer is the next pause of a loop that waits for processes to end.
func longer(pause time.Duration) time.Duration { return min(2*pause, 50*time.Millisecond) }
