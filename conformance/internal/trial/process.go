package trial

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// Process is a program under test.
type Process struct {
	t    *T
	cmd  *exec.Cmd
	said string // file
	done chan struct{}
}

// Start is [T.Launch] for a program that needs nothing but its environment.
func (t *T) Start(argv, env []string) *Process {
	return t.Launch(Launch{Argv: argv, Env: env})
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
	p.t.Await("the program must end", p.Ended)
	return p.cmd.ProcessState.ExitCode()
}

// Await waits as [T.Await] does, and no longer than the process lives: it must
// serve until SIGTERM.
func (p *Process) Await(words string, so func() bool) {
	p.t.Await(words, func() bool {
		ended := p.Ended()
		if so() {
			return true
		}
		if ended {
			p.Gone(words)
		}
		return false
	})
}

// Gone ends the case of a program that ended before what was awaited came to be.
func (p *Process) Gone(words string) {
	if !p.t.served {
		p.t.Fatalf("%s", p.Ending().Unasked())
	}
	p.t.Fatalf("the program ended with %v; it must serve until SIGTERM, and what was awaited is: %s", p.Ending(), words)
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
