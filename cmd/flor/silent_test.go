package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/florete/flor/supervise/control"
)

// AGT-10: an agent that takes calls and does not answer keeps nobody waiting.
// It is named, and what is asked of it could not be done.
func TestAnAgentThatDoesNotAnswerIsNamed(t *testing.T) {
	t.Parallel()
	i := newStation(t)
	i.enrol(newRete("demo").bundle())
	i.start()
	i.until("an answer", func(control.StatusDoc) bool { return true })
	i.agent.Process.Signal(syscall.SIGSTOP)
	defer i.agent.Process.Signal(syscall.SIGCONT)
	var asked sync.WaitGroup
	for _, args := range []string{"status", "status --json", "status --watch", "status --watch --json", "restart flor", "sync"} {
		asked.Go(func() {
			begun := time.Now()
			out, code := i.flor(append([]string{"agent"}, strings.Fields(args)...)...)
			want := fmt.Sprintf("process %d holds the scope demo and does not answer", i.agent.Process.Pid)
			if code != exitCould || !strings.HasPrefix(out, "flor: FL2605 no-answer: "+want) || strings.Count(out, "\n") != 1 {
				t.Errorf("%s: exit code %d: %s", args, code, out)
			}
			if took := time.Since(begun); took > answerWithin+10*time.Second {
				t.Errorf("%s: took %v", args, took)
			}
		})
	}
	asked.Wait()
}

// A scope whose socket was removed is not told to be without an agent: another
// one could not be started.
func TestAnAgentWithoutItsSocketIsNamed(t *testing.T) {
	t.Parallel()
	i := newStation(t)
	i.enrol(newRete("demo").bundle())
	i.start()
	i.until("an answer", func(control.StatusDoc) bool { return true })
	if err := os.Remove(filepath.Join(i.dir, "run/demo", agentSocket)); err != nil {
		t.Fatal(err)
	}
	for _, args := range []string{"status", "status --watch", "sync", "restart flor"} {
		out, code := i.flor(append([]string{"agent"}, strings.Fields(args)...)...)
		want := fmt.Sprintf("process %d holds the scope demo", i.agent.Process.Pid)
		if code != exitCould || !strings.Contains(out, want) || strings.Contains(out, "start it with") {
			t.Errorf("%s: exit code %d: %s", args, code, out)
		}
	}
}

// What a killed agent left in its lock is nobody's, even when the number is
// that of another process by now.
func TestANumberInALockThatNobodyHoldsIsNoAgent(t *testing.T) {
	t.Parallel()
	i := newStation(t)
	i.enrol(newRete("demo").bundle())
	lock := filepath.Join(i.dir, "state/retes/demo.lock")
	if err := os.WriteFile(lock, fmt.Appendln(nil, os.Getpid()), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, code := i.flor("agent", "status"); code != exitCould || !strings.Contains(out, "FL3306 not-running") {
		t.Errorf("exit code %d: %s", code, out)
	}
}
