package node

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/florete/flor/conformance/internal/logdaemon"
	"github.com/florete/flor/conformance/internal/rete"
	"github.com/florete/flor/conformance/internal/trial"
)

// Node is a machine of node alpha.
type Node struct {
	Scope       string // its name
	Root        rete.Scope
	StateHome   string
	Runtime     string // base
	Lib         string
	Rete        *rete.Rete
	Coordinator *Coordinator
	Workloads   *Workloads
	Log         *logdaemon.Daemon
	Env         []string       // of the agent
	Before      []string       // words before the agent's command line
	Agent       *trial.Process // nil until Start

	t    *trial.T
	argv []string
}

// Executables are what the lib directory has: the two that ship with flor, and
// two that do not.
var Executables = []string{"flor-vertex", "flor-coordinator", "tenant", "other"}

// New makes a machine on which nobody is enrolled. argv starts the agent; in it,
// {scope} stands for the scope's name.
func New(t *trial.T, argv []string) *Node {
	dir := t.Dir()
	n := &Node{
		Scope: "demo", StateHome: filepath.Join(dir, "state"), Runtime: filepath.Join(dir, "run"), Lib: filepath.Join(dir, "lib"),
		Rete: rete.New("rete-lovers"), Coordinator: NewCoordinator(t), Log: logdaemon.Listen(t, filepath.Join(dir, "log")),
		t: t,
	}
	n.Workloads = newWorkloads(t, dir, n.Lib, Executables...)
	n.Workloads.agent = func() *trial.Process { return n.Agent }
	n.Root = rete.Scope(filepath.Join(n.StateHome, "retes", n.Scope))
	for _, word := range argv {
		n.argv = append(n.argv, strings.ReplaceAll(word, "{scope}", n.Scope))
	}
	n.Env = append(neutral(os.Environ()),
		"HOME="+dir,
		"FLOR_STATE_HOME="+n.StateHome, "FLOR_RUNTIME_DIR="+n.Runtime, "FLOR_LIB_DIR="+n.Lib,
		"FLOR_CONFIG_HOME="+filepath.Join(dir, "config"),
		"FLOR_LOG_DESTINATION=unix:"+n.Log.Path(), "FLOR_LOG=info")
	return n
}

// neutral leaves out of an environment what would change the agent's mind.
func neutral(env []string) []string {
	var kept []string
	for _, entry := range env {
		name, _, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, "FLOR") && !strings.HasPrefix(name, "XDG_") && name != "HOME" {
			kept = append(kept, entry)
		}
	}
	return kept
}

// Set signs a set of this node, with the inbound that leads to the coordinator
// and a poll interval that never comes.
func (n *Node) Set(version uint64, workloads ...rete.Workload) [][]byte {
	return n.SetOf(rete.Set{Version: version, Workloads: workloads})
}

// SetOf is Set for one that is unusual.
func (n *Node) SetOf(s rete.Set) [][]byte {
	if s.Inbound == "" {
		s.Inbound = n.Coordinator.Addr
	}
	if s.Poll == "" {
		s.Poll = "24h"
	}
	return n.Rete.Sign(s)
}

// Enrol writes the scope; see [rete.Rete.Enrol].
func (n *Node) Enrol(sets ...[][]byte) {
	n.t.Check(n.Rete.Enrol(n.Root, sets...), "write an enrolled scope")
}

// Start starts the agent.
func (n *Node) Start() *trial.Process {
	n.Agent = n.t.Start(append(slices.Clone(n.Before), n.argv...), n.Env)
	return n.Agent
}

// Serve starts the agent and waits for its first sync to have ended.
func (n *Node) Serve() Status {
	n.Start()
	return n.Until("the agent must open its control socket, tell the pid of the process that was started in its status (a wrapper must exec it), and end a first sync", func(s Status) bool {
		return s.LastSync != nil && s.Agent.PID == n.Agent.PID()
	})
}

// Tenant is a workload of the executable tenant with some payload.
func Tenant(name string, payload any) rete.Workload {
	return rete.Workload{Name: name, Run: "tenant", Payload: map[string]any{"schema_version": "1.0", "n": payload}}
}

// Vertex is a workload whose executable ships with flor.
func Vertex(name string, payload any) rete.Workload {
	w := Tenant(name, payload)
	w.Run = "flor-vertex"
	return w
}

// Refuses starts the agent, which must end instead of serving, and returns its
// exit code and all that it said and logged.
func (n *Node) Refuses(why string) (code int, said string) {
	p := n.Start()
	n.t.Await("the agent must refuse: "+why, func() bool {
		if s, err := n.status(); err == nil && s.Agent.PID == p.PID() {
			n.t.Fatalf("the agent serves; it must refuse: %s", why)
		}
		return p.Ended()
	})
	return p.Exit(), p.Said() + strings.Join(n.Log.Records(), "\n")
}
