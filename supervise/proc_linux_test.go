package supervise

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestAStatLineIsReadWhateverTheProcessIsCalled(t *testing.T) {
	t.Parallel()
	const rest = " S 1 42 42 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 98765 0 0"
	for _, name := range []string{"sh", "a b", "x) R 7 7 7", "(((", "\n"} {
		got, err := parseStat("42 (" + name + ")" + rest)
		want := procStat{pid: 42, command: name, state: "S", parent: 1, group: 42, start: 98765}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(procStat{})); diff != "" || err != nil {
			t.Errorf("%q: %v (-want +got):\n%s", name, err, diff)
		}
	}
}

func TestTheOwnStatLineIsReadable(t *testing.T) {
	t.Parallel()
	stat, err := readStat(os.Getpid())
	if err != nil || stat.start == 0 {
		t.Errorf("%+v, %v", stat, err)
	}
}

// SUP-9, on kernels that cannot signal a group through a pidfd: the rest of a
// group is ended although its leader has gone, a later group is not.
func TestAGroupIsEndedByNumberOnlyWhileItIsTheSame(t *testing.T) {
	t.Parallel()
	for name, later := range map[string]bool{"the survivor's own": false, "a later one of its number": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pid, helper := leaderlessGroup(t)
			s := &survivor{child: child{PID: pid}, seen: helper.start}
			if later {
				s.seen--
			}
			s.killGroupByNumber()
			for deadline := time.Now().Add(30 * time.Second); !later && groupLives(pid) && time.Now().Before(deadline); {
				time.Sleep(time.Millisecond)
			}
			if groupLives(pid) != later {
				t.Errorf("the group lives: %v", groupLives(pid))
			}
		})
	}
}

// leaderlessGroup is a process group of one helper whose leader has ended.
func leaderlessGroup(t *testing.T) (pgid int, helper procStat) {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", "sleep 1000 >/dev/null 2>&1 &")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	pgid = cmd.Process.Pid
	t.Cleanup(func() { _ = syscall.Kill(-pgid, syscall.SIGKILL) })
	for helper = range groupMembers(pgid) {
		return pgid, helper
	}
	t.Fatal("the helper is not in the group")
	return 0, procStat{}
}

func TestThePresentIsAfterEveryStart(t *testing.T) {
	t.Parallel()
	own, err := readStat(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	now, err := ticksNow()
	if err != nil || now < own.start || now > own.start+60*60*100 {
		t.Errorf("this process started at %d, now is %d, %v", own.start, now, err)
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add("1 (init) S 0 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 9 0 0")
	f.Add(")")
	f.Fuzz(func(t *testing.T, text string) {
		if stat, err := parseStat(text); err == nil && stat.state == "" {
			t.Errorf("%q has no state", text)
		}
	})
}
