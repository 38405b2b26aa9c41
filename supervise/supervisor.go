package supervise

import (
	"context"
	"io/fs"
	"iter"
	"log/slog"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
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
	// Subreaper makes this process the one that orphans of its descendants go
	// to, so that those which have left their process group are found by their
	// Spec's Marker and ended with their child (SUP-5). It stays on after Run.
	// With it, the process must start all its other children by
	// [Supervisor.RunBeside], or they are taken for orphans: told of, and
	// reaped when they have ended and nobody has waited for a second. Linux
	// only; without effect elsewhere.
	Subreaper bool
	// Cgroup moves this process to the group "agent" in its own cgroup v2,
	// and has each child begin in "w-<name>" beside it, which is ended as a
	// whole with the child; nothing escapes that (SUP-5). Where the own group
	// is the root, not writable, or another supervisor's, it is logged, and
	// Subreaper does what it can. Linux only.
	Cgroup bool
	// OnRestart, if set, is told of each spawn after the first one of a
	// child. It must return at once and may be called from any goroutine.
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

// phase is where the supervisor is in its own life.
type phase int

const (
	idle phase = iota
	running
	over
)

// Supervisor runs a list of children. Its methods may be called from any
// goroutine.
type Supervisor struct {
	opts   Options
	log    *slog.Logger
	record *record
	// lineage knows what children leave behind.
	lineage *lineage
	wg      sync.WaitGroup

	// preparing is held by whoever is about to start the first process here.
	preparing sync.Mutex
	prepared  bool

	// applying serializes whoever changes the list of children.
	applying sync.Mutex
	phase    phase
	pending  []Spec

	mu      sync.Mutex
	order   []string
	workers map[string]*worker
	// besides are the names of what runs beside the list.
	besides map[string]bool
	// changed is closed and replaced at each change of a status.
	changed chan struct{}
	// ended is closed when the last child has ended.
	ended chan struct{}
}

// New returns a supervisor that runs nothing yet.
func New(opts Options) *Supervisor {
	log := opts.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	s := &Supervisor{
		opts: opts, log: log,
		record:  newRecord(opts.RunDir),
		workers: map[string]*worker{},
		besides: map[string]bool{},
		changed: make(chan struct{}),
		ended:   make(chan struct{}),
	}
	s.lineage = newLineage(log, s.strayed)
	return s
}

// jitter is the randomness of the restart policy.
func (s *Supervisor) jitter() float64 { return 2*rand.Float64() - 1 }

// Run ends survivors of an earlier supervisor, starts what Apply was given,
// and supervises it until ctx is done. Then it stops all in reverse order,
// one after the other, and returns nil (SUP-8). It may be called once.
func (s *Supervisor) Run(ctx context.Context) error {
	if err := s.begin(ctx); err != nil {
		return err
	}
	reaping, stop := context.WithCancel(context.WithoutCancel(ctx))
	var reaper sync.WaitGroup
	reaper.Go(func() { s.lineage.reapOrphans(reaping) })
	<-ctx.Done()
	s.stopAll()
	stop()
	reaper.Wait()
	s.lineage.close()
	return nil
}

func (s *Supervisor) begin(ctx context.Context) error {
	s.applying.Lock()
	defer s.applying.Unlock()
	if s.phase != idle {
		return refuse("FL2304", "not-running", "this supervisor has run already: make a new one")
	}
	if err := s.prepare(ctx); err != nil {
		return err
	}
	s.phase = running
	s.apply(ctx, s.pending)
	s.pending = nil
	return nil
}

// prepare ends survivors of an earlier supervisor, and turns on what the options
// ask for, before the first process is started here: what is on record after it
// is ours.
func (s *Supervisor) prepare(ctx context.Context) error {
	s.preparing.Lock()
	defer s.preparing.Unlock()
	if s.prepared {
		return nil
	}
	if err := s.endSurvivors(ctx); err != nil {
		return err
	}
	s.lineage.open(s.opts)
	s.prepared = true
	return nil
}

func (s *Supervisor) endSurvivors(ctx context.Context) error {
	if s.opts.RunDir == "" {
		return nil
	}
	if err := checkRunDir(s.opts.RunDir); err != nil {
		return err
	}
	survivors, err := EndSurvivors(ctx, s.opts.RunDir, Policy{}.withDefaults().RestartGrace)
	for _, v := range survivors {
		s.log.Warn("ended a process that an earlier supervisor had left", "workload", v.Name, "pid", v.PID)
	}
	return err
}

// checkRunDir refuses one in which no child could be recorded, so that none would
// ever be spawned.
func checkRunDir(dir string) error {
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		err = &fs.PathError{Op: "open", Path: dir, Err: syscall.ENOTDIR}
	}
	if err != nil {
		return refuse("FL2302", "bad-record", "the run directory has to be there: %w", err)
	}
	return nil
}

// announce records by what a child that is going to be spawned is found.
func (s *Supervisor) announce(spec *Spec) error {
	return s.record.announce(spec.Name, spec.Marker, s.lineage.groupDir(spec.Name))
}

// Strays tells which processes that children left are attributed to none, by
// pid. A change of them wakes [Supervisor.Watch].
func (s *Supervisor) Strays() []Stray { return s.lineage.list() }

