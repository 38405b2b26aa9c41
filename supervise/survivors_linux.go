package supervise

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// survivor holds a recorded process by its pidfd, so that a signal reaches
// that process or none, whatever becomes of its pid.
type survivor struct {
	child
	fd int
	// seen is when the process was known to live, in clock ticks since boot.
	seen uint64
}

// openSurvivor returns the recorded process, nil when it has ended.
func openSurvivor(c child) (*survivor, error) {
	fd, err := unix.PidfdOpen(c.PID, 0)
	if errors.Is(err, unix.ESRCH) || errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOENT) {
		return nil, nil // ended, or its number is a thread's by now
	}
	if err != nil {
		return nil, fmt.Errorf("pidfd_open: %w", err)
	}
	// The pid is pinned from here on: equal ticks prove that it is the same
	// process and not a later one with its number.
	ticks, err := startTicks(c.PID)
	if err != nil || ticks != c.StartTicks {
		unix.Close(fd)
		return nil, nil
	}
	seen, err := ticksNow()
	if err != nil {
		unix.Close(fd)
		return nil, err
	}
	return &survivor{child: c, fd: fd, seen: seen}, nil
}

func (s *survivor) close() { unix.Close(s.fd) }

func (s *survivor) signal(sig syscall.Signal) { _ = unix.PidfdSendSignal(s.fd, sig, nil, 0) }

// killGroup ends the process group through the pidfd, which kernels before 6.9
// cannot.
func (s *survivor) killGroup() {
	err := unix.PidfdSendSignal(s.fd, unix.SIGKILL, nil, unix.PIDFD_SIGNAL_PROCESS_GROUP)
	if errors.Is(err, unix.EINVAL) {
		s.killGroupByNumber()
	}
}

// killGroupByNumber ends the process group if it is still the survivor's. Any
// other group of that number begins after the survivor has ended, so a member
// that started before the survivor was seen alive tells them apart.
func (s *survivor) killGroupByNumber() {
	for member := range groupMembers(s.PID) {
		if member.start <= s.seen {
			_ = unix.Kill(-s.PID, unix.SIGKILL)
			return
		}
	}
}

// awaitEnd reports whether the process ended before ctx did.
func (s *survivor) awaitEnd(ctx context.Context) bool {
	for {
		fds := []unix.PollFd{{Fd: int32(s.fd), Events: unix.POLLIN}}
		if n, err := unix.Poll(fds, pollStep(ctx)); err == nil && n > 0 {
			return true
		}
		if ctx.Err() != nil {
			return false
		}
	}
}

// pollStep is how many milliseconds to poll before looking at ctx again.
func pollStep(ctx context.Context) int {
	const step = 50 * time.Millisecond
	if deadline, ok := ctx.Deadline(); ok {
		return int(max(0, min(step, time.Until(deadline))).Milliseconds())
	}
	return int(step.Milliseconds())
}

// bootID names this boot of the machine.
func bootID() (string, error) {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(id)), err
}

// endMarked ends what carries a marker and is nobody's any more: its parent is
// init or an ancestor of this process, to which orphans go. That leaves alone
// what a person runs by hand with such an environment.
func endMarked(ctx context.Context, marks []mark) ([]Survivor, error) {
	var ended []Survivor
	names := make(map[string]string, len(marks))
	for _, m := range marks {
		names[m.Marker] = m.Name
		if m.Cgroup == "" {
			continue
		}
		for _, pid := range cgroupMembers(m.Cgroup) {
			ended = append(ended, Survivor{Name: m.Name, PID: pid})
		}
		if !killCgroup(m.Cgroup, killPatience) {
			return ended, fmt.Errorf("%s, in %s, of an earlier supervisor does not end: end it by hand", m.Name, m.Cgroup)
		}
		removeCgroup(m.Cgroup)
	}
	delete(names, "")
	abandoned, err := endAbandoned(ctx, names)
	return append(ended, abandoned...), err
}

// endAbandoned repeats until a look finds nothing: what forks is faster than
// one look.
func endAbandoned(ctx context.Context, names map[string]string) ([]Survivor, error) {
	var ended []Survivor
	known := map[int]uint64{}
	begun := time.Now()
	for pause := time.Millisecond; len(names) > 0; pause = longer(pause) {
		found := abandoned(names)
		if len(found) == 0 {
			break
		}
		for _, a := range found {
			if known[a.pid] != a.start {
				ended = append(ended, Survivor{Name: a.name, PID: a.pid})
			}
			killAll([]procStat{a.procStat}, known)
		}
		if err := ctx.Err(); err != nil {
			return ended, err
		}
		if time.Since(begun) > killPatience {
			return ended, errSurvivor(found[0].name, found[0].pid)
		}
		time.Sleep(pause)
	}
	return ended, nil
}

// leftover is a process that an earlier supervisor's child has left.
type leftover struct {
	procStat
	name string
}

func abandoned(names map[string]string) []leftover {
	table := processes()
	adopters := ancestors(table, os.Getpid())
	adopters[1] = true
	var found []leftover
	for _, p := range table {
		if !adopters[p.parent] || adopters[p.pid] || p.pid == os.Getpid() || p.ended() {
			continue
		}
		name := firstNamed(environment(p.pid), names)
		if name == "" {
			continue
		}
		for _, each := range append(descendants(table, p.pid), p) {
			if !each.ended() {
				found = append(found, leftover{each, name})
			}
		}
	}
	return found
}

func firstNamed(entries []string, names map[string]string) string {
	for _, entry := range entries {
		if name := names[entry]; name != "" {
			return name
		}
	}
	return ""
}
