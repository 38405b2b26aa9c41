package program

import (
	"context"
	"log/slog"
	"net/http"
	"sync"

	"github.com/florete/flor/envelope"
)

// Context is what the agent gives to a program (SUP-1). A field whose
// variable is unset is empty. Its methods may be called from any goroutine.
type Context struct {
	// Scope is the local name of the rete (FLORWL_SCOPE).
	Scope string
	// Name is the workload's own name (FLORWL_NAME).
	Name string
	// MgmtArtifact and CtrlArtifact are the absolute paths of the artifacts
	// it was spawned with (FLORWL_MGMT_ARTIFACT, FLORWL_CTRL_ARTIFACT).
	MgmtArtifact, CtrlArtifact string
	// StateDir is its own durable directory (FLORWL_STATE_DIR).
	StateDir string
	// ControlSocket is where its control channel is served as soon as a
	// handler is registered (FLORWL_CONTROL_SOCKET).
	ControlSocket string
	// ScopeRoot and RuntimeRoot are the scope's trees, for flor's own
	// programs only (FLORWL_SCOPE_ROOT, FLORWL_RUNTIME_ROOT).
	ScopeRoot, RuntimeRoot string

	// Log writes to the sink the agent gave (OBS-1 … OBS-3).
	Log *slog.Logger

	mu sync.Mutex
}

// Readiness is what GET /v1/ready answers (SUP-11).
type Readiness struct {
	Ready bool `json:"ready"`
	// Listening are the addresses it serves, Waiting those it still tries
	// to get.
	Listening []string `json:"listening"`
	Waiting   []string `json:"waiting"`
}

// ApplyFunc is offered a newer artifact of this workload. True means that the
// program runs on it from now on; false that it has to be restarted for it,
// as does an error. With dryRun it only tells which (SUP-11).
type ApplyFunc func(ctx context.Context, next envelope.Artifact, dryRun bool) (swapped bool, err error)

// FromEnvironment reads the context from environ, which has the form of
// os.Environ. The logger goes to fd 2 as FLORWL_LOG_SINK and FLOR_LOG say.
func FromEnvironment(environ []string) (*Context, error) { return &Context{}, nil }

// Artifact reads and parses the mgmt artifact the program runs on: the one it
// was spawned with, or the one it swapped to. An error is marked [Reject].
func (c *Context) Artifact() (envelope.Artifact, error) { return envelope.Artifact{}, nil }

// Decode reads the payload of the mgmt artifact into the value that payload
// points to. Unknown and duplicate members are refused. An error is marked
// [Reject].
func (c *Context) Decode(payload any) error { return nil }

// Ready declares that the program serves, and on which addresses.
func (c *Context) Ready(listening ...string) {}

// OnReady answers GET /v1/ready with f, in place of what Ready was told.
func (c *Context) OnReady(f func() Readiness) {}

// OnApply offers newer artifacts to f, one at a time.
func (c *Context) OnApply(f ApplyFunc) {}

// OnDrain calls f when a restart is near: its context ends when the SIGTERM
// is due (SUP-4).
func (c *Context) OnDrain(f func(context.Context) error) {}

// ServeMetrics answers GET /metrics with h.
func (c *Context) ServeMetrics(h http.Handler) {}
