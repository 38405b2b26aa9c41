package program

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"

	"github.com/florete/flor/envelope"
)

// The environment of a supervised program (SUP-1).
const (
	EnvScope         = "FLORWL_SCOPE"
	EnvName          = "FLORWL_NAME"
	EnvMgmtArtifact  = "FLORWL_MGMT_ARTIFACT"
	EnvCtrlArtifact  = "FLORWL_CTRL_ARTIFACT"
	EnvStateDir      = "FLORWL_STATE_DIR"
	EnvLogSink       = "FLORWL_LOG_SINK"
	EnvControlSocket = "FLORWL_CONTROL_SOCKET"
	EnvScopeRoot     = "FLORWL_SCOPE_ROOT"
	EnvRuntimeRoot   = "FLORWL_RUNTIME_ROOT"
	// EnvLog has the log levels (OBS-3).
	EnvLog = "FLOR_LOG"
)

// Context is what the agent gives to a program (SUP-1). A field whose
// variable is unset is empty. [Main] makes it; [FromEnvironment] does for
// whoever does without Main. A test may make one out of fields, Log among them;
// without a ControlSocket handlers are kept and nobody calls them. Fields are
// not changed once a method was called. Its methods may be called from any
// goroutine.
type Context struct {
	// Scope is the local name of the rete.
	Scope string
	// Name is the workload's own name.
	Name string
	// MgmtArtifact and CtrlArtifact are the absolute paths of the artifacts
	// it was spawned with.
	MgmtArtifact, CtrlArtifact string
	// StateDir is its own durable directory.
	StateDir string
	// ControlSocket is where its control channel is served as soon as a
	// handler is registered.
	ControlSocket string
	// ScopeRoot and RuntimeRoot are the scope's trees, for flor's own
	// programs only.
	ScopeRoot, RuntimeRoot string
	// Sink is what fd 2 is.
	Sink Sink

	// Log writes to fd 2 as Sink wants it (OBS-1 … OBS-3).
	Log *slog.Logger

	making  sync.Once
	control *controlServer // see channel
}

// FromEnvironment reads the context from environ, which has the form of
// os.Environ, and makes a logger for fd 2 with component as its name. An error
// is marked [Reject]; even then the context has a logger. Whoever calls it
// calls Close.
func FromEnvironment(environ []string, component string) (*Context, error) {
	env := variables(environ)
	c := &Context{
		Scope: env[EnvScope], Name: env[EnvName],
		MgmtArtifact: env[EnvMgmtArtifact], CtrlArtifact: env[EnvCtrlArtifact],
		StateDir: env[EnvStateDir], ControlSocket: env[EnvControlSocket],
		ScopeRoot: env[EnvScopeRoot], RuntimeRoot: env[EnvRuntimeRoot],
		Sink: Sink(env[EnvLogSink]),
	}
	return c, c.open(env[EnvLog], component)
}

// variables keeps the first of each variable, as the C library does.
func variables(environ []string) map[string]string {
	env := make(map[string]string, len(environ))
	for _, item := range environ {
		name, value, _ := strings.Cut(item, "=")
		if _, seen := env[name]; !seen {
			env[name] = value
		}
	}
	return env
}

// open makes what belongs to a context beside its fields. It may be called
// again when fields have changed and nothing is registered yet.
func (c *Context) open(levels, component string) error {
	parsed, levelErr := ParseLevels(levels)
	sinkErr := c.Sink.check()
	if sinkErr != nil {
		c.Sink = SinkPlain
	}
	c.Log = NewLogger(LogOptions{Sink: c.Sink, Workload: c.Name, Component: component, Levels: parsed})
	c.control = c.newControl()
	if levelErr != nil {
		// Not worth a node that does not come up.
		c.Log.Warn("logging at info", "err", levelErr)
	}
	return Reject(errors.Join(sinkErr, c.check()))
}

func (c *Context) newControl() *controlServer {
	log := c.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &controlServer{socket: c.ControlSocket, workload: c.Name, artifact: c.MgmtArtifact, log: log}
}

// channel is the control channel, also of a context that was made out of fields.
func (c *Context) channel() *controlServer {
	c.making.Do(func() {
		if c.control == nil {
			c.control = c.newControl()
		}
	})
	return c.control
}

