package supervise

import (
	"context"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// survivor is a recorded process. There is no pidfd here: its start time is
// compared before each signal, which leaves a window of microseconds.
type survivor struct{ child }

// openSurvivor returns the recorded process, nil when it has ended.
func openSurvivor(c child) (*survivor, error) {
	s := &survivor{child: c}
	if !s.exists() {
		return nil, nil
	}
	return s, nil
}

func (s *survivor) exists() bool {
	ticks, err := startTicks(s.PID)
	return err == nil && ticks == s.StartTicks
}

func (s *survivor) close() {}

func (s *survivor) signal(sig syscall.Signal) {
	if s.exists() {
		_ = syscall.Kill(s.PID, sig)
	}
}

func (s *survivor) killGroup() {
	if s.exists() {
		_ = syscall.Kill(-s.PID, syscall.SIGKILL)
	}
}

// awaitEnd reports whether the process ended before ctx did.
func (s *survivor) awaitEnd(ctx context.Context) bool {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for s.exists() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// startTicks returns when a process started, in microseconds since 1970.
func startTicks(pid int) (uint64, error) {
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return 0, err
	}
	start := info.Proc.P_starttime
	return uint64(start.Sec)*1_000_000 + uint64(start.Usec), nil
}

// bootID names this boot of the machine.
func bootID() (string, error) { return unix.Sysctl("kern.bootsessionuuid") }

// groupLives reports whether a process group has members.
func groupLives(pgid int) bool { return syscall.Kill(-pgid, 0) != syscall.ESRCH }

// endMarked finds nothing: the environment of others cannot be read here.
func endMarked(context.Context, []mark) ([]Survivor, error) { return nil, nil }
