package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/florete/flor/supervise"
)

// run is the time between a start of a node's agent and its end for good. An
// agent that is killed meanwhile is started again, as by a service manager.
type run struct {
	node  *Node
	log   *os.File
	ended chan struct{}    // closed when the agent has ended for good
	final *os.ProcessState // after ended: how; nil: it never started

	mu      sync.Mutex
	agent   *exec.Cmd // the one that runs, or ran last
	stopped bool      // by us
}

// Start starts the agent, which must not run.
func (n *Node) Start() error {
	log, err := os.OpenFile(filepath.Join(n.Dir, "agent.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	n.run = &run{node: n, log: log, ended: make(chan struct{})}
	if err := n.run.spawn(); err != nil {
		close(n.run.ended)
		return errors.Join(err, log.Close())
	}
	go n.run.tend()
	return nil
}

// spawn starts the agent in a process group of its own, so that Ctrl-C reaches
// this program first and agents stop in order.
func (r *run) spawn() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopped {
		return context.Canceled
	}
	n := r.node
	agent := exec.Command(n.Programs.Path("flor"), "agent", "run", "--rete", n.Rete, "--log-stderr")
	agent.Env = append(cleanEnvironment(), n.environment()...)
	agent.Stdout, agent.Stderr = r.log, r.log
	agent.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := n.host().Start(agent); err != nil {
		return fmt.Errorf("start the agent of %s: %w", n.Name, err)
	}
	r.agent = agent
	return nil
}

// tend waits for the agent's end. One that was killed is started again; one
// that ended by itself is not, whatever it had to say.
func (r *run) tend() {
	defer close(r.ended)
	for {
		agent := r.running()
		_ = agent.Wait()
		r.final = agent.ProcessState
		if killed := r.final.ExitCode() < 0; !killed || r.spawn() != nil {
			return
		}
		if r.node.Restarted != nil {
			r.node.Restarted(r.final)
		}
	}
}

func (r *run) running() *exec.Cmd {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.agent
}

// signal signals the agent; with last, no agent is started after it.
func (r *run) signal(s os.Signal, last bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopped = r.stopped || last
	_ = r.agent.Process.Signal(s)
}

// KillAgent kills the agent and nothing else, which is then started again.
func (n *Node) KillAgent() { n.run.signal(syscall.SIGKILL, false) }

// Running tells that the agent was started and has not ended for good.
func (n *Node) Running() bool {
	if n.run == nil || n.run.running() == nil {
		return false
	}
	select {
	case <-n.run.ended:
		return false
	default:
		return true
	}
}

// Stop ends the agent in order and reports one that did not end well by itself;
// what such a one left running is ended too. A node that does not run is left
// alone.
func (n *Node) Stop() error {
	r := n.run
	if r == nil || r.running() == nil {
		return nil
	}
	n.run = nil
	defer r.log.Close()
	r.signal(syscall.SIGTERM, true)
	select {
	case <-r.ended:
	case <-time.After(stopTimeout):
		r.signal(syscall.SIGKILL, true)
		<-r.ended
	}
	if r.final.Success() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	_, err := supervise.EndSurvivors(ctx, n.RuntimeRoot(), time.Second)
	return errors.Join(r.endedBadly(), err)
}

// expectEnd lets no agent be started after the one that runs.
func (n *Node) expectEnd() {
	if n.run != nil {
		n.run.signal(syscall.Signal(0), true)
	}
}

// forget waits for an agent that something else ended.
func (n *Node) forget() {
	if n.run != nil {
		<-n.run.ended
		n.run.log.Close()
		n.run = nil
	}
}

// endedBadly says how an agent ended, with its last words.
func (r *run) endedBadly() error {
	text, _ := os.ReadFile(r.log.Name())
	said := lines(string(text))
	if len(said) == 0 {
		said = []string{"nothing"}
	}
	return fmt.Errorf("the agent of %s ended with %v; its last words: %s", r.node.Name, r.final, said[len(said)-1])
}
