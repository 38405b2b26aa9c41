package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/florete/flor/store"
	"github.com/florete/flor/supervise"
	"github.com/florete/flor/supervise/control"
	"github.com/florete/flor/supervise/program"
)

// Options say which scope an agent serves and where it logs.
type Options struct {
	// Layout is the install's directories.
	Layout store.Layout
	// Scope is the scope to serve; it is enrolled.
	Scope string
	// LogStderr makes the agent's standard error the log sink, shared with its
	// children. Otherwise LogDestination ("unix:/dev/log") is it (OBS-1).
	LogStderr      bool
	LogDestination string
	// Log overrides where the agent's own records go; nil is the sink.
	Log *slog.Logger
	// Build is the version that status tells.
	Build string
	// Policy is how workloads are restarted; its zero value has the defaults.
	Policy supervise.Policy
	// Stall is how long a fetch may stand still [30 s], FetchWithin how long it
	// may take in all beyond the time it is held [10 min] (AGT-4.1).
	Stall, FetchWithin time.Duration
	// Clock is the wall clock by which certificates are judged; nil is the
	// machine's. All waiting goes by the monotonic clock.
	Clock func() time.Time
	// OwnProcess says that the agent is all that this process does, so that it
	// may become a child subreaper and move to a cgroup, in order to end what
	// workloads leave behind (SUP-5).
	OwnProcess bool
	// ConfirmWithin is how long a sync waits for its set to be confirmed before
	// it is told "failed" (AGT-4.6) [10 s].
	ConfirmWithin time.Duration
}

// survivorGrace is what a survivor of an earlier agent gets between SIGTERM and
// SIGKILL: the node waits for its successor (SUP-4).
const survivorGrace = time.Second

// Agent serves one scope. Make it with [New].
type Agent struct {
	opts Options
	sink *logSink
	log  *slog.Logger
	shut func() error

	scope *store.Scope
	host  *host
	board *board

	counters  *counters
	sup       *supervise.Supervisor
	admit     *admitter
	sync      *syncer
	attendant *attendant
	server    *control.Server
}

// check refuses a time that is none: it would be over before it began.
func (o Options) check() error {
	for _, limit := range []struct {
		name  string
		value time.Duration
	}{{"Stall", o.Stall}, {"FetchWithin", o.FetchWithin}, {"ConfirmWithin", o.ConfirmWithin}} {
		if limit.value < 0 {
			return fmt.Errorf("agent: %s is %v: give a time above zero, or zero for the default", limit.name, limit.value)
		}
	}
	return nil
}

// New opens the log sink, and refuses options that are none. An error is marked for
// the exit code of the contract: 69 where the log destination does not answer, 78
// where something has to be set right first (see [program.ExitCode]).
func New(opts Options) (*Agent, error) {
	if err := opts.check(); err != nil {
		return nil, program.Reject(err)
	}
	if opts.Clock == nil {
		opts.Clock = time.Now
	}
	opts.ConfirmWithin = cmp.Or(opts.ConfirmWithin, confirmWithin)
	a := &Agent{
		opts: opts, log: opts.Log, shut: func() error { return nil },
		sink: newLogSink(opts.LogStderr, opts.LogDestination),
	}
	if a.log != nil {
		return a, nil
	}
	var err error
	a.log, a.shut, err = a.sink.logger(os.Getenv("FLOR_LOG"))
	return a, err
}

