package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/florete/flor/conformance/lab/loopback"
	"github.com/florete/flor/supervise/control"
)

// patience is how long a test waits for something that takes a moment.
const patience = time.Minute

// liveRete is a rete that runs on this machine with the real programs: agents,
// vertices, and a coordinator. An operator works on its management node.
type liveRete struct {
	t     *testing.T
	dir   string
	nodes map[string]*liveNode
}

// liveNode is one machine of it: directories of its own and an agent.
type liveNode struct {
	rete  *liveRete
	name  string
	dir   string
	agent *exec.Cmd // nil while it is away
}

// newLiveRete makes the repository of a rete with a management node and others,
// compiles it, and enrols every node. No agent runs yet.
func newLiveRete(t *testing.T, others ...string) *liveRete {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "live") // socket paths must be short
	if err != nil {
		t.Fatal(err)
	}
	r := &liveRete{t: t, dir: dir, nodes: map[string]*liveNode{}}
	t.Cleanup(r.close)
	r.build("bin", "flor")
	r.build("lib/flor", "flor-vertex", "flor-coordinator")
	for _, name := range append(others, "mgmt01") {
		r.nodes[name] = &liveNode{rete: r, name: name, dir: filepath.Join(dir, name)}
	}
	r.author(others)
	for _, n := range r.nodes {
		n.enrol()
	}
	return r
}