func (s Sink) check() error {
	switch s {
	case SinkPlain, SinkShared, SinkSyslog:
		return nil
	default:
		return refuse("FL2501", "bad-context", "%s=%s: want syslog, shared or nothing", EnvLogSink, string(s))
	}
}

func (c *Context) check() error {
	paths := map[string]string{
		EnvMgmtArtifact: c.MgmtArtifact, EnvCtrlArtifact: c.CtrlArtifact, EnvStateDir: c.StateDir,
		EnvControlSocket: c.ControlSocket, EnvScopeRoot: c.ScopeRoot, EnvRuntimeRoot: c.RuntimeRoot,
	}
	for name, path := range paths {
		if path != "" && !filepath.IsAbs(path) {
			return refuse("FL2501", "bad-context", "%s=%s: want an absolute path", name, path)
		}
	}
	return nil
}

// Artifact reads and parses the mgmt artifact the program runs on: the one it
// was spawned with, or the one it swapped to. The agent has verified it. An
// error is marked [Reject].
func (c *Context) Artifact() (envelope.Artifact, error) {
	return ReadArtifact(c.channel().current())
}

// ReadArtifact reads and parses an artifact without verifying it. An error is
// marked [Reject].
func ReadArtifact(path string) (envelope.Artifact, error) {
	if path == "" {
		return envelope.Artifact{}, Reject(refuse("FL2501", "bad-context",
			"no artifact to run on: %s is not set; the agent sets it, and whoever runs a program by hand: the absolute path of an artifact", EnvMgmtArtifact))
	}
	text, err := readBounded(path, envelope.MaxEnvelope)
	if err != nil {
		return envelope.Artifact{}, Reject(refuse("FL2502", "bad-artifact", "%w", err))
	}
	a, err := envelope.Parse(text)
	if err != nil {
		return envelope.Artifact{}, Reject(refuse("FL2502", "bad-artifact", "%s: %w", path, err))
	}
	return a, nil
}

// readBounded reads a file up to one byte over its limit, which is for the
// parser to refuse.
func readBounded(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, limit+1))
}

// Decode reads the payload of the mgmt artifact into the value that payload
// points to. Unknown and duplicate members are refused. An error is marked
// [Reject].
func (c *Context) Decode(payload any) error {
	a, err := c.Artifact()
	if err != nil {
		return err
	}
	return DecodePayload(a, payload)
}

// DecodePayload reads the payload of an artifact into the value that payload
// points to, as [Context.Decode] does.
func DecodePayload(a envelope.Artifact, payload any) error {
	if err := json.Unmarshal(a.Payload(), payload, json.RejectUnknownMembers(true)); err != nil {
		return Reject(refuse("FL2503", "bad-payload", "payload of %s: %w", a.Ref(), err))
	}
	return nil
}

// Ready declares that the program serves, and on which addresses. Nobody is
// told: the agent asks.
func (c *Context) Ready(listening ...string) {
	c.OnReady(func() Readiness { return Readiness{Ready: true, Listening: listening} })
}

// OnReady answers GET /v1/ready with f, in place of what was there before.
func (c *Context) OnReady(f func() Readiness) {
	c.channel().register(func(h *handlers) { h.ready = f })
}

// OnApply offers newer artifacts to f, one at a time. Without it, a changed
// artifact means a restart.
func (c *Context) OnApply(f ApplyFunc) {
	c.channel().register(func(h *handlers) { h.apply = f })
}

// OnDrain calls f when a restart is near: its context ends when the SIGTERM
// is due (SUP-4). It lets what is open end, and the program goes on until its
// own context ends. A stop comes without it.
func (c *Context) OnDrain(f func(context.Context) error) {
	c.channel().register(func(h *handlers) { h.drain = f })
}

// ServeMetrics answers GET /metrics with metrics, such as the handler of package
// metrics.
func (c *Context) ServeMetrics(metrics http.Handler) {
	c.channel().register(func(h *handlers) { h.metrics = metrics })
}

// Close stops the control channel, if one is served, and waits for it.
func (c *Context) Close() { c.channel().close() }