// Run serves the scope until ctx is done; then it stops the workloads in reverse
// order, removes what it made in the runtime root, gives up the lock, and
// returns nil. It may be called once. Errors are marked for their exit code: 78
// for what needs a person, 1 for a lock that another agent holds and for a crash.
func (a *Agent) Run(ctx context.Context) (err error) {
	defer func() { err = errors.Join(err, a.shut()) }()
	if err := a.checkPaths(); err != nil {
		return rejected(err)
	}
	lock, err := store.LockScope(a.opts.Layout.State, a.opts.Scope)
	if err != nil {
		return rejected(err)
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	return a.runLocked(ctx)
}

// checkPaths refuses a runtime root in which the control socket could not be
// bound, before anything is touched (SET-1).
func (a *Agent) checkPaths() error {
	root, err := a.opts.Layout.RuntimeRoot(a.opts.Scope)
	if err != nil {
		return err
	}
	_, err = store.SocketPath(root, agentSocket)
	return err
}

// rejected marks a refusal of the store as one that waiting does not change. A
// lock that is held is none: its holder may end.
func rejected(err error) error {
	if _, ok := errors.AsType[*store.HeldError](err); ok || codeOf(err) == "" {
		return err
	}
	return program.Reject(err)
}

func (a *Agent) runLocked(ctx context.Context) (err error) {
	if a.scope, err = store.Open(a.opts.Layout.State, a.opts.Scope); err != nil {
		return rejected(err)
	}
	defer func() { err = errors.Join(err, a.scope.Close()) }()
	held, err := takeRuntimeRoot(a.opts.Layout, a.opts.Scope)
	if err != nil {
		return rejected(err)
	}
	defer func() { err = errors.Join(err, held.Release()) }()
	root := held.Path
	if err := a.cleanUp(ctx, root); err != nil {
		return err
	}
	loaded, err := a.scope.Load()
	if err != nil {
		return errors.Join(rejected(err), leave(root))
	}
	if err := a.assemble(root, loaded); err != nil {
		return errors.Join(err, leave(root))
	}
	return errors.Join(a.serve(ctx), leave(root))
}

// cleanUp ends the workloads of an agent that died (SUP-9) and clears what it
// left in the runtime root.
func (a *Agent) cleanUp(ctx context.Context, root string) error {
	survivors, err := supervise.EndSurvivors(ctx, root, survivorGrace)
	if err != nil {
		return fmt.Errorf("end survivors of an earlier agent: %w", err)
	}
	for _, s := range survivors {
		a.log.Warn("survivor of an earlier agent ended", "workload", s.Name, "pid", s.PID)
	}
	if err := clearStale(root); err != nil {
		return fmt.Errorf("clear the runtime root: %w", err)
	}
	return nil
}

// assemble wires the agent's parts around what was loaded.
func (a *Agent) assemble(root string, loaded *store.Loaded) error {
	a.host = a.newHost(root)
	if err := a.host.checkPaths(loaded.Active.Agent); err != nil {
		return program.Reject(err)
	}
	anchor, err := a.scope.Anchor()
	if err != nil {
		return rejected(err)
	}
	a.logStart(root, loaded)
	a.board = newBoard(facts{
		gen: loadedGeneration(loaded), state: loaded.State,
		recovered: loaded.Recovered, trustLost: loaded.TrustLost,
	})
	a.counters = newCounters().ofProcess()
	a.sup = supervise.New(supervise.Options{
		RunDir: root, Log: a.component("supervise"), OnRestart: a.counters.restarted,
		Subreaper: a.opts.OwnProcess, Cgroup: a.opts.OwnProcess,
	})
	a.host.beside = a.sup.RunBeside
	vault := &vault{scope: a.scope, clock: a.opts.Clock}
	a.attendant = &attendant{host: a.host, board: a.board, vault: vault, sup: a.sup, log: a.component("sync"), within: a.opts.ConfirmWithin, stirred: make(chan struct{}, 1), looked: make(chan struct{})}
	a.sync = a.newSyncer(vault)
	a.attendant.reached = a.sync.reached
	a.host.intact, a.host.damaged = vault.intact, func() { a.sync.queue.add(byPoll, false, nil) }
	a.server = control.NewServer(a.newBackend(vault, anchor.TrustDomain.Name()), a.component("control"))
	return nil
}

func (a *Agent) newHost(root string) *host {
	h := &host{
		scope: a.opts.Scope, lib: a.opts.Layout.Lib, scopeRoot: a.scope.Root(), runtimeRoot: root,
		environ: os.Environ(), sink: a.sink.class, policy: a.opts.Policy,
	}
	h.out, h.openSink = a.sink.forChildren()
	return h
}

func (a *Agent) newSyncer(vault *vault) *syncer {
	report := &reporter{board: a.board, log: a.component("sync"), counters: a.counters}
	s := &syncer{board: a.board, queue: newQueue(), report: report.report, starting: a.starting}
	s.fetch.limits = limits{stall: a.opts.Stall, within: cmp.Or(a.opts.FetchWithin, fetchWithin)}
	s.admit = &admitter{log: a.component("sync"), host: a.host, board: a.board, vault: vault, sup: a.sup, within: a.opts.ConfirmWithin, activating: s.fetch.close, activated: a.attendant.stir}
	if f := a.board.read(); f.trustLost {
		_, s.trustLost = a.scope.Held(f.state)
	}
	a.admit = s.admit
	return s
}

// starting tells that a workload of the active set is starting or about to be.
func (a *Agent) starting() bool {
	return anyStarting(listed(a.board.read().gen, a.sup.Status(), time.Time{}))
}

func (a *Agent) newBackend(vault *vault, trustDomain string) *backend {
	return &backend{
		host: a.host, board: a.board, sup: a.sup, sync: a.sync, vault: vault, counters: a.counters,
		identity: &identities{dir: a.scope.IdentityDir()}, sink: a.sink, freshen: a.attendant.freshen, followed: a.attendant.followed,
		clock: a.opts.Clock, trust: trustDomain, build: a.opts.Build, since: time.Now(),
	}
}

// component is the logger of one part of the agent (OBS-2).
func (a *Agent) component(name string) *slog.Logger {
	return a.log.With(program.ComponentKey, name)
}

func (a *Agent) logStart(root string, loaded *store.Loaded) {
	a.log.Info("agent starts", "version", a.opts.Build, "scope", a.opts.Scope, "mode", string(a.opts.Layout.Mode),
		"sink", string(a.sink.class), "destination", a.sink.destination,
		"state", a.scope.Root(), "lib", a.opts.Layout.Lib, "runtime", root, "set", loaded.Active.Version)
	if loaded.Problem != nil {
		a.log.Error("stored state is damaged", "recovered", loaded.Recovered, "trust_state_lost", loaded.TrustLost, "error", loaded.Problem)
	}
	if loaded.Unsettled != nil {
		a.log.Error("stored state cannot be put in order on disk", "error", loaded.Unsettled)
	}
}

// tellStop has status say that the agent ends, once it does: nobody is to take what
// still runs for what serves on.
func (a *Agent) tellStop(running context.Context) {
	<-running.Done()
	a.board.update(func(f *facts) { f.stopping = time.Now() })
}

// serve runs everything until ctx is done or a part fails. Status is served
// until the last workload is gone, because a stop that takes long is told there
// (SUP-8).
func (a *Agent) serve(ctx context.Context) error {
	listener, err := control.Listen(filepath.Join(a.host.runtimeRoot, agentSocket), socketMode(a.opts.Layout.Mode == store.System))
	if err != nil {
		return fmt.Errorf("open the control socket: %w", err)
	}
	if err := a.admit.activate(ctx, a.board.read().gen); err != nil {
		return errors.Join(err, listener.Close())
	}
	parts, running := errgroup.WithContext(ctx)
	late, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	parts.Go(func() error { defer end(); return a.sup.Run(running) })
	parts.Go(func() error { return a.sync.run(running) })
	parts.Go(func() error { a.tellStop(running); return nil })
	parts.Go(func() error { return a.attendant.follow(late) })
	parts.Go(func() error { return a.attendant.run(late) })
	parts.Go(func() error { return a.server.Serve(listener) })
	parts.Go(func() error { <-late.Done(); return a.server.Close() })
	err = parts.Wait()
	a.log.Info("agent ends")
	return err
}
