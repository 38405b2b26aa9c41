package agent

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/florete/flor/envelope"
	"github.com/florete/flor/envelope/schema"
	"github.com/florete/flor/store"
	"github.com/florete/flor/supervise"
	"github.com/florete/flor/supervise/control"
	"github.com/florete/flor/supervise/program"
)

// admitter takes an offered set through verification, check, staging and
// activation to its confirmation (AGT-4.2 to 4.6). Only the syncer's goroutine
// uses it.
type admitter struct {
	log   *slog.Logger
	host  *host
	board *board
	vault *vault
	sup   *supervise.Supervisor
	// activating is called before workloads restart: what runs over them ends.
	activating func()
	// activated is called when the supervisor has been given a set.
	activated func()
	// within is how long a sync waits for confirmation.
	within time.Duration
	// whole is the stamp of an active set that was found as it should be.
	whole string
}

// consider judges the members of a set document and, unless dryRun is set or
// they are refused, makes them the active set. o comes filled in with what is
// held.
func (a *admitter) consider(ctx context.Context, o outcome, members [][]byte, dryRun bool) outcome {
	f := a.board.read()
	set, err := a.vault.verify(f.gen.node, members)
	if err != nil {
		o.Offered = claimed(members)
		return o.fail(control.Refused, err)
	}
	next := verifiedGeneration(set)
	o.Offered = next.version
	v, err := Judge(f.held(), Offered{Version: next.version, Members: Contents(set), ByFile: o.Trigger == byFile})
	if err != nil {
		return o.fail(control.Refused, err)
	}
	if v == Unchanged {
		a.settle(f, dryRun)
		o.Result = control.Unchanged
		return o
	}
	steps := plan(f.gen.members(), next.members())
	if dryRun {
		return a.rehearse(ctx, o, set, next, steps)
	}
	next.carry(f.gen, steps)
	return a.adopt(ctx, o, set, next, steps)
}

// claimed is the version that a document which failed verification says it has,
// for status alone; 0 when nothing in it can be read.
func claimed(members [][]byte) uint64 {
	for _, text := range members {
		if artifact, err := envelope.Parse(text); err == nil {
			return artifact.Version
		}
	}
	return 0
}

// held is what admission compares an offer with.
func (f facts) held() Held {
	return Held{Active: f.gen.version, Mark: f.state.Mark, Members: f.gen.canonical(), Damaged: f.gen.damaged()}
}

// rehearse checks a set below the runtime root and tells what would be done;
// nothing of it is kept (AGT-6).
func (a *admitter) rehearse(ctx context.Context, o outcome, set *schema.Set, next *generation, steps []step) outcome {
	staged, err := store.StageDryRun(a.host.runtimeRoot, set)
	if err != nil {
		return o.fail(stageFault(err))
	}
	if err := a.host.check(ctx, next, steps, staged.Path); err != nil {
		return o.fail(checkFault(errors.Join(err, staged.Discard())))
	}
	o.Workloads = a.foretell(ctx, steps, staged.Path)
	o.Result = control.Applied
	if err := staged.Discard(); err != nil {
		return o.fail(stageFault(err))
	}
	return o
}

// foretell asks each workload that would be offered something whether it would
// swap (SUP-11).
func (a *admitter) foretell(ctx context.Context, steps []step, path func(string) string) []control.Change {
	return changes(steps, func(name string) bool {
		swaps, err := program.DialControl(a.host.socket(name)).Apply(ctx, path(name), true)
		return err == nil && swaps
	})
}

// account tells what activation did, as the supervisor has it.
func (a *admitter) account(next *generation, steps []step) []control.Change {
	swapped := map[string]bool{}
	for _, s := range a.sup.Status() {
		swapped[s.Name] = s.Swapped && s.Tag == next.tag()
	}
	return changes(steps, func(name string) bool { return swapped[name] })
}

// changes spells the steps of a plan that do something; swaps tells which of
// the offers end without a restart.
func changes(steps []step, swaps func(name string) bool) []control.Change {
	var list []control.Change
	for _, s := range steps {
		word := s.action.String()
		switch {
		case s.action == keep:
			continue
		case s.action == offer && swaps(s.name):
			word = "swap"
		case s.action == offer:
			word = restart.String()
		}
		list = append(list, control.Change{Name: s.name, Action: word})
	}
	return list
}

