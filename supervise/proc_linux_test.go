package supervise

import (
	"maps"
	"os"
	"os/exec"
	"slices"
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

// family is a process table by parent.
func family(parents map[int]int) []procStat {
	var table []procStat
	for pid, parent := range parents {
		table = append(table, procStat{pid: pid, parent: parent})
	}
	slices.SortFunc(table, func(a, b procStat) int { return a.pid - b.pid })
	return table
}

func pids(found []procStat) []int {
	var out []int
	for _, p := range found {
		out = append(out, p.pid)
	}
	slices.Sort(out)
	return out
}

// SUP-5: who descends from whom, also in a table that is not of one moment.
func TestKinIsReadFromTheProcessTable(t *testing.T) {
	t.Parallel()
	table := family(map[int]int{1: 0, 10: 1, 20: 10, 21: 10, 30: 20, 40: 30, 50: 1, 60: 61, 61: 60})
	tests := []struct {
		name string
		got  []int
		want []int
	}{
		{"orphans are the children that were not spawned", pids(orphans(table, 10, map[int]int{20: 1})), []int{21}},
		{"all that descends", pids(descendants(table, 10)), []int{20, 21, 30, 40}},
		{"nobody descends from a leaf", pids(descendants(table, 40)), nil},
		{"a circle has an end", pids(descendants(table, 60)), []int{61}},
		{"all that it descends from", slices.Sorted(maps.Keys(ancestors(table, 40))), []int{1, 10, 20, 30}},
		{"a circle of ancestors has an end", slices.Sorted(maps.Keys(ancestors(table, 60))), []int{60, 61}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if !slices.Equal(tt.got, tt.want) {
				t.Errorf("got %v, want %v", tt.got, tt.want)
			}
		})
	}
}
