package supervise

import (
	"fmt"
	"iter"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// procStat is what /proc/<pid>/stat tells that matters here.
type procStat struct {
	state string
	group int
	// start is when the process started, in clock ticks since boot.
	start uint64
}

func readStat(pid int) (procStat, error) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return procStat{}, err
	}
	return parseStat(string(text))
}

// parseStat reads fields 3, 5 and 22 of a stat line. Field 2, the name, may
// hold anything, spaces and parentheses included, so fields are counted from
// its last parenthesis.
func parseStat(text string) (procStat, error) {
	fields := strings.Fields(text[strings.LastIndex(text, ")")+1:])
	if len(fields) < 20 {
		return procStat{}, fmt.Errorf("unknown form of /proc/<pid>/stat: %q", text)
	}
	group, err := strconv.Atoi(fields[2])
	if err != nil {
		return procStat{}, fmt.Errorf("process group in /proc/<pid>/stat: %w", err)
	}
	start, err := strconv.ParseUint(fields[19], 10, 64)
	if err != nil {
		return procStat{}, fmt.Errorf("start time in /proc/<pid>/stat: %w", err)
	}
	return procStat{state: fields[0], group: group, start: start}, nil
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
		if member.state != "Z" && member.state != "X" {
			return true
		}
	}
	return false
}

// groupMembers yields the processes of a group, zombies included.
func groupMembers(pgid int) iter.Seq[procStat] {
	return func(yield func(procStat) bool) {
		entries, _ := os.ReadDir("/proc")
		for _, e := range entries {
			pid, err := strconv.Atoi(e.Name())
			if err != nil {
				continue
			}
			if stat, err := readStat(pid); err == nil && stat.group == pgid && !yield(stat) {
				return
			}
		}
	}
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
