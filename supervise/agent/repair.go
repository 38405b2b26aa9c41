package agent

import (
	"context"
	"errors"
	"maps"

	"github.com/florete/flor/store"
)

// damaged tells whether the active set has gone bad on disk since it was last
// looked at. Files that nobody has touched since they were found as they should be
// are not read again: each sync does that, and a watch follows another for days.
func (a *admitter) damaged() bool {
	f := a.board.read()
	stamp := a.vault.stamp(f.gen)
	if stamp == a.whole {
		return false
	}
	members, current := a.vault.damage(f.gen)
	if !maps.Equal(members, f.gen.unverified) || current != nil && !f.recovered {
		return true
	}
	a.whole = stamp
	return false
}

// repair checks the active set on disk and handles what fails as a start does
// (SET-5): the last known good becomes active. Where there is none, processes
// that run go on, and no other is started with what failed. The error is one
// after which the state on disk is unknown.
func (a *admitter) repair(ctx context.Context) error {
	f := a.board.read()
	members, current := a.vault.damage(f.gen)
	if len(members) == 0 && current == nil {
		a.mended(f)
		return nil
	}
	loaded, err := a.vault.recover(inUse(a.sup.Status()))
	if err == nil {
		return a.fallBack(ctx, f, loaded)
	}
	if unknown(err) {
		return err
	}
	if maps.Equal(members, f.gen.unverified) && f.recovered {
		return nil // as it was found before
	}
	a.log.Error("the active set is damaged on disk, and no other is whole", "set", f.gen.version, "error", err)
	a.board.update(func(now *facts) { now.gen, now.recovered = f.gen.spoiled(members), true })
	return nil
}

// mended forgets a damage that is gone, as after a person put the file back.
func (a *admitter) mended(f facts) {
	if f.gen.damaged() {
		a.board.update(func(now *facts) { now.gen = f.gen.spoiled(nil) })
	}
}

// settle ends the state "recovered" once the coordinator has the active set for
// its newest, and it is whole.
func (a *admitter) settle(f facts, dryRun bool) {
	if f.recovered && !dryRun && f.gen.version >= f.state.Mark {
		a.board.update(func(now *facts) { now.recovered = false })
	}
}

// fallBack runs what was recovered.
func (a *admitter) fallBack(ctx context.Context, f facts, loaded *store.Loaded) error {
	if !f.recovered || loaded.Active.Version != f.gen.version {
		a.log.Error("the active set was damaged on disk, the last known good runs", "was", f.gen.version, "set", loaded.Active.Version, "error", errors.Join(loaded.Problem, loaded.Unsettled))
	}
	next := loadedGeneration(loaded)
	next.carry(f.gen, plan(f.gen.members(), next.members()))
	a.board.update(func(now *facts) {
		now.gen, now.state, now.recovered = next, loaded.State, true
		now.obstacles, now.late, now.unwritten = nil, nil, ""
	})
	if err := a.activate(ctx, next); err != nil {
		a.log.Error("the supervisor could not be given the recovered set", "set", next.version, "error", err)
	}
	return nil
}
