package agent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/florete/flor/envelope"
	"github.com/florete/flor/relay/client"
	"github.com/florete/flor/supervise/control"
)

// syncer runs the syncs, one at a time, and between them the watch (AGT-4). Its
// goroutine is the only one that fetches, admits and activates.
type syncer struct {
	board  *board
	admit  *admitter
	fetch  fetcher
	queue  *queue
	pace   pacer
	report func(before facts, o outcome)
	// starting tells that a workload has been started a moment ago.
	starting func() bool
	// trustLost is why nothing can be admitted, nil when it can (SET-6).
	trustLost error

	due time.Time
	// anew is set when the way to the coordinator is open again, so that delays
	// begin anew.
	anew atomic.Bool

	mu sync.Mutex
	// release cancels the open watch and waits for its end; nil when none is.
	release func()
}

// run serves requests until ctx is done. The error is one after which the
// agent must end and read its state again.
func (s *syncer) run(ctx context.Context) error {
	defer s.fetch.close()
	defer s.queue.close()
	s.queue.add(byStart, false, nil)
	for ctx.Err() == nil {
		r := s.queue.take()
		if r == nil {
			r = s.rest(ctx)
		}
		if r == nil {
			continue
		}
		if err := s.serve(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// reached has a fetch done at once, because what carries it is ready again: the
// delay that faults have built up says nothing of the way that is open now.
func (s *syncer) reached() {
	s.anew.Store(true)
	s.queue.add(byPoll, false, nil)
}

// serve runs one sync and tells everybody how it ended.
func (s *syncer) serve(ctx context.Context, r *request) error {
	if s.anew.Swap(false) {
		s.pace.retry = 0
	}
	if err := s.admit.repair(ctx); err != nil {
		r.finish(outcome{}.fail(control.Failed, err))
		return err
	}
	before := s.board.read()
	s.admit.tidy(before.gen)
	s.board.update(func(f *facts) { f.next = time.Time{} })
	started := time.Now()
	o := s.sync(ctx, r, before)
	if o.gaveWay {
		s.queue.again(r)
		return nil
	}
	o.Trigger, o.DryRun, o.When = r.trigger, r.dryRun, started.UTC()
	o.DurationMS = time.Since(started).Milliseconds()
	if o.Reason != string(Stopping) {
		s.report(before, o)
	}
	r.finish(o)
	if o.fatal {
		return o.err
	}
	return nil
}

func (s *syncer) sync(ctx context.Context, r *request, f facts) outcome {
	held := outcome{SyncResult: control.SyncResult{Held: f.gen.version, Trigger: r.trigger}}
	if s.trustLost != nil {
		s.due = time.Now().Add(vary(f.gen.agent.Sync.Interval(), rand.Float64()))
		return held.fail(control.Refused, s.trustLost)
	}
	if r.doc == nil {
		return s.fetchAndConsider(ctx, r, held, f)
	}
	members, err := envelope.ParseSet(r.doc)
	if err != nil {
		return held.fail(control.Refused, err)
	}
	return s.admit.consider(ctx, held, members, r.dryRun)
}

// fetchAndConsider asks without waiting, because somebody waits for the answer.
func (s *syncer) fetchAndConsider(ctx context.Context, r *request, held outcome, f facts) outcome {
	if r.reply != nil {
		return s.judge(ctx, r, held, *r.reply, answer{watches: r.reply.Waits, watched: true})
	}
	fetching, fetched := s.queue.fetching(ctx)
	reply, err := s.askPatiently(fetching, f)
	if gaveWay := fetched(); err != nil && gaveWay {
		held.gaveWay = true
		return held
	}
	if ctx.Err() != nil {
		return stopping(r)
	}
	if err != nil {
		o := faulted(held, err)
		s.contact(answered(err))
		if !r.dryRun {
			s.pause(answer{bad: true})
		}
		return o
	}
	s.contact(true)
	return s.judge(ctx, r, held, reply, answer{watches: reply.Waits})
}

// askPatiently asks again and again while the coordinator cannot be reached and a
// workload is starting: it may be what carries the fetch, or the coordinator
// itself, and that it does not serve yet is no fault.
func (s *syncer) askPatiently(ctx context.Context, f facts) (client.Reply, error) {
	for pause := firstPause; ; pause = min(2*pause, firstRetry) {
		reply, err := s.ask(ctx, f, 0)
		if err == nil || answered(err) || reasonOf(err) == string(InboundBusy) || !s.starting() {
			return reply, err
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
		case <-s.queue.arrived: // what carries the fetch is ready, or somebody asks
		case <-timer.C:
		}
		timer.Stop()
		if ctx.Err() != nil {
			return reply, err
		}
	}
}

// ask fetches through the inbound of sync, if that is our own.
func (s *syncer) ask(ctx context.Context, f facts, wait time.Duration) (client.Reply, error) {
	if err := s.board.read().inboundBusy(); err != nil {
		return client.Reply{}, err
	}
	reply, err := s.fetch.fetch(ctx, f.gen, have(f), wait)
	if busy := s.board.read().inboundBusy(); err != nil && ctx.Err() == nil && busy != nil {
		err = busy
	}
	return reply, err
}

// inboundBusy tells that a workload cannot listen where the coordinator is reached:
// whatever answers there says nothing of the coordinator.
func (f facts) inboundBusy() error {
	addr := f.gen.inbound()
	if !f.said.waitFor(addr) {
		return nil
	}
	if by := f.said.occupied[addr]; by != "" {
		return refuse(InboundBusy, "%s, through which the coordinator is reached, is in use by %s: end that process, or publish another address", addr, by)
	}
	return refuse(InboundBusy, "%s, through which the coordinator is reached, cannot be listened on: the log of the vertex says why", addr)
}

// have is the version that a fetch names, none where the active set is not
// what it should be (SET-5).
func have(f facts) uint64 {
	if f.recovered || f.gen.damaged() {
		return 0
	}
	return f.gen.version
}

func faulted(o outcome, err error) outcome {
	result, word := fetchFault(err)
	o = o.fail(result, err)
	o.Reason = word
	return o
}

// judge makes an outcome of a coordinator's answer and sets the pace of the
// next fetch by it.
func (s *syncer) judge(ctx context.Context, r *request, o outcome, reply client.Reply, a answer) outcome {
	o = s.outcomeOf(ctx, r, o, reply)
	if a.empty = reply.Status != client.Set; !a.empty && o.Result == control.Unchanged {
		// The same set again, although we named it: such a relay is not asked
		// again at once.
		a.empty, a.watched, a.took = true, true, 0
	}
	a.wanting = reply.Status == client.UnknownNode || reply.Status == client.NotPublished
	if !r.dryRun {
		s.pause(a.of(o))
	}
	return o
}

func (s *syncer) outcomeOf(ctx context.Context, r *request, o outcome, reply client.Reply) outcome {
	if reply.Status != client.Set {
		return emptyOutcome(o, reply.Status)
	}
	o = s.admit.consider(ctx, o, reply.Members, r.dryRun)
	if o.Result == control.Refused || o.Reason == string(CheckFailed) || o.Reason == string(NotStaged) {
		o.digest = digest(reply.Document)
	}
	return o
}

// emptyOutcome is what an answer without a set comes to.
func emptyOutcome(o outcome, status client.Status) outcome {
	switch status {
	case client.UnknownNode:
		return o.fail(control.Unreachable, refuse(UnknownNode, "the coordinator is reached, but what is published has no such node: publish a tree that has it"))
	case client.NotPublished:
		return o.fail(control.Unreachable, refuse(NotPublished, "the coordinator is reached, but nothing is published yet: run retectl publish"))
	}
	o.Result = control.Unchanged
	return o
}

func digest(doc []byte) string {
	sum := sha256.Sum256(doc)
	return hex.EncodeToString(sum[:])
}

// contact notes that a coordinator answered (AGT-7).
func (s *syncer) contact(answered bool) {
	if answered {
		s.board.update(func(f *facts) { f.lastContact = time.Now().UTC() })
	}
}

// pause sets when the next fetch is due.
func (s *syncer) pause(a answer) {
	interval := s.board.read().gen.agent.Sync.Interval()
	s.due = time.Now().Add(s.pace.after(a, interval, rand.Float64()))
}

// rest waits until the next fetch is due and makes it a request; nil when
// something else has to be looked at first.
func (s *syncer) rest(ctx context.Context) *request {
	if wait := time.Until(s.due); wait > 0 {
		s.board.update(func(f *facts) { f.next = s.due.UTC() })
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-ctx.Done():
			return nil
		case <-s.queue.arrived:
			return nil
		case <-timer.C:
		}
	}
	if s.pace.wait() == 0 || s.trustLost != nil {
		s.queue.add(byPoll, false, nil)
		return nil
	}
	return s.watch(ctx)
}

// watch holds one fetch open (AGT-4.1). A request or interrupt cancels it. What
// comes of it is a request that has its answer already; an answer that says
// nothing new is none.
func (s *syncer) watch(ctx context.Context) *request {
	if s.admit.damaged() {
		s.queue.add(byPoll, false, nil)
		return nil
	}
	f := s.board.read()
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	var reply client.Reply
	var err error
	started := time.Now()
	s.hold(func() { cancel(); <-done }) // before it asks: whoever sees the question may restart what carries it
	go func() {
		defer close(done)
		reply, err = s.ask(ctx, f, s.pace.wait())
	}()
	s.board.update(func(f *facts) { f.next = time.Time{} })
	select {
	case <-done:
	case <-s.queue.arrived:
	case <-ctx.Done():
	}
	s.hold(nil)
	cancel()
	<-done
	return s.watched(f, reply, err, time.Since(started))
}

func (s *syncer) hold(release func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.release = release
}

// interrupt ends an open watch before something that carries it restarts, and
// returns when it has ended.
func (s *syncer) interrupt() {
	s.mu.Lock()
	release := s.release
	s.mu.Unlock()
	if release != nil {
		release()
	}
}

// watched turns what a watch came to into a request, if it came to a set. A
// watch that says nothing new is no sync: it is told only where it ends or
// makes trouble.
func (s *syncer) watched(before facts, reply client.Reply, err error, took time.Duration) *request {
	o := outcome{SyncResult: control.SyncResult{Held: before.gen.version, Trigger: byWatch, When: time.Now().UTC(), DurationMS: took.Milliseconds()}}
	switch {
	case errors.Is(err, context.Canceled):
		return nil
	case err != nil:
		s.contact(answered(err))
		s.pause(answer{bad: true})
		o = faulted(o, err)
	case reply.Status == client.Set:
		s.contact(true)
		return &request{trigger: byWatch, reply: &reply, done: make(chan struct{})}
	default:
		s.contact(true)
		s.pause(answer{empty: true, wanting: reply.Status != client.NotModified, watches: reply.Waits, watched: true, took: took})
		o = emptyOutcome(o, reply.Status)
	}
	if o.Result != control.Unchanged || before.trouble != "" {
		s.report(before, o)
	}
	return nil
}
