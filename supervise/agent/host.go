package agent

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/florete/flor/envelope/schema"
	"github.com/florete/flor/store"
	"github.com/florete/flor/supervise"
	"github.com/florete/flor/supervise/program"
)

const (
	// agentSocket is the control socket's name in the runtime root.
	agentSocket = "agent.sock"
	// drainWithin is what a workload is given to drain before a restart (SUP-4).
	drainWithin = 800 * time.Millisecond
)

// host is where things are on this machine for one scope, and what a child
// gets of it.
type host struct {
	scope       string
	lib         string
	scopeRoot   string
	runtimeRoot string
	environ     []string
	sink        program.Sink
	// openSink opens fd 1 and fd 2 of one child (OBS-1); nil shares out.
	openSink func() (*os.File, error)
	out      *os.File
	policy   supervise.Policy
	// intact tells why the member of a set on disk is not what was admitted;
	// damaged has the active set looked at, because a member was not.
	intact  func(g *generation, name string) error
	damaged func()
	// beside runs what is no workload to its end.
	beside func(context.Context, supervise.Spec) (*os.ProcessState, error)
}

// socket is the path of a workload's control channel (SUP-2).
func (h *host) socket(name string) string { return filepath.Join(h.runtimeRoot, name+".sock") }

// stateDir is the path of a workload's own durable directory.
func (h *host) stateDir(name string) string { return filepath.Join(h.scopeRoot, "workloads", name) }

// spawn is what the environment of a workload's process is made of.
func (h *host) spawn(w schema.Workload, artifact string) spawn {
	return spawn{
		scope: h.scope, name: w.Name, run: w.Run[0],
		mgmtArtifact: artifact, stateDir: h.stateDir(w.Name),
		logSink: h.sink, socket: h.socket(w.Name),
		scopeRoot: h.scopeRoot, runtimeRoot: h.runtimeRoot,
	}
}

// checkPaths refuses an inventory of which a socket path would be over the
// platform's limit (SET-1, SUP-2).
func (h *host) checkPaths(a *schema.Agent) error {
	for _, w := range a.Workloads {
		if _, err := store.SocketPath(h.runtimeRoot, w.Name+".sock"); err != nil {
			return fmt.Errorf("workload %s: %w", w.Name, err)
		}
	}
	return nil
}

// specs is a generation as the supervisor runs it, in list order. artifact
// gives the path of a member in the active set.
func (h *host) specs(g *generation, artifact func(name string) string) []supervise.Spec {
	specs := make([]supervise.Spec, 0, len(g.agent.Workloads))
	for i, m := range g.members() {
		specs = append(specs, h.spec(g, g.agent.Workloads[i], m, artifact(m.name)))
	}
	return specs
}

func (h *host) spec(g *generation, w schema.Workload, m member, artifact string) supervise.Spec {
	channel := program.DialControl(h.socket(w.Name))
	check := func() error { return h.checkMember(g, w.Name) }
	return supervise.Spec{
		Name:     w.Name,
		Path:     filepath.Join(h.lib, w.Run[0]),
		Env:      environ(h.environ, h.spawn(w, artifact)),
		Marker:   stateDirVar + "=" + h.stateDir(w.Name),
		Dir:      h.stateDir(w.Name),
		Out:      h.out,
		OpenOut:  h.openSink,
		Policy:   h.policy,
		Revision: m.revision(),
		Tag:      g.tag(),
		Check:    check,
		Refused:  g.unverified[w.Name],
		Offer: func(ctx context.Context) (bool, error) {
			if err := check(); err != nil {
				return false, err
			}
			swapped, err := channel.Apply(ctx, artifact, false)
			if program.NotServed(err) {
				return false, nil // it is restarted, as ever (SUP-11)
			}
			return swapped, err
		},
		Drain: func(ctx context.Context) error {
			return channel.Drain(ctx, drainWithin)
		},
	}
}

// checkMember keeps what is not as it was admitted from a workload, and has the
// set recovered (SET-5). It is called by the supervisor and does not wait for it.
func (h *host) checkMember(g *generation, name string) error {
	err := h.intact(g, name)
	if err != nil {
		h.damaged()
	}
	return err
}

// missing tells which workloads' executables are not there, and what to do.
func (h *host) missing(g *generation) map[string]error {
	faults := map[string]error{}
	for _, w := range g.agent.Workloads {
		if _, err := executable(h.lib, w.Run[0]); err != nil {
			faults[w.Name] = err
		}
	}
	return faults
}
