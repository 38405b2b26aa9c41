package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

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
	name  string
	dir   string
	rete  string
	agent *exec.Cmd
	log   *os.File
	ended chan struct{} // closed when the agent has ended
}

// environment is what a user of this machine would have set by installing.
func (n *node) environment() []string {
	return []string{
		"FLOR_STATE_HOME=" + filepath.Join(n.dir, "state"),
		"FLOR_CONFIG_HOME=" + filepath.Join(n.dir, "config"),
		"FLOR_RUNTIME_DIR=" + filepath.Join(n.dir, "run"),
	}
}

// startAgent runs `flor agent run`, in a process group of its own, so that
// Ctrl-C reaches this program first and agents stop in order.
func (n *node) startAgent(flor string) error {
	log, err := os.OpenFile(filepath.Join(n.dir, "agent.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	n.log = log
	n.agent = exec.Command(flor, "agent", "run", "--rete", n.rete, "--log-stderr")
	n.agent.Env = append(cleanEnvironment(), n.environment()...)
	n.agent.Stdout, n.agent.Stderr = log, log
	n.agent.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := n.agent.Start(); err != nil {
		return fmt.Errorf("start the agent of %s: %w", n.name, err)
	}
	n.ended = make(chan struct{})
	go func() {
		defer close(n.ended)
		n.agent.Wait()
	}()
	return nil
}

// stopAgent ends the agent and reports one that did not end by itself.
func (n *node) stopAgent() error {
	if n.ended == nil {
		return nil
	}
	defer n.log.Close()
	n.agent.Process.Signal(syscall.SIGTERM)
	select {
	case <-n.ended:
	case <-time.After(stopTimeout):
		n.agent.Process.Kill()
		<-n.ended
		return fmt.Errorf("the agent of %s did not stop within %v", n.name, stopTimeout)
	}
	if code := n.agent.ProcessState.ExitCode(); code != 0 {
		return fmt.Errorf("the agent of %s ended with exit code %d", n.name, code)
	}
	return nil
}

func (n *node) control() *control.Client {
	return control.NewClient(filepath.Join(n.dir, "run", n.rete, "agent.sock"))
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
			return last, fmt.Errorf("the agent of %s ended with exit code %d while it was to become %s", n.name, n.agent.ProcessState.ExitCode(), what)
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
