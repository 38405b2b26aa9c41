package supervise

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// maxWords limits what is read of an environment, in bytes.
	maxWords = 8 << 20
	// execPatience is how long a process may show nothing of itself because it
	// executes another program at this moment.
	execPatience = 500 * time.Millisecond
	// orphanPause is the time between two looks at an ended orphan before it
	// is reaped; whoever else waits for a child of this process has that long.
	orphanPause = time.Second
)

// open turns on what the options ask for and this machine has.
func (l *lineage) open(opts Options) {
	if opts.Subreaper {
		l.becomeSubreaper()
	}
	if opts.Cgroup {
		l.takeCgroup()
	}
}

func (l *lineage) becomeSubreaper() {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		l.log.Warn("no child subreaper: what leaves its process group is not ended with its child", "err", err)
		return
	}
	l.reaps = true
}

func (l *lineage) takeCgroup() {
	tree, err := openCgroupTree()
	if err != nil {
		l.log.Info("no cgroups of their own for children", "why", err)
		return
	}
	l.tree = tree
	l.log.Info("each child has a cgroup of its own", "below", tree.dir)
}

func (l *lineage) close() {
	if l.tree != nil {
		l.tree.close()
	}
}

// endLeft ends what a child has left outside of its process group, and waits
// for it, one second at most (SUP-5).
func (l *lineage) endLeft(p *process) {
	ended := true
	if p.cgroup != nil {
		ended = killCgroup(p.cgroup.path(), lingerLimit)
		removeCgroup(p.cgroup.path())
		p.cgroup.remove()
	} else if l.reaps {
		ended = l.endOrphans(quarry{marker: p.marker, group: p.pid, killed: map[int]uint64{}})
	}
	if !ended {
		l.log.Warn("processes that it left are still ending", "workload", p.name)
	}
}

// quarry is by what the orphans of one child are known.
type quarry struct {
	marker string
	// group is the process group of the child.
	group int
	// killed are those that were killed already, and when they had started.
	killed map[int]uint64
}

// endOrphans kills the orphans of a child, with all that descends from them,
// until there are none. What nothing attributes is told of.
func (l *lineage) endOrphans(q quarry) bool {
	begun := time.Now()
	for pause := time.Millisecond; ; pause = longer(pause) {
		found := l.look(q)
		killAll(found.ours, q.killed)
		reapAll(found.zombies, q.killed)
		took := time.Since(begun)
		undecided := found.undecided > 0 && took < execPatience
		if over := took > lingerLimit; over || !undecided && len(found.ours) == 0 {
			l.report(found.strays)
			return !over
		}
		time.Sleep(pause)
	}
}

// findings are the orphans of one look at the process table.
type findings struct {
	// ours are of the child looked for, or descend from one that is.
	ours []procStat
	// strays are of no child, and not known yet; undecided counts those of
	// them that may only be executing another program.
	strays    []procStat
	undecided int
	// zombies have ended and are not reaped.
	zombies []procStat
}

// look reads the process table and sorts the orphans in it.
func (l *lineage) look(q quarry) findings {
	l.mu.Lock()
	defer l.mu.Unlock()
	table := processes()
	var found findings
	for _, p := range orphans(table, os.Getpid(), l.spawned) {
		switch l.judge(p, q) {
		case isZombie:
			found.zombies = append(found.zombies, p)
		case isOurs:
			found.ours = append(append(found.ours, p), descendants(table, p.pid)...)
		case isUndecided:
			found.undecided++
			found.strays = append(found.strays, p)
		case isStray:
			found.strays = append(found.strays, p)
		case isNone:
		}
	}
	return found
}

// judgement is what an orphan is to the search for those of one child.
type judgement int

const (
	// isNone: it is another's, or known as a stray, or on its way out.
	isNone judgement = iota
	isOurs
	isStray
	isUndecided
	isZombie
)

