package trial

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// Process is a program under test.
type Process struct {
	t    *T
	cmd  *exec.Cmd
	said string // file
	done chan struct{}
}

// Start starts a program with exactly this environment, as the leader of a
// process group, which is killed when the case has ended.
func (t *T) Start(argv, env []string) *Process {
	if len(argv) == 0 {
		t.Fatalf("there is no program to check: give its command line")
	}
	p := &Process{t: t, said: filepath.Join(t.Dir(), "said"), done: make(chan struct{})}
	out, err := os.OpenFile(p.said, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	t.Check(err, "make a file for what the program says")
	defer out.Close()
	p.cmd = exec.Command(argv[0], argv[1:]...)
	p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = env, out, out
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	t.Check(p.cmd.Start(), "start "+strings.Join(argv, " "))
	go func() {
		defer close(p.done)
		_ = p.cmd.Wait() // the state tells
	}()
	t.Cleanup(p.Kill)
	t.Note(p.lastWords)
	return p
}

// PID is the process's number.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Signal sends a signal to the process alone.
func (p *Process) Signal(s syscall.Signal) {
	if err := p.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.t.Fatalf("send %v: %w", s, err)
	}
}

// Ended tells whether the process has ended.
func (p *Process) Ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// Exit waits for the process to end and returns its exit code, -1 where it was
// a signal.
func (p *Process) Exit() int {
	select {
	case <-p.done:
		return p.cmd.ProcessState.ExitCode()
	case <-p.t.ctx.Done():
		p.t.Fatalf("the program did not end")
		return -1
	}
}

// Stop sends SIGTERM and returns the exit code.
func (p *Process) Stop() int {
	p.Signal(syscall.SIGTERM)
	return p.Exit()
}

// Kill kills the process and its group with SIGKILL, and waits for its end.
func (p *Process) Kill() {
	if !p.Ended() {
		_ = syscall.Kill(-p.PID(), syscall.SIGKILL)
		<-p.done
	}
}

// Said is what the process has written to standard output and error.
func (p *Process) Said() string {
	text, err := os.ReadFile(p.said)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func (p *Process) lastWords() string {
	if said := p.Said(); said != "" {
		return "the program said " + Quote(said)
	}
	return ""
}
