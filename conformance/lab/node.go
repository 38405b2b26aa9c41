package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/florete/flor/supervise/control"
)

// Host is a machine on which programs of a node start: a namespace of package
// netns, or this machine.
type Host interface {
	Start(*exec.Cmd) error
}

type thisMachine struct{}

func (thisMachine) Start(cmd *exec.Cmd) error { return cmd.Start() }

// Node is one machine of a rete: directories of its own and an agent.
type Node struct {
	Name     string
	Dir      string // exists; holds state, sockets and logs
	Rete     string // the scope
	Programs Programs
	Host     Host     // nil: this machine
	Env      []string // further variables of its programs
	// Restarted is told when an agent that was killed has been started again;
	// nil: nobody is.
	Restarted func(how *os.ProcessState)

	run *run // the one that lasts, or lasted last
}

// stateTimeout bounds waiting for a state of a node.
const stateTimeout = 60 * time.Second

func (n *Node) host() Host {
	if n.Host != nil {
		return n.Host
	}
	return thisMachine{}
}

// environment is what a user of this machine would have set by installing.
func (n *Node) environment() []string {
	return append([]string{
		"FLOR_STATE_HOME=" + filepath.Join(n.Dir, "state"),
		"FLOR_CONFIG_HOME=" + filepath.Join(n.Dir, "config"),
		"FLOR_RUNTIME_DIR=" + filepath.Join(n.Dir, "run"),
		"TMPDIR=" + n.Dir,
	}, n.Env...)
}

// RuntimeRoot is where the node has its sockets.
func (n *Node) RuntimeRoot() string { return filepath.Join(n.Dir, "run", n.Rete) }

// StateDir is where the node keeps its state.
func (n *Node) StateDir() string { return filepath.Join(n.Dir, "state") }

// Flor runs flor on the node and returns the lines of its standard output.
func (n *Node) Flor(ctx context.Context, args ...string) ([]string, error) {
	return n.command(ctx, n.Dir, nil, "flor", args...)
}

// Control is a client of the agent's socket.
func (n *Node) Control() *control.Client {
	return control.NewClient(filepath.Join(n.RuntimeRoot(), "agent.sock"))
}

// Await follows the agent's status until it fits, for a minute at most. An agent
// that is not there yet is tried again; one that ended for good is an error.
func (n *Node) Await(ctx context.Context, what string, fits func(control.StatusDoc) bool) (control.StatusDoc, error) {
	ctx, cancel := context.WithTimeout(ctx, stateTimeout)
	defer cancel()
	retry := time.NewTicker(20 * time.Millisecond)
	defer retry.Stop()
	var last control.StatusDoc
	for {
		for status, err := range n.Control().Watch(ctx) {
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
		case <-n.run.ended:
			return last, n.run.endedBadly()
		case <-retry.C:
		}
	}
}

// ErrPortLost tells that somebody else took a port between probe and use.
var ErrPortLost = errors.New("a port was taken by somebody else")

// overdue says why a state did not come: a port that somebody else took, or
// what the agent itself reports.
func (n *Node) overdue(ctx context.Context, what string, last control.StatusDoc) error {
	if busy := waitingPorts(last); len(busy) > 0 {
		return fmt.Errorf("%w: %s on %s", ErrPortLost, strings.Join(busy, ", "), n.Name)
	}
	return fmt.Errorf("%s is not %s: %w; its status says %q, last sync %+v", n.Name, what, ctx.Err(), last.Health, last.LastSync)
}

// waitingPorts lists the addresses that a vertex could not open.
func waitingPorts(status control.StatusDoc) []string {
	var waiting []string
	for _, workload := range status.Workloads {
		if workload.Ready == nil {
			continue
		}
		for _, what := range workload.Ready.Waiting {
			if !strings.HasPrefix(what, "identity ") {
				waiting = append(waiting, what)
			}
		}
	}
	return waiting
}
