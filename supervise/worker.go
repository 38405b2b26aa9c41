package supervise

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"sync"
	"syscall"
	"time"
)

// worker owns one child. Everything in it but status belongs to the goroutine
// of run; others hand functions to it through do.
type worker struct {
	sup  *Supervisor
	name string
	log  *slog.Logger

	orders chan order
	exits  chan ending
	done   chan struct{}
	// tasks are the goroutines that wait for the process or drain it.
	tasks sync.WaitGroup

	m *machine
	// spec is what the next spawn uses, given what the process runs on.
	spec, given Spec
	swapped     bool
	proc        *process
	spawns      int
	cause       Cause
	reason      string
	lastExit    *Exit
	// leaving: it is to end for good, and the worker with it.
	leaving bool

	// status is guarded by sup.mu.
	status Status
}

// order is a function for the goroutine of the worker, and the word that it
// has run and shows in the status.
type order struct {
	f   func(now time.Time) action
	ran chan struct{}
}

// ending is how a process ended.
type ending struct {
	state *os.ProcessState
	err   error
}

func newWorker(s *Supervisor, spec Spec) *worker {
	return &worker{
		sup: s, name: spec.Name, spec: spec,
		log:    s.log.With("workload", spec.Name),
		orders: make(chan order), exits: make(chan ending), done: make(chan struct{}),
		m: newMachine(spec.Policy, s.jitter, time.Now()),
	}
}

// do has f run by the worker and returns when it has; false when the worker
// has ended.
func (w *worker) do(f func(now time.Time) action) bool {
	o := order{f: f, ran: make(chan struct{})}
	select {
	case w.orders <- o:
		<-o.ran
		return true
	case <-w.done:
		return false
	}
}

// begin starts a new child, or refuses it.
func (w *worker) begin() {
	w.do(func(now time.Time) action {
		if w.spec.Refused != "" {
			return w.m.refuse(now)
		}
		return w.m.start(now)
	})
}

// take gives a child a new spec, which a running one is offered first. It
// returns false when the worker has ended.
func (w *worker) take(ctx context.Context, spec Spec) bool {
	swapped := w.offer(ctx, &spec)
	return w.do(func(now time.Time) action { return w.adopt(now, spec, swapped) })
}

// offer asks the running process to take spec over, if that is a change, and
// returns the pid of the process that has, else 0.
func (w *worker) offer(ctx context.Context, spec *Spec) (pid int) {
	w.do(func(time.Time) action {
		if w.wouldOffer(spec) {
			pid = w.proc.pid
		}
		return nothing
	})
	if pid == 0 {
		return 0
	}
	swapped, err := spec.Offer(ctx)
	switch {
	case err != nil:
		w.log.Warn("could not be asked to take its change over, so it is restarted", "pid", pid, "err", err)
	case !swapped:
		w.log.Info("does not take its change over while it runs, so it is restarted", "pid", pid)
	default:
		return pid
	}
	return 0
}

func (w *worker) wouldOffer(spec *Spec) bool {
	runs := w.m.state == Starting || w.m.state == Up
	return runs && spec.Offer != nil && spec.Refused == "" && !w.spec.sameAs(spec)
}

// adopt takes spec over; swapped is the pid of the process that runs on it
// already.
func (w *worker) adopt(now time.Time, spec Spec, swapped int) action {
	changed := !w.spec.sameAs(&spec)
	w.spec, w.leaving = spec, false
	w.m.policy = spec.Policy.withDefaults()
	switch {
	case spec.Refused != "":
		return w.m.refuse(now)
	case !changed || !w.m.wanted:
		return w.m.start(now)
	case w.proc != nil && w.proc.pid == swapped:
		w.given, w.swapped = spec, true
		w.log.Info("took its change over", "pid", swapped, "tag", spec.Tag)
		return nothing
	default:
		w.cause = CauseChanged
		return w.m.restart(now)
	}
}

// leave ends the child for good, and its worker after it.
func (w *worker) leave() {
	w.do(func(now time.Time) action {
		w.leaving = true
		return w.m.stop(now)
	})
}

// restart is an explicit restart; what may not run is not started by it.
func (w *worker) restart() error {
	err := refuse("FL2303", "unknown-name", "%q is leaving the list", w.name)
	w.do(func(now time.Time) action {
		if w.leaving {
			return nothing
		}
		if w.spec.Refused != "" {
			err = refuse("FL2306", "unverified", "%q may not run: %s", w.name, w.spec.Refused)
			return nothing
		}
		err = nil
		w.cause = CauseRequested
		return w.m.restart(now)
	})
	return err
}

// run is the worker's goroutine. It ends when the child has left.
func (w *worker) run() {
	defer close(w.done)
	defer w.retire()
	defer w.tasks.Wait()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for !w.gone() {
		w.arm(timer)
		select {
		case o := <-w.orders:
			w.perform(o.f(time.Now()))
			w.publish()
			close(o.ran)
		case e := <-w.exits:
			w.perform(w.ended(e))
			w.publish()
		case <-timer.C:
			w.perform(w.m.tick(time.Now()))
			w.publish()
		}
	}
}

// retire forgets how to find a child that has left for good.
func (w *worker) retire() {
	if err := w.sup.record.retract(w.name); err != nil {
		w.log.Error("cannot update the record of children", "err", err)
	}
}

// gone reports whether nothing is left to be done for a child that leaves.
func (w *worker) gone() bool { return w.leaving && !w.m.alive }

func (w *worker) arm(timer *time.Timer) {
	if w.m.wake.IsZero() {
		timer.Stop()
		return
	}
	timer.Reset(time.Until(w.m.wake))
}

