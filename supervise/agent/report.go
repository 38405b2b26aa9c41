package agent

import (
	"log/slog"

	"github.com/florete/flor/supervise/control"
)

// reporter tells how syncs end: in status, in the log and in the counters. What
// repeats is logged at its edges (OBS-4).
type reporter struct {
	board    *board
	log      *slog.Logger
	counters *counters
}

// report enters an outcome; before is what was known when its sync began.
func (r *reporter) report(before facts, o outcome) {
	r.counters.synced(o)
	r.logEdge(before, o)
	r.board.update(func(f *facts) { f.enter(o) })
}

// enter takes an outcome into what is known. A dry run is no sync: it changes
// nothing that status tells. A set that was handed in says nothing of the
// coordinator.
func (f *facts) enter(o outcome) {
	if o.Reason == string(Replay) && o.Trigger != byFile {
		f.olderOffers++
	}
	if o.DryRun {
		return
	}
	result := o.SyncResult
	f.last = &result
	if o.Trigger == byFile {
		return
	}
	f.fetched = &result
	if !o.troubled() {
		f.trouble, f.attempts = "", 0
		return
	}
	if f.trouble == "" {
		f.troubleSince = o.When
	}
	f.trouble = o.Message
	f.attempts++
}

// troubled tells an outcome that is a lasting problem. A set that is not
// confirmed yet is one of its own.
func (o outcome) troubled() bool { return o.err != nil && o.Reason != string(NotConfirmed) }

// logEdge writes one line where things change: when trouble begins or takes
// another form, when it ends, and when a set is applied.
func (r *reporter) logEdge(before facts, o outcome) {
	switch {
	case o.err != nil && repeated(before, o):
		r.log.Debug("sync again without success", r.fields(o)...)
	case o.Result == control.Refused:
		r.log.Warn("set refused", r.fields(o)...)
	case o.Result == control.Unreachable:
		r.log.Warn("coordinator gives no set", r.fields(o)...)
	case o.err != nil:
		r.log.Error("sync failed", r.fields(o)...)
	case o.Result == control.Applied && !o.DryRun:
		r.log.Info("set applied", r.fields(o)...)
	case before.trouble != "" && !o.DryRun && o.Trigger != byFile:
		r.log.Info("coordinator in contact again", append(r.fields(o), "attempts", before.attempts)...)
	}
}

// repeated tells an outcome that says what the one before said.
func repeated(before facts, o outcome) bool {
	last := before.fetched
	return last != nil && before.trouble != "" && o.Trigger != byFile &&
		last.Result == o.Result && last.Reason == o.Reason && last.Offered == o.Offered
}

func (r *reporter) fields(o outcome) []any {
	fields := []any{"trigger", o.Trigger, "result", string(o.Result), "held", o.Held}
	if o.Offered != 0 {
		fields = append(fields, "offered", o.Offered)
	}
	if o.err != nil {
		fields = append(fields, "reason", o.Reason, "error", o.err)
	}
	return fields
}