func (r *liveRete) build(into string, programs ...string) {
	r.t.Helper()
	args := []string{"build", "-o", filepath.Join(r.dir, into) + "/"}
	for _, program := range programs {
		args = append(args, "github.com/florete/flor/cmd/"+program)
	}
	if err := os.MkdirAll(filepath.Join(r.dir, into), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
		r.t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// author writes the YAML that an operator would.
func (r *liveRete) author(others []string) {
	r.t.Helper()
	next := func() netip.AddrPort { return loopback.Free(r.t) }
	r.runIn(r.dir, "retectl", "init", "demo", "--operator", "fyodor", "--no-passphrase", "--address", next().String())
	var nodes strings.Builder
	for _, name := range others {
		fmt.Fprintf(&nodes, "  %s: {socks5_proxy: %s, vertices: [{name: wire, kind: link, type: quic}]}\n", name, next())
	}
	r.edit("nodes.yaml", "  mgmt01: {", fmt.Sprintf("%s  mgmt01: {socks5_proxy: %s, ", nodes.String(), next()))
	r.edit("services.yaml", "127.0.0.1:9000", next().String())
	r.edit("services.yaml", "127.0.0.1:9001", next().String())
	r.edit("users.yaml", "{at: mgmt01}", fmt.Sprintf("{at: mgmt01, socks5_proxy: %s}", next()))
	r.retectl("compile")
}

func (r *liveRete) repo() string { return filepath.Join(r.dir, "demo") }

// edit replaces text in a file of the repository.
func (r *liveRete) edit(file, was, is string) {
	r.t.Helper()
	name := filepath.Join(r.repo(), file)
	text, err := os.ReadFile(name)
	if err != nil {
		r.t.Fatal(err)
	}
	if !bytes.Contains(text, []byte(was)) {
		r.t.Fatalf("%s does not contain %q:\n%s", file, was, text)
	}
	if err := os.WriteFile(name, bytes.Replace(text, []byte(was), []byte(is), 1), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

// retectl runs the tool in the repository, and returns all that it said.
func (r *liveRete) retectl(args ...string) string {
	r.t.Helper()
	return r.runIn(r.repo(), "retectl", args...)
}

func (r *liveRete) runIn(dir, program string, args ...string) string {
	r.t.Helper()
	said, err := r.try(r.nodes["mgmt01"], dir, program, args...)
	if err != nil {
		r.t.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, said)
	}
	return said
}

// try runs a program on a node, and logs what it was told and said.
func (r *liveRete) try(n *liveNode, dir, program string, args ...string) (string, error) {
	r.t.Helper()
	command := exec.Command(program, args...)
	command.Dir, command.Env = dir, append(n.environment(), "RETECTL_HOME="+filepath.Join(r.dir, "keys"))
	out, err := command.CombinedOutput()
	said := strings.ReplaceAll(string(out), r.dir, "")
	r.t.Logf("%s$ %s %s\n%s", n.name, filepath.Base(program), strings.Join(args, " "), said)
	return said, err
}

// close ends what still runs, and removes everything.
func (r *liveRete) close() {
	for _, n := range r.nodes {
		n.leave()
	}
	if err := os.RemoveAll(r.dir); err != nil {
		r.t.Error(err)
	}
}

func (n *liveNode) environment() []string {
	return append(os.Environ(), "GORACE="+raceOptions(),
		"FLOR_STATE_HOME="+filepath.Join(n.dir, "state"),
		"FLOR_CONFIG_HOME="+filepath.Join(n.dir, "config"),
		"FLOR_RUNTIME_DIR="+filepath.Join(n.dir, "run"))
}

func (n *liveNode) enrol() {
	n.rete.t.Helper()
	bundle := filepath.Join(n.rete.dir, n.name+".bundle")
	n.rete.retectl("issue-bundle", "--node", n.name, "--out", bundle)
	if said, err := n.flor("enroll", bundle, "--no-start"); err != nil {
		n.rete.t.Fatalf("enrol %s: %v\n%s", n.name, err, said)
	}
}

func (n *liveNode) flor(args ...string) (string, error) {
	n.rete.t.Helper()
	return n.rete.try(n, n.rete.dir, filepath.Join(n.rete.dir, "bin", "flor"), args...)
}

// come starts the node's agent; what it logs is kept beside its state.
func (n *liveNode) come() {
	n.rete.t.Helper()
	log, err := os.OpenFile(filepath.Join(n.dir, "agent.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		n.rete.t.Fatal(err)
	}
	defer log.Close()
	agent := exec.Command(filepath.Join(n.rete.dir, "bin", "flor"), "agent", "run", "--rete", "demo", "--log-stderr")
	agent.Env, agent.Stdout, agent.Stderr = n.environment(), log, log
	if err := agent.Start(); err != nil {
		n.rete.t.Fatal(err)
	}
	n.agent = agent
}

// leave stops the agent and its workloads, as a machine that is switched off.
func (n *liveNode) leave() {
	if n.agent == nil {
		return
	}
	ended := make(chan error, 1)
	go func() { ended <- n.agent.Wait() }()
	n.agent.Process.Signal(syscall.SIGTERM)
	select {
	case err := <-ended:
		if err != nil {
			n.rete.t.Errorf("the agent of %s ended with %v; its log:\n%s", n.name, err, n.log())
		}
	case <-time.After(patience):
		n.rete.t.Errorf("the agent of %s did not end; its log:\n%s", n.name, n.log())
		n.agent.Process.Kill()
		<-ended
	}
	n.agent = nil
}

func (n *liveNode) log() string {
	text, _ := os.ReadFile(filepath.Join(n.dir, "agent.log"))
	return string(text)
}

// await follows the agent's status until it fits.
func (n *liveNode) await(what string, fits func(control.StatusDoc) bool) {
	n.rete.t.Helper()
	ctx, cancel := context.WithTimeout(n.rete.t.Context(), patience)
	defer cancel()
	agent := control.NewClient(filepath.Join(n.dir, "run", "demo", agentSocket))
	retry := time.NewTicker(20 * time.Millisecond) // while there is no socket yet
	defer retry.Stop()
	var last control.StatusDoc
	for ctx.Err() == nil {
		for status, err := range agent.Watch(ctx) {
			if absent := new(control.NotRunning); errors.As(err, &absent) || ctx.Err() != nil {
				break
			}
			if err != nil {
				n.rete.t.Fatalf("watch the agent of %s: %v", n.name, err)
			}
			if last = status; fits(status) {
				return
			}
		}
		select {
		case <-retry.C:
		case <-ctx.Done():
		}
	}
	n.rete.t.Fatalf("%s is not %s after %v; its last status: %+v\nits log:\n%s", n.name, what, patience, last, n.log())
}
