package supervise

import (
	"fmt"
	"iter"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// procStat is what /proc/<pid>/stat tells that matters here.
type procStat struct {
	pid     int
	command string
	state   string
	parent  int
	group   int
	// exiting: it is on its way out, and has no environment any more.
	exiting bool
	// start is when the process started, in clock ticks since boot.
	start uint64
}

// ended is true for a zombie: it holds nothing, and only its parent can make it
// go.
func (p procStat) ended() bool { return p.state == "Z" || p.state == "X" }

func readStat(pid int) (procStat, error) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return procStat{}, err
	}
	return parseStat(string(text))
}

// exitingFlag is PF_EXITING among the flags of a process.
const exitingFlag = 0x4

// parseStat reads fields 1 to 5, 9 and 22 of a stat line. Field 2, the name, may
// hold anything, spaces and parentheses included, so fields are counted from
// its last parenthesis.
func parseStat(text string) (procStat, error) {
	begin, end := strings.Index(text, " ("), strings.LastIndex(text, ")")
	if begin < 0 || end < begin+2 {
		return procStat{}, fmt.Errorf("unknown form of /proc/<pid>/stat: %q", text)
	}
	fields := strings.Fields(text[end+1:])
	if len(fields) < 20 {
		return procStat{}, fmt.Errorf("unknown form of /proc/<pid>/stat: %q", text)
	}
	var numbers [3]int
	for i, field := range []string{text[:begin], fields[1], fields[2]} {
		n, err := strconv.Atoi(field)
		if err != nil {
			return procStat{}, fmt.Errorf("number in /proc/<pid>/stat: %w", err)
		}
		numbers[i] = n
	}
	flags, err := strconv.ParseUint(fields[6], 10, 64)
	if err != nil {
		return procStat{}, fmt.Errorf("flags in /proc/<pid>/stat: %w", err)
	}
	start, err := strconv.ParseUint(fields[19], 10, 64)
	if err != nil {
		return procStat{}, fmt.Errorf("start time in /proc/<pid>/stat: %w", err)
	}
	return procStat{
		pid: numbers[0], command: text[begin+2 : end], state: fields[0],
		parent: numbers[1], group: numbers[2], exiting: flags&exitingFlag != 0, start: start,
	}, nil
}

// startTicks returns when a process started, in clock ticks since boot.
func startTicks(pid int) (uint64, error) {
	stat, err := readStat(pid)
	return stat.start, err
}

// groupLives reports whether a process group has members that still run.
// Zombies do not count: they hold nothing, and only their parent, which may be
// an init that never reaps, can make them go.
func groupLives(pgid int) bool {
	if unix.Kill(-pgid, 0) == unix.ESRCH {
		return false
	}
	for member := range groupMembers(pgid) {
		if !member.ended() {
			return true
		}
	}
	return false
}

// groupMembers yields the processes of a group, zombies included.
func groupMembers(pgid int) iter.Seq[procStat] {
	return func(yield func(procStat) bool) {
		for p := range eachProcess() {
			if p.group == pgid && !yield(p) {
				return
			}
		}
	}
}

// eachProcess yields the rows of the process table, without those that end
// meanwhile.
func eachProcess() iter.Seq[procStat] {
	return func(yield func(procStat) bool) {
		entries, _ := os.ReadDir("/proc")
		for _, e := range entries {
			pid, err := strconv.Atoi(e.Name())
			if err != nil {
				continue
			}
			if stat, err := readStat(pid); err == nil && !yield(stat) {
				return
			}
		}
	}
}

// processes reads the whole process table.
func processes() []procStat { return slices.Collect(eachProcess()) }

// orphans are the children of a process that it has not spawned itself.
func orphans(table []procStat, self int, spawned map[int]int) []procStat {
	var found []procStat
	for _, p := range table {
		if p.parent == self && spawned[p.pid] == 0 {
			found = append(found, p)
		}
	}
	return found
}

// descendants are the children of a process, and theirs. The table is not of
// one moment, so it may even hold circles.
func descendants(table []procStat, root int) []procStat {
	children := make(map[int][]procStat, len(table))
	for _, p := range table {
		children[p.parent] = append(children[p.parent], p)
	}
	var found []procStat
	seen := map[int]bool{root: true}
	for next := []int{root}; len(next) > 0; next = next[1:] {
		for _, p := range children[next[0]] {
			if !seen[p.pid] {
				seen[p.pid] = true
				found, next = append(found, p), append(next, p.pid)
			}
		}
	}
	return found
}

// ancestors are the parent of a process, and its parents.
func ancestors(table []procStat, pid int) map[int]bool {
	parents := make(map[int]int, len(table))
	for _, p := range table {
		parents[p.pid] = p.parent
	}
	found := map[int]bool{}
	for at := parents[pid]; at > 0 && !found[at]; at = parents[at] {
		found[at] = true
	}
	return found
}

// ticksNow is the present in the count of startTicks.
func ticksNow() (uint64, error) {
	const perSecond = 100 // USER_HZ, the same on every architecture Go knows
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		return 0, err
	}
	return uint64(now.Nano()) / (uint64(time.Second) / perSecond), nil
}