// perform does what the machine wants; a spawn that fails is its exit.
func (w *worker) perform(a action) {
	switch a {
	case spawn:
		w.spawn()
	case terminate:
		w.terminate()
	case kill:
		w.log.Warn("grace is over, killing the process group", "pid", w.proc.pid, "since", w.m.since)
		w.proc.kill()
	}
}

func (w *worker) spawn() {
	if err := w.check(); err != nil {
		w.perform(w.withheld(err))
		return
	}
	w.given, w.swapped, w.reason = w.spec, false, ""
	w.countSpawn()
	if err := w.sup.announce(&w.given); err != nil {
		w.log.Error("cannot record what is to be started", "err", err)
	}
	proc, err := startProcess(&w.given, w.sup.lineage)
	if err != nil {
		w.perform(w.notSpawned(err))
		return
	}
	w.proc = proc
	if err := w.sup.record.add(w.name, proc.pid); err != nil {
		w.log.Error("cannot record the process: it would survive a crash of its supervisor", "err", err)
	}
	w.log.Info("started", "pid", proc.pid, "tag", w.given.Tag)
	w.tasks.Go(func() {
		state, err := proc.wait()
		w.exits <- ending{state: state, err: err}
	})
}

func (w *worker) check() error {
	if w.spec.Check == nil {
		return nil
	}
	return w.spec.Check()
}

// withheld keeps a child from running on what failed its check (SET-5).
func (w *worker) withheld(err error) action {
	w.reason = err.Error()
	w.log.Error("not started", "err", err)
	return w.m.withheld(time.Now())
}

func (w *worker) countSpawn() {
	w.spawns++
	if w.spawns > 1 && w.sup.opts.OnRestart != nil {
		w.sup.opts.OnRestart(w.name, w.cause)
	}
}

// notSpawned judges a spawn that failed: a missing log sink is the child's 69
// (OBS-1), all else a crash.
func (w *worker) notSpawned(err error) action {
	now, verdict := time.Now(), VerdictCrash
	if sink := (*sinkError)(nil); errors.As(err, &sink) {
		verdict = VerdictUnavailable
	}
	w.lastExit = &Exit{Code: -1, At: now, Verdict: verdict, Reason: err.Error()}
	w.noteVerdict(verdict)
	w.reason = err.Error()
	a := w.m.exited(now, verdict)
	w.log.Error("could not be started", "err", err, "state", string(w.m.state), "next_try", w.m.nextTry())
	return a
}

// ended judges the end of the process.
func (w *worker) ended(e ending) action {
	if err := w.sup.record.remove(w.name); err != nil {
		w.log.Error("cannot update the record of children", "err", err)
	}
	if groupLives(w.proc.pid) {
		w.log.Warn("processes of its group are still ending", "pgid", w.proc.pid)
	}
	now, told := time.Now(), w.m.state == Stopping
	exit := w.judge(e, now, told)
	w.lastExit, w.proc = exit, nil
	if !told {
		w.noteVerdict(exit.Verdict)
	}
	a := w.m.exited(now, exit.Verdict)
	w.logEnd(exit)
	return a
}

func (w *worker) judge(e ending, now time.Time, told bool) *Exit {
	if e.err != nil {
		return &Exit{Code: -1, At: now, Told: told, Reason: e.err.Error()}
	}
	exit := &Exit{Code: e.state.ExitCode(), At: now, Told: told, Verdict: w.classify(e.state)}
	if ws, ok := e.state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		exit.Signal = ws.Signal().String()
	}
	exit.Reason = exit.describe()
	return exit
}

func (w *worker) classify(ps *os.ProcessState) Verdict {
	if w.given.Classify != nil {
		return w.given.Classify(ps)
	}
	return Classify(ps)
}

// noteVerdict keeps why the next spawn will be a restart.
func (w *worker) noteVerdict(v Verdict) {
	w.cause = CauseCrash
	if v == VerdictUnavailable {
		w.cause = CauseUnavailable
	}
}

func (w *worker) logEnd(exit *Exit) {
	level := slog.LevelWarn
	if exit.Told {
		level = slog.LevelInfo
	}
	w.log.Log(context.Background(), level, "ended", "exit", exit.Reason, "state", string(w.m.state), "next_try", w.m.nextTry())
}

// terminate asks the process to end. Before a restart it may drain first,
// within the grace that the machine has started to count (SUP-4).
func (w *worker) terminate() {
	if w.given.Drain == nil || !w.m.wanted {
		w.proc.terminate()
		return
	}
	proc, drain, deadline := w.proc, w.given.Drain, w.m.wake
	w.tasks.Go(func() {
		ctx, cancel := context.WithDeadline(proc.life, deadline)
		defer cancel()
		if err := drain(ctx); err != nil {
			w.log.Debug("did not drain", "err", err)
		}
		proc.terminate()
	})
}

// publish makes the state of the worker visible.
func (w *worker) publish() { w.sup.publish(w, w.snapshot()) }

func (w *worker) snapshot() Status {
	st := Status{
		Name: w.name, State: w.m.state, Since: w.m.since,
		Tag: w.given.Tag, Swapped: w.swapped, Restarts: max(0, w.spawns-1),
		LastExit: w.lastExit, NextTry: w.m.nextTry(), Reason: w.reason,
	}
	if w.proc != nil {
		st.PID, st.Started = w.proc.pid, w.m.spawned
	}
	if st.State == Unverified && w.spec.Refused != "" {
		st.Reason = w.spec.Refused
	}
	return st
}