// strayed wakes whoever watches.
func (s *Supervisor) strayed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wake()
}

// stopAll ends every child, the last in the list first, each after the one
// before has ended.
func (s *Supervisor) stopAll() {
	s.applying.Lock()
	defer s.applying.Unlock()
	s.phase = over
	workers := s.inOrder()
	slices.Reverse(workers)
	for _, w := range workers {
		w.leave()
		<-w.done
	}
	s.wg.Wait()
	close(s.ended)
}

// Apply makes specs the list of what is to run: in list order new ones are
// started, changed ones offered their change or restarted, and those that are
// no longer listed are stopped in reverse order (SUP-8). It returns when all
// have been told, not when they have done it. Before Run it only sets the
// list that Run starts with. specs stay the caller's, who may change them and
// apply them again. A list that cannot be supervised, and a supervisor that has
// ended, are an *[Error], and nothing changes.
func (s *Supervisor) Apply(ctx context.Context, specs []Spec) error {
	if err := checkSpecs(specs); err != nil {
		return err
	}
	specs = clone(specs)
	s.applying.Lock()
	defer s.applying.Unlock()
	switch s.phase {
	case idle:
		s.pending = specs
	case running:
		s.apply(ctx, specs)
	case over:
		return refuse("FL2304", "not-running", "the supervisor has ended")
	}
	return nil
}

// apply is called with applying held.
func (s *Supervisor) apply(ctx context.Context, specs []Spec) {
	for _, w := range s.dropped(specs) {
		w.leave()
	}
	s.setOrder(specs)
	for _, spec := range specs {
		s.applyOne(ctx, spec)
	}
}

// dropped returns the workers that specs no longer list, the last one first.
func (s *Supervisor) dropped(specs []Spec) []*worker {
	listed := make(map[string]bool, len(specs))
	for _, spec := range specs {
		listed[spec.Name] = true
	}
	workers := slices.DeleteFunc(s.inOrder(), func(w *worker) bool { return listed[w.name] })
	slices.Reverse(workers)
	return workers
}

func (s *Supervisor) applyOne(ctx context.Context, spec Spec) {
	if w := s.worker(spec.Name); w != nil && w.take(ctx, spec) {
		return
	}
	w := newWorker(s, spec)
	s.enlist(w)
	s.wg.Go(func() {
		w.run()
		s.forget(w)
	})
	w.begin()
}

// Restart stops and starts one child, and revives a Rejected or CrashLooping
// one at once. It does not wait for it. An unknown name is an *[Error], and
// so is any while the supervisor does not run, and a child that was Refused.
func (s *Supervisor) Restart(name string) error {
	s.applying.Lock()
	defer s.applying.Unlock()
	w := s.worker(name)
	if w == nil || s.phase != running {
		return refuse("FL2303", "unknown-name", "nothing named %q is supervised here", name)
	}
	return w.restart()
}

// Status tells how every child is doing, in list order; those that are
// leaving come last.
func (s *Supervisor) Status() []Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Status
	for _, w := range s.sorted() {
		out = append(out, w.status)
	}
	return out
}

// Watch yields Status at once and after each change until ctx is done or the
// supervisor has ended. A slow consumer misses states in between and never
// delays the supervisor.
func (s *Supervisor) Watch(ctx context.Context) iter.Seq[[]Status] {
	return func(yield func([]Status) bool) {
		for {
			changed := s.change()
			if !yield(s.Status()) {
				return
			}
			select {
			case <-changed:
			case <-s.ended:
				return
			case <-ctx.Done():
				return
			}
		}
	}
}

func (s *Supervisor) change() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}

// publish is how a worker shows its status. Only a change wakes watchers.
func (s *Supervisor) publish(w *worker, st Status) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w.status != st {
		w.status = st
		s.wake()
	}
}

// wake is called with mu held.
func (s *Supervisor) wake() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// enlist shows a worker that is about to start its child, or to refuse it.
func (s *Supervisor) enlist(w *worker) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w.status = w.snapshot(); w.spec.Refused == "" {
		w.status.State = Starting
	}
	s.workers[w.name] = w
}

// forget drops a worker that has ended, unless another has its name by now.
func (s *Supervisor) forget(w *worker) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.workers[w.name] == w {
		delete(s.workers, w.name)
		s.wake()
	}
}

func (s *Supervisor) worker(name string) *worker {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.workers[name]
}

func (s *Supervisor) setOrder(specs []Spec) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.order = s.order[:0]
	for _, spec := range specs {
		s.order = append(s.order, spec.Name)
	}
}

func (s *Supervisor) inOrder() []*worker {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sorted()
}

// sorted returns the workers in list order, the leaving ones after them by
// name. It is called with mu held.
func (s *Supervisor) sorted() []*worker {
	rank := make(map[string]int, len(s.order))
	for i, name := range s.order {
		rank[name] = i - len(s.order)
	}
	var out []*worker
	for _, w := range s.workers {
		out = append(out, w)
	}
	slices.SortFunc(out, func(a, b *worker) int {
		if d := rank[a.name] - rank[b.name]; d != 0 {
			return d
		}
		return strings.Compare(a.name, b.name)
	})
	return out
}
