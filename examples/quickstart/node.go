package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/florete/flor/supervise"
	"github.com/florete/flor/supervise/control"
)

// errPortLost tells that somebody else took a port between probe and use.
var errPortLost = errors.New("a port was taken by somebody else")

// Bounds on waiting: for a state of a node, and for an agent to stop.
const (
	stateTimeout = 20 * time.Second
	stopTimeout  = 20 * time.Second
)

// node is one machine of the rete: directories of its own and an agent.
type node struct {
	name   string
	dir    string
	rete   string
	report *reporter
	log    *os.File
	ended  chan struct{}    // closed when the agent has ended for good
	final  *os.ProcessState // after ended: how

	mu      sync.Mutex
	agent   *exec.Cmd // the one that runs, or ran last
	stopped bool      // by us
}

// environment is what a user of this machine would have set by installing.
func (n *node) environment() []string {
	return []string{
		"FLOR_STATE_HOME=" + filepath.Join(n.dir, "state"),
		"FLOR_CONFIG_HOME=" + filepath.Join(n.dir, "config"),
		"FLOR_RUNTIME_DIR=" + filepath.Join(n.dir, "run"),
	}
}

// startAgent runs `flor agent run`, and again when it is killed, as a service
// manager would.
func (n *node) startAgent(flor string) error {
	log, err := os.OpenFile(filepath.Join(n.dir, "agent.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	n.log, n.ended = log, make(chan struct{})
	if err := n.spawn(flor); err != nil {
		close(n.ended)
		return err
	}
	go n.tend(flor)
	return nil
}

// spawn starts the agent in a process group of its own, so that Ctrl-C reaches
// this program first and agents stop in order.
func (n *node) spawn(flor string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.stopped {
		return context.Canceled
	}
	agent := exec.Command(flor, "agent", "run", "--rete", n.rete, "--log-stderr")
	agent.Env = append(cleanEnvironment(), n.environment()...)
	agent.Stdout, agent.Stderr = n.log, n.log
	agent.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := agent.Start(); err != nil {
		return fmt.Errorf("start the agent of %s: %w", n.name, err)
	}
	n.agent = agent
	return nil
}

// tend waits for the agent's end. One that was killed is started again; one
// that ended by itself is not, whatever it had to say.
func (n *node) tend(flor string) {
	defer close(n.ended)
	for {
		agent := n.running()
		agent.Wait()
		n.final = agent.ProcessState
		if killed := n.final.ExitCode() < 0; !killed || n.spawn(flor) != nil {
			return
		}
		n.report.step("the agent of %s ended (%v) and was started again", n.name, n.final)
	}
}

func (n *node) running() *exec.Cmd {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.agent
}

// runtimeRoot is where a node in this directory has its sockets.
func runtimeRoot(dir string) string { return filepath.Join(dir, "run", reteName) }

// stopAgent ends the agent and reports one that did not end well by itself;
// what such a one left running is ended too.
func (n *node) stopAgent() error {
	if n.ended == nil {
		return nil
	}
	defer n.log.Close()
	n.mu.Lock()
	n.stopped = true
	if n.agent != nil {
		n.agent.Process.Signal(syscall.SIGTERM)
	}
	n.mu.Unlock()
	select {
	case <-n.ended:
	case <-time.After(stopTimeout):
		n.running().Process.Kill()
		<-n.ended
	}
	if n.final != nil && n.final.Success() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	_, err := supervise.EndSurvivors(ctx, runtimeRoot(n.dir), time.Second)
	return errors.Join(n.endedBadly(), err)
}

// endedBadly says how an agent ended, with its last words.
func (n *node) endedBadly() error {
	text, _ := os.ReadFile(n.log.Name())
	said := lines(string(text))
	if len(said) == 0 {
		said = []string{"nothing"}
	}
	return fmt.Errorf("the agent of %s ended with %v; its last words: %s", n.name, n.final, said[len(said)-1])
}

func (n *node) control() *control.Client {
	return control.NewClient(filepath.Join(runtimeRoot(n.dir), "agent.sock"))
}

// await follows the agent's status until it fits. An agent that is not there
// yet is tried again.
func (n *node) await(ctx context.Context, what string, fits func(control.StatusDoc) bool) (control.StatusDoc, error) {
	ctx, cancel := context.WithTimeout(ctx, stateTimeout)
	defer cancel()
	var last control.StatusDoc
	for retry := time.NewTicker(20 * time.Millisecond); ; {
		for status, err := range n.control().Watch(ctx) {
			if err != nil {
				break
			}
			if last = status; fits(status) {
				return status, nil
			}
		}
		select {
		case <-ctx.Done():
			return last, n.overdue(ctx, what, last)
		case <-n.ended:
			return last, n.endedBadly()
		case <-retry.C:
		}
	}
}

// overdue says why a state did not come: a port that somebody else took, or
// what the agent itself reports.
func (n *node) overdue(ctx context.Context, what string, last control.StatusDoc) error {
	if busy := waitingPorts(last); len(busy) > 0 {
		return fmt.Errorf("%w: %s on %s", errPortLost, strings.Join(busy, ", "), n.name)
	}
	return fmt.Errorf("%s is not %s: %w; its status says %q", n.name, what, ctx.Err(), last.Health)
}

// waitingPorts lists the addresses that a vertex could not open.
func waitingPorts(status control.StatusDoc) []string {
	var waiting []string
	for _, workload := range status.Workloads {
		if workload.Ready != nil {
			waiting = append(waiting, workload.Ready.Waiting...)
		}
	}
	return waiting
}

// serving tells that every workload is up and serves what it should.
func serving(status control.StatusDoc) bool {
	for _, workload := range status.Workloads {
		if workload.State != "up" && workload.State != "starting" || workload.Ready == nil || !workload.Ready.Ready {
			return false
		}
	}
	return len(status.Workloads) > 0
}

func workload(status control.StatusDoc, name string) control.Workload {
	for _, w := range status.Workloads {
		if w.Name == name {
			return w
		}
	}
	return control.Workload{}
}

// cleanEnvironment is this process's environment without settings of flor.
func cleanEnvironment() []string {
	var env []string
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "FLOR") && !strings.HasPrefix(entry, "RETECTL_") {
			env = append(env, entry)
		}
	}
	return env
}
