package install

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/florete/flor/store"
	"github.com/florete/flor/store/durable"
)

// Scopes are the agents that run from an install, as a service manager has them.
type Scopes interface {
	// Running lists the scopes whose agents run.
	Running(ctx context.Context) ([]string, error)
	// Stop returns when the agent has ended, Start when it runs.
	Stop(ctx context.Context, scope string) error
	Start(ctx context.Context, scope string) error
	// Reload has the manager read its files again.
	Reload(ctx context.Context) error
}

// Options say what is installed.
type Options struct {
	Mode    store.Mode
	Version string // of the programs
	Account string // who runs agents in system mode
	Files   []File
	Scopes  Scopes // nil where there is no service manager
}

// Result says what an install has done.
type Result struct {
	Before    string   // the version that was there; empty: none
	Placed    []string // files that are new or other than before
	Removed   []string // files of the version before that this one does not have
	Left      []string // the same, but changed by somebody since: they stay
	Restarted []string // scopes that were stopped for the swap and run again
}

// Install places the files below the prefix that fsys stands for, over an older
// or newer install, or what is left of one that was cut short (INS-1). It starts
// nothing but the scopes that it has stopped.
func Install(ctx context.Context, fsys FS, o Options) (Result, error) {
	old, err := before(fsys, o.Mode)
	if err != nil {
		return Result{}, err
	}
	p, err := compare(fsys, old, o.Files)
	if err != nil {
		return Result{}, err
	}
	if err := sweep(fsys); err != nil {
		return Result{}, err
	}
	if p.nothing(o) {
		return Result{Before: old.Version}, nil
	}
	running, err := p.running(ctx, o)
	if err != nil {
		return Result{}, fmt.Errorf("which scopes run: %w", err)
	}
	done := &work{fsys: fsys, plan: p, opts: o, receipt: p.receipt(o, running)}
	return done.result(), done.do(ctx)
}

// before is the receipt of what is installed, nil when there is none.
func before(fsys FS, mode store.Mode) (*Receipt, error) {
	old, err := ReadReceipt(fsys)
	if refused, ok := errors.AsType[*Refusal](err); ok && refused.Reason == NoReceipt {
		return nil, nil
	}
	if err == nil && old.Mode != mode {
		return nil, refuse(OtherMode, "what is installed there is for %s mode: run its flor uninstall first", old.Mode)
	}
	return old, err
}

// nothing tells whether all is as it shall be.
func (p *plan) nothing(o Options) bool {
	if p.old == nil || len(p.place)+len(p.obsolete) > 0 {
		return false
	}
	return p.old.equal(p.receipt(o, nil).final(o))
}

// running lists the scopes that run, and those that a swap before this one has
// stopped and not started again.
func (p *plan) running(ctx context.Context, o Options) ([]string, error) {
	if p.old == nil || o.Scopes == nil {
		return nil, nil
	}
	running, err := o.Scopes.Running(ctx)
	all := union(p.old.Stopped, running)
	slices.Sort(all)
	return all, err
}

// work is an install under way.
type work struct {
	fsys    FS
	plan    plan
	opts    Options
	receipt *Receipt
}

func (w *work) result() Result {
	r := Result{Removed: w.plan.obsolete, Left: w.plan.left, Restarted: w.receipt.Stopped}
	if w.plan.old != nil {
		r.Before = w.plan.old.Version
	}
	for _, f := range w.plan.place {
		r.Placed = append(r.Placed, f.Path)
	}
	return r
}

func (w *work) do(ctx context.Context) error {
	if err := w.prepare(); err != nil {
		return err
	}
	err := w.stop(ctx)
	if err == nil {
		err = w.swap(ctx)
	}
	// Who was stopped is started whatever came of the swap: each file is whole.
	if err := errors.Join(err, w.start(ctx)); err != nil {
		return err
	}
	if len(w.receipt.Stopped) == 0 {
		return nil
	}
	done := w.receipt.final(w.opts)
	done.Stopped = nil
	return done.write(w.fsys)
}

// sweep removes what an install that was cut short left half-written.
func sweep(fsys FS) error {
	for _, name := range []string{ReceiptFile + durable.TmpSuffix, stageDir + durable.PartialSuffix} {
		there, err := stands(fsys, name)
		if there {
			err = fsys.RemoveAll(name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// prepare writes down what is to come and stages it. On error what was installed
// is as before, and so is its receipt.
func (w *work) prepare() error {
	if err := w.announce(); err != nil {
		return err
	}
	err := w.makeDirs()
	if err == nil {
		err = durable.StageDir(w.fsys, stageDir, w.plan.tree())
	}
	if err != nil && w.plan.old != nil {
		return errors.Join(err, w.plan.old.write(w.fsys))
	}
	if err != nil {
		_, undone := Remove(w.fsys)
		return errors.Join(err, undone)
	}
	return nil
}

// announce makes the place of the receipt, and writes it.
func (w *work) announce() error {
	for _, dir := range parents(nil) {
		if err := w.makeDir(dir); err != nil {
			return err
		}
	}
	return w.receipt.write(w.fsys)
}

func (w *work) makeDirs() error {
	for _, dir := range w.plan.dirs {
		if err := w.makeDir(dir); err != nil {
			return err
		}
	}
	return nil
}

// makeDir makes a directory that is missing.
func (w *work) makeDir(dir string) error {
	there, err := stands(w.fsys, dir)
	if err != nil || there {
		return err
	}
	if err := w.fsys.Mkdir(dir, dirPerm); err != nil {
		return err
	}
	return w.fsys.SyncDir(path.Dir(dir))
}

func (w *work) stop(ctx context.Context) error {
	for _, scope := range w.receipt.Stopped {
		if err := w.opts.Scopes.Stop(ctx, scope); err != nil {
			return fmt.Errorf("stop scope %s: %w", scope, err)
		}
	}
	return nil
}

// start starts every scope that was stopped, also when one of them does not.
func (w *work) start(ctx context.Context) error {
	var errs []error
	for _, scope := range w.receipt.Stopped {
		if err := w.opts.Scopes.Start(ctx, scope); err != nil {
			errs = append(errs, fmt.Errorf("start scope %s again: %w", scope, err))
		}
	}
	return errors.Join(errs...)
}

// swap gives every staged file its final name and reads it back.
func (w *work) swap(ctx context.Context) error {
	for _, f := range w.plan.place {
		if err := w.fsys.Rename(stagedPath(f.Path), f.Path); err != nil {
			return fmt.Errorf("place %s: %w: run the same install again", f.Path, err)
		}
		if err := w.fsys.SyncDir(path.Dir(f.Path)); err != nil {
			return err
		}
	}
	for _, name := range w.plan.obsolete {
		if err := removeSynced(w.fsys, name); err != nil {
			return err
		}
	}
	if err := durable.DiscardStaged(w.fsys, stageDir); err != nil {
		return err
	}
	if err := w.readBack(); err != nil {
		return err
	}
	if err := w.receipt.final(w.opts).write(w.fsys); err != nil {
		return err
	}
	if w.opts.Scopes == nil {
		return nil
	}
	return w.opts.Scopes.Reload(ctx)
}

func (w *work) readBack() error {
	for _, f := range w.opts.Files {
		there, err := look(w.fsys, f.Path)
		if err != nil {
			return err
		}
		if there.digest != f.digest() || there.mode != f.Mode {
			return refuse(NotInstalled, "%s is not what was just placed: somebody else writes there", f.Path)
		}
	}
	return nil
}