// judge is called with mu held. A process group that a child leads tells whose
// an orphan is before its environment does; what was killed stays ours until it
// has ended, although it may have lost its environment.
func (l *lineage) judge(p procStat, q quarry) judgement {
	switch {
	case p.ended():
		return isZombie
	case p.group == q.group || q.killed[p.pid] == p.start:
		return isOurs
	case l.spawned[p.group] > 0 || p.exiting || l.strays[p.pid].start == p.start:
		return isNone
	}
	switch carried := l.carried(p.pid); {
	case carried == "" && len(readWords(p.pid, "cmdline")) == 0:
		return isUndecided
	case carried == "":
		return isStray
	case carried == q.marker:
		return isOurs
	}
	return isNone
}

// carried returns which of the known markers a process has in its environment,
// that of what runs beside the list before a child's.
func (l *lineage) carried(pid int) string {
	first := ""
	for _, entry := range environment(pid) {
		switch {
		case entry == "":
		case l.besides[entry] > 0:
			return entry
		case first == "" && l.markers[entry] > 0:
			first = entry
		}
	}
	return first
}

// environment reads what a process was executed with. It is nothing while the
// process executes another program, and for one that may not be looked into.
func environment(pid int) []string { return readWords(pid, "environ") }

// readWords reads a list that the kernel keeps of a process.
func readWords(pid int, name string) []string {
	f, err := os.Open("/proc/" + strconv.Itoa(pid) + "/" + name)
	if err != nil {
		return nil
	}
	defer f.Close()
	text, _ := io.ReadAll(io.LimitReader(f, maxWords))
	if len(text) == 0 {
		return nil
	}
	return strings.Split(string(bytes.TrimSuffix(text, []byte{0})), "\x00")
}

// killAll ends processes and notes which.
func killAll(found []procStat, killed map[int]uint64) {
	for _, p := range found {
		killProcess(p)
		killed[p.pid] = p.start
	}
}

// killProcess ends the process of a row of the table and no later one with its
// pid: the pidfd is opened before the start time is compared.
func killProcess(p procStat) {
	fd, err := unix.PidfdOpen(p.pid, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	if ticks, err := startTicks(p.pid); err == nil && ticks == p.start {
		_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
	}
}

// reapAll reaps those of the zombies that are noted, and returns the others as
// notes.
func reapAll(zombies []procStat, noted map[int]uint64) (others map[int]uint64) {
	others = map[int]uint64{}
	for _, p := range zombies {
		if noted[p.pid] == p.start {
			_, _ = unix.Wait4(p.pid, nil, unix.WNOHANG, nil)
			continue
		}
		others[p.pid] = p.start
	}
	return others
}

// report tells of strays, once of each.
func (l *lineage) report(found []procStat) {
	for _, p := range found {
		if !l.note(p) {
			continue
		}
		l.log.Warn("a process that a child left cannot be attributed and goes on: end it by hand", "pid", p.pid, "command", p.command)
		l.changed()
	}
}

// note puts a stray on the list, and reports whether it is new there.
func (l *lineage) note(p procStat) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.strays[p.pid].start == p.start {
		return false
	}
	l.strays[p.pid] = stray{Stray{PID: p.pid, Command: p.command, Since: time.Now()}, p.start}
	return true
}

// reapOrphans reaps orphans that end by themselves, until ctx is done. It waits
// for single pids, and only for those that were seen ended a while ago and that
// nobody here has spawned, so it takes no exit from anybody who waits for it.
func (l *lineage) reapOrphans(ctx context.Context) {
	if !l.reaps {
		return
	}
	children := make(chan os.Signal, 1)
	signal.Notify(children, syscall.SIGCHLD)
	defer signal.Stop(children)
	noted := map[int]uint64{}
	for {
		if len(noted) == 0 {
			select {
			case <-children:
			case <-ctx.Done():
				return
			}
		}
		select {
		case <-time.After(orphanPause):
		case <-ctx.Done():
			return
		}
		noted = reapAll(l.look(quarry{}).zombies, noted)
		l.dropStrays()
	}
}

// dropStrays forgets strays that have ended.
func (l *lineage) dropStrays() {
	l.mu.Lock()
	before := len(l.strays)
	for pid, s := range l.strays {
		if stat, err := readStat(pid); err != nil || stat.start != s.start || stat.ended() {
			delete(l.strays, pid)
		}
	}
	gone := before - len(l.strays)
	l.mu.Unlock()
	if gone > 0 {
		l.changed()
	}
}
