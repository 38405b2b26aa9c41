package supervise

import (
	"context"
	"iter"
	"log/slog"
	"sync"
)

// Options are what a Supervisor is made with. The zero value works.
type Options struct {
	// RunDir, if set, is an existing directory in which children.json records
	// the processes, so that the next supervisor can end what this one leaves
	// when it dies (SUP-9). It serves one supervisor at a time; the caller
	// holds a lock for that.
	RunDir string
	// Log receives starts, ends and refusals; nil discards them.
	Log *slog.Logger
	// OnRestart, if set, is told of each spawn after the first one of a
	// child. It must return at once.
	OnRestart func(name string, cause Cause)
}

// Cause is why a child was started again.
type Cause string

// Causes of a restart.
const (
	CauseCrash       Cause = "crash"
	CauseUnavailable Cause = "unavailable"
	CauseRequested   Cause = "requested"
	CauseChanged     Cause = "changed"
)

// Supervisor runs a list of children. Its methods may be called from any
// goroutine.
type Supervisor struct {
	opts Options
	mu   sync.Mutex
}

// New returns a supervisor that runs nothing yet.
func New(opts Options) *Supervisor { return &Supervisor{opts: opts} }

// Run ends survivors of an earlier supervisor, starts what Apply was given,
// and supervises it until ctx is done. Then it stops all in reverse order,
// one after the other, and returns nil (SUP-8). It may be called once.
func (s *Supervisor) Run(ctx context.Context) error { return nil }

// Apply makes specs the list of what is to run: in list order new ones are
// started, changed ones offered their change or restarted, and those that are
// no longer listed are stopped in reverse order (SUP-8). It returns when all
// have been told, not when they have done it. Before Run it only sets the
// list that Run starts with.
func (s *Supervisor) Apply(ctx context.Context, specs []Spec) error { return nil }

// Restart stops and starts one child, and revives a Rejected or CrashLooping
// one at once. It does not wait for it.
func (s *Supervisor) Restart(name string) error { return nil }

// Status tells how every child is doing, in list order; those that are being
// stopped for good come last.
func (s *Supervisor) Status() []Status { return nil }

// Watch yields Status at once and after each change until ctx is done or the
// supervisor has ended. A slow consumer misses states in between and never
// delays the supervisor.
func (s *Supervisor) Watch(ctx context.Context) iter.Seq[[]Status] { return nil }
