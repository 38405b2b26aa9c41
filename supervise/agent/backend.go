package agent

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/florete/flor/supervise"
	"github.com/florete/flor/supervise/control"
)

// backend answers the control socket.
type backend struct {
	host     *host
	board    *board
	sup      *supervise.Supervisor
	sync     *syncer
	vault    *vault
	counters *counters
	identity *identities
	sink     *logSink
	// freshen has the workloads looked at, followed until its result is called.
	freshen  func()
	followed func() (release func())
	clock    func() time.Time
	trust    string
	build    string
	since    time.Time
}

// Status draws the agent as it is at this moment. What workloads say of
// themselves is what they said just now, or last where one does not answer.
func (b *backend) Status() control.StatusDoc {
	b.freshen()
	return b.portrait().document()
}

func (b *backend) portrait() portrait {
	now := time.Now()
	f := b.board.read()
	certificates, unreadable := b.identity.certificates()
	return portrait{
		now: now, clock: b.clock(), scope: b.host.scope, trust: b.trust, facts: f,
		self: control.Agent{
			PID: os.Getpid(), Since: b.since.UTC(),
			UptimeMS: now.Sub(b.since).Milliseconds(), Build: b.build,
		},
		statuses: b.sup.Status(),
		missing:  b.host.missing(f.gen),
		strays:   b.sup.Strays(),
		identity: certificates, unreadable: unreadable,
		retained:  b.vault.retained(),
		sinkFault: b.sink.trouble(),
	}
}

// WatchStatus yields a document at once and at each change.
func (b *backend) WatchStatus(ctx context.Context) iter.Seq[control.StatusDoc] {
	return func(yield func(control.StatusDoc) bool) {
		defer b.followed()()
		for {
			changed := b.board.watch()
			if !yield(b.portrait().document()) {
				return
			}
			select {
			case <-changed:
			case <-ctx.Done():
				return
			}
		}
	}
}

// Sync asks for a sync and waits for its end (AGT-4, AGT-6).
func (b *backend) Sync(ctx context.Context, r control.SyncRequest) (control.SyncResult, error) {
	trigger := byRequest
	if r.Set != nil {
		trigger = byFile
	}
	wish := b.sync.queue.add(trigger, r.DryRun, r.Set)
	select {
	case <-wish.done:
		return wish.result.SyncResult, nil
	case <-ctx.Done():
		return control.SyncResult{}, ctx.Err()
	}
}

// Inbounds maps each principal to its inbound, as the active set has it.
func (b *backend) Inbounds() map[string]control.Inbound {
	inbounds := map[string]control.Inbound{}
	for _, in := range b.board.read().gen.agent.Inbounds {
		inbounds[in.Principal] = control.Inbound{Kind: in.Via.Kind, Addr: in.Via.Addr}
	}
	return inbounds
}

// Restart ends the open watch and restarts a workload.
func (b *backend) Restart(name string) error {
	if there := inventory(b.board.read().gen.agent); !slices.Contains(there, name) {
		return fmt.Errorf("workload %q: %w; there is %s", name, control.ErrUnknownWorkload, cmp.Or(strings.Join(there, ", "), "none"))
	}
	b.sync.interrupt()
	return b.sup.Restart(name)
}

// Metrics serves the counters.
func (b *backend) Metrics() http.Handler { return http.HandlerFunc(b.serveMetrics) }