// adopt stages, checks, admits, activates and waits for the confirmation.
func (a *admitter) adopt(ctx context.Context, o outcome, set *schema.Set, next *generation, steps []step) outcome {
	if o = a.store(ctx, o, set, next, steps); o.err != nil {
		return o
	}
	if err := a.activate(ctx, next); err != nil {
		return o.fail(control.Failed, refuse(NotActivated, "v%d is the active set, but: %w", next.version, err))
	}
	o.Workloads = a.account(next, steps)
	causes := a.awaitConfirmation(ctx, next.version)
	switch {
	case len(causes) > 0 && ctx.Err() != nil:
		return o.fail(control.Failed, refuse(Stopping, "the agent is stopping; v%d is active, and is confirmed after the next start", next.version))
	case len(causes) > 0:
		return o.fail(control.Failed, notConfirmed(next.version, causes))
	}
	o.Result = control.Applied
	return o
}

// store puts a set on disk, has it checked and makes it the active one
// (AGT-4.3, AGT-4.4).
func (a *admitter) store(ctx context.Context, o outcome, set *schema.Set, next *generation, steps []step) outcome {
	staged, err := a.vault.stage(set)
	if err != nil {
		return o.fail(stageFault(err))
	}
	if err := a.host.check(ctx, next, steps, staged.Path); err != nil {
		return o.fail(checkFault(errors.Join(err, staged.Discard())))
	}
	state, err := a.vault.admit(staged)
	if err != nil {
		o = o.fail(stageFault(err))
		o.fatal = unknown(err)
		return o
	}
	a.board.update(func(f *facts) {
		f.gen, f.state, f.recovered = next, state, false
		f.obstacles, f.late, f.unwritten = nil, nil, ""
		f.lastChange = time.Now().UTC()
	})
	return o
}

// activate hands the active generation to the supervisor, which swaps,
// restarts, starts and stops what differs (AGT-4.5, AGT-5).
func (a *admitter) activate(ctx context.Context, g *generation) error {
	a.activating()
	a.tidy(g)
	if err := a.sup.Apply(ctx, a.host.specs(g, a.vault.artifact(g))); err != nil {
		return err
	}
	a.board.update(func(f *facts) { f.activated, f.activatedAt = g.version, time.Now() })
	a.activated()
	a.tidy(g)
	return nil
}

// tidy makes the directories that the active set needs and takes away what
// nobody does (SET-4). What fails, as on a full disk or one that is read-only,
// keeps nobody from running: it is told, once for each cause, and tried again at
// each sync.
func (a *admitter) tidy(g *generation) {
	words := inOneLine(errors.Join(a.vault.writable(), a.vault.makeDirs(g.agent), a.vault.clean(inUse(a.sup.Status()))))
	if words == a.board.read().untidy {
		return
	}
	if words != "" {
		a.log.Error("the scope cannot be put in order on disk, tried again at each sync", "error", words)
	}
	a.board.update(func(f *facts) { f.untidy = words })
}

// inOneLine spells joined errors, empty for none.
func inOneLine(err error) string {
	if err == nil {
		return ""
	}
	return strings.ReplaceAll(err.Error(), "\n", "; ")
}

// inUse lists the versions that living processes were given (SET-4).
func inUse(statuses []supervise.Status) []uint64 {
	var versions []uint64
	for _, s := range statuses {
		if s.PID != 0 {
			versions = append(versions, versionOf(s.Tag))
		}
	}
	return versions
}

// awaitConfirmation waits until the attendant has moved the mark to version,
// and otherwise names what is in its way (AGT-4.6).
func (a *admitter) awaitConfirmation(ctx context.Context, version uint64) []string {
	timer := time.NewTimer(a.within)
	defer timer.Stop()
	for {
		changed := a.board.watch()
		if a.board.read().confirmed(version) {
			return nil
		}
		select {
		case <-changed:
		case <-timer.C:
			return a.board.read().causes()
		case <-ctx.Done():
			return a.board.read().causes()
		}
	}
}

// causes is never empty: an outcome that failed says why.
func (f facts) causes() []string {
	switch {
	case len(f.obstacles) > 0:
		return f.obstacles
	case f.unwritten != "":
		return []string{"its mark cannot be written: " + f.unwritten}
	}
	return []string{"its workloads have not been looked at yet"}
}

func notConfirmed(version uint64, causes []string) *Refusal {
	r := refuse(NotConfirmed, "v%d is active, but not confirmed: %s; it stays active, flor agent status tells more", version, strings.Join(causes, "; "))
	r.Offered = version
	return r
}

// checkFault is a refusal where an executable turned the set down.
func checkFault(err error) (control.Result, error) {
	if reasonOf(err) == string(Unservable) {
		return control.Refused, err
	}
	return control.Failed, err
}

// stageFault tells a set that the store turns down from a disk that failed.
func stageFault(err error) (control.Result, error) {
	if codeOf(err) != "" {
		return control.Refused, err
	}
	return control.Failed, refuse(NotStaged, "write the set to disk: %w", err)
}
