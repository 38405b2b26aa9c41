package supervise_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/florete/flor/supervise"
)

// superviseUntilKilled is the whole program of a supervisor in a process of
// its own.
func superviseUntilKilled(dir string) {
	s := supervise.New(supervise.Options{RunDir: dir})
	stubborn := `trap "" TERM; sleep 1000 & echo $! >` + dir + `/helper; while :; do wait; done`
	err := s.Apply(context.Background(), []supervise.Spec{sh("stubborn", stubborn), sh("b", sleeper)})
	if err == nil {
		err = s.Run(context.Background())
	}
	panic(err)
}

// SUP-9.
func TestSurvivorsOfAKilledSupervisorAreEnded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := exec.Command(os.Args[0])
	first.Env = append(os.Environ(), "SUPERVISE_TEST_RUNDIR="+dir)
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	helper := mustAtoi(t, awaitText(t, filepath.Join(dir, "helper")))
	left := awaitRecorded(t, dir, 2)
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.Wait()
	for _, c := range left {
		if !alive(c.PID) {
			t.Fatalf("%s did not survive its supervisor: nothing is tested", c.Name)
		}
	}
	s := run(t, supervise.Options{RunDir: dir}, sh("next", sleeper))
	st := await(t, s, "next", is(supervise.Up))
	for _, c := range left {
		awaitGone(t, c.PID)
	}
	awaitGone(t, helper)
	if doc := readChildren(t, dir); len(doc.Children) != 1 || doc.Children[0].PID != st.PID {
		t.Errorf("record after the restart: %+v", doc)
	}
}

func awaitRecorded(t *testing.T, dir string, n int) []recordedChild {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(dir, "children.json")); err != nil {
			continue
		}
		if doc := readChildren(t, dir); len(doc.Children) == n {
			return doc.Children
		}
	}
	t.Fatalf("never %d children in the record", n)
	return nil
}

// bystander is a process that no supervisor may touch.
func bystander(t *testing.T) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", sleeper)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
	})
	return cmd
}

// recordOf returns a true record of a process, made by a supervisor that had
// it as a child.
func recordOf(t *testing.T, pid int) recordedChild {
	t.Helper()
	ticks, boot, err := supervise.IdentifyForTest(pid)
	if err != nil {
		t.Fatal(err)
	}
	return recordedChild{Name: "a", PID: pid, StartTicks: ticks, BootID: boot}
}

// SUP-9: never a recycled pid.
func TestOnlyTheRecordedProcessIsEnded(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		change func(*recordedChild)
		ended  bool
	}{
		{"the recorded process itself", func(*recordedChild) {}, true},
		{"a later process with the same pid", func(c *recordedChild) { c.StartTicks-- }, false},
		{"a process of another boot", func(c *recordedChild) { c.BootID = "another" }, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir, cmd := t.TempDir(), bystander(t)
			c := recordOf(t, cmd.Process.Pid)
			tt.change(&c)
			writeChildren(t, dir, recordedChildren{SchemaVersion: "1.0", Children: []recordedChild{c}})
			ended, err := supervise.EndSurvivors(t.Context(), dir, time.Second)
			if err != nil {
				t.Fatal(err)
			}
			var want []supervise.Survivor
			if tt.ended {
				want = []supervise.Survivor{{Name: "a", PID: c.PID}}
			}
			if diff := cmp.Diff(want, ended); diff != "" {
				t.Errorf("ended (-want +got):\n%s", diff)
			}
			if alive(c.PID) == tt.ended {
				t.Errorf("alive: %v", alive(c.PID))
			}
			if _, err := os.Stat(filepath.Join(dir, "children.json")); err == nil {
				t.Error("the record is still there")
			}
		})
	}
}

func TestARecordThatCannotBeReadStopsTheStart(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, text, want string }{
		{"cut short", `{"schema_version":"1.0","children":[`, "unexpected end"},
		{"of a newer version", `{"schema_version":"2.0","children":[]}`, `"2.0"`},
		{"naming init", `{"schema_version":"1.0","children":[{"name":"a","pid":1,"start_ticks":1,"boot_id":"x"}]}`, "pid 1"},
		{"naming every process", `{"schema_version":"1.0","children":[{"name":"a","pid":-1,"start_ticks":1,"boot_id":"x"}]}`, "pid -1"},
		{"naming somebody's cgroup", `{"schema_version":"1.0","children":[],"marks":[{"name":"a","boot_id":"b","cgroup":"/sys/fs/cgroup/init.scope"}]}`, "cgroup"},
		{"naming everybody's marker", `{"schema_version":"1.0","children":[],"marks":[{"name":"a","boot_id":"b","marker":"PATH"}]}`, "marker"},
		{"far too large", strings.Repeat(" ", 1<<20+1), "larger than 1048576 bytes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, "children.json")
			if err := os.WriteFile(path, []byte(tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
			err := supervise.New(supervise.Options{RunDir: dir}).Run(t.Context())
			var refusal *supervise.Error
			if !errors.As(err, &refusal) || refusal.Code() != "FL2302" || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v", err)
			}
			if text, _ := os.ReadFile(path); string(text) != tt.text {
				t.Error("the record was touched")
			}
		})
	}
}
