package agent

import (
	"context"
	"log/slog"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/florete/flor/store"
	"github.com/florete/flor/supervise"
	"github.com/florete/flor/supervise/control"
	"github.com/florete/flor/supervise/program"
)

const (
	// lookOften is the time between two looks at the workloads while a set waits
	// to be confirmed, lookAgain while one is not ready or waits for something,
	// lookSeldom when all is well and somebody follows the status, and lookRarely
	// when nobody does. Whoever asks for status has them looked at first.
	lookOften  = 200 * time.Millisecond
	lookAgain  = 5 * time.Second
	lookSeldom = time.Minute
	lookRarely = 15 * time.Minute
	// freshWithin is how long somebody who asks waits for that look.
	freshWithin = 300 * time.Millisecond
	// youth is how long a process that has not answered yet is looked at often:
	// it may be about to serve its control channel.
	youth = 5 * time.Second
)

// attendant looks at the workloads: at each change the supervisor tells of, and
// from time to time at what they serve as ready. It confirms the active set when
// all of it is up, now, later, or after an agent restart (AGT-4.6).
type attendant struct {
	host  *host
	board *board
	vault *vault
	sup   *supervise.Supervisor
	log   *slog.Logger
	// stirred has room for one token, put there when the supervisor's status
	// changed or it was given another set.
	stirred chan struct{}
	// looked is closed when the next look to begin has ended, and guarded by mu.
	mu     sync.Mutex
	looked chan struct{}
	// followers counts who follows the status.
	followers atomic.Int32
	// answered has the process of each workload that has served its readiness.
	// Only the goroutine of run uses it.
	answered map[string]int
	// occupants finds who has the addresses that workloads wait for.
	occupants occupants
	// carrier is the process that carries sync, 0 while none is ready to; reached
	// is called when another one is.
	carrier int
	reached func()
	// within is how long a set may take to be confirmed until status names it.
	within time.Duration
}

// run looks until ctx is done.
func (a *attendant) run(ctx context.Context) error {
	for {
		ended := a.begin()
		seen := a.look(ctx)
		seen.waiting = !a.confirm(seen) || seen.waiting
		close(ended)
		if !a.rest(ctx, seen.pause(a.followers.Load() > 0)) {
			return nil
		}
	}
}

// begin gives what is to be closed at the end of the look that begins now. Whoever
// asks from here on waits for the one after: this one may be past what they ask for.
func (a *attendant) begin() (ended chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	ended = a.looked
	a.looked = make(chan struct{})
	return ended
}

// freshen has the workloads looked at from now on, and waits for that, but for none
// of them that does not answer.
func (a *attendant) freshen() {
	a.mu.Lock()
	looked := a.looked
	a.mu.Unlock()
	a.stir()
	timer := time.NewTimer(freshWithin)
	defer timer.Stop()
	select {
	case <-looked:
	case <-timer.C:
	}
}

// followed has the workloads looked at now and then until release is called. The
// stir at either end is for the next look's time.
func (a *attendant) followed() (release func()) {
	a.followers.Add(1)
	a.stir()
	return func() {
		a.followers.Add(-1)
		a.stir()
	}
}

// rest waits for the next look, and is false when there is none.
func (a *attendant) rest(ctx context.Context, pause time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-a.stirred:
	case <-timer.C:
	}
	return true
}

// follow passes the supervisor's changes on until ctx is done.
func (a *attendant) follow(ctx context.Context) error {
	for range a.sup.Watch(ctx) {
		a.stir()
		a.board.stir()
	}
	return nil
}

// stir makes the attendant look now.
func (a *attendant) stir() {
	select {
	case a.stirred <- struct{}{}:
	default:
	}
}

// sight is what one look saw: what keeps the set of that version from being
// confirmed.
type sight struct {
	version   uint64
	obstacles []string
	// waiting is set when a workload is not ready, or waits for something, or the
	// mark could not be written; young when one may be about to serve its control
	// channel.
	waiting, young bool
}

// pause is the time until the next look; followed tells that somebody would see
// what it finds.
func (s sight) pause(followed bool) time.Duration {
	switch {
	case len(s.obstacles) > 0, s.young:
		return lookOften
	case s.waiting:
		return lookAgain
	case followed:
		return lookSeldom
	}
	return lookRarely
}

// look asks every running workload what it serves.
func (a *attendant) look(ctx context.Context) sight {
	f := a.board.read()
	said := a.listen(ctx, f)
	said.occupied = a.occupants.of(said.ready)
	a.tellOccupied(f.said, said)
	a.follows(said.carrier(f.gen.inbound()))
	seen := sight{f.gen.version, a.obstacles(f, said), said.waiting(), said.young}
	late := f.lateness(seen.obstacles, a.within)
	if !reflect.DeepEqual(said, f.said) || !slices.Equal(seen.obstacles, f.obstacles) || !slices.Equal(late, f.late) {
		a.board.update(func(now *facts) { now.see(seen, said, late) })
	}
	return seen
}

// voices is what running workloads say of themselves.
type voices struct {
	// pids is which process was asked.
	pids map[string]int
	// ready is what they serve on their control channels, nil for one that
	// serves none.
	ready map[string]*program.Readiness
	// silent is since when a process that has served its readiness does not
	// answer any more.
	silent map[string]time.Time
	// young tells that a process that was just started has not answered yet, mute
	// that one has not which always does when it serves.
	young, mute bool
	// occupied is by whom an address is in use that a workload waits for, as far
	// as that can be found out.
	occupied map[string]string
}

// of gives what the process of s says of itself: nothing where it is another one
// that was asked, or where it is about to end.
func (v voices) of(s supervise.Status) (ready *program.Readiness, silent time.Time) {
	if !runs(s) || v.pids[s.Name] != s.PID {
		return nil, time.Time{}
	}
	return v.ready[s.Name], v.silent[s.Name]
}

// runs tells that there is a process, which nobody has told to end.
func runs(s supervise.Status) bool {
	return s.PID != 0 && (s.State == supervise.Starting || s.State == supervise.Up)
}

// waitFor tells that a workload waits for an address.
func (v voices) waitFor(addr string) bool {
	for _, r := range v.ready {
		if r != nil && slices.Contains(r.Waiting, addr) {
			return true
		}
	}
	return false
}

// waiting tells that a workload is not ready, waits for something, or does not
// answer although it is to.
func (v voices) waiting() bool {
	for _, r := range v.ready {
		if r != nil && (!r.Ready || len(r.Waiting) > 0) {
			return true
		}
	}
	return len(v.silent) > 0 || v.mute
}

// carrier is the process that serves the inbound at addr, 0 when none does.
func (v voices) carrier(addr string) int {
	for name, r := range v.ready {
		if r != nil && r.Ready && slices.Contains(r.Listening, addr) {
			return v.pids[name]
		}
	}
	return 0
}

// follows notes which process carries sync, and has a new one used at once.
func (a *attendant) follows(carrier int) {
	if carrier != 0 && carrier != a.carrier {
		a.reached()
	}
	a.carrier = carrier
}

// listen asks every running workload; f has what they said at the look before.
func (a *attendant) listen(ctx context.Context, f facts) voices {
	said := voices{pids: map[string]int{}, ready: map[string]*program.Readiness{}, silent: map[string]time.Time{}}
	answered := map[string]int{}
	for _, s := range a.sup.Status() {
		if !runs(s) {
			continue
		}
		asked := time.Now()
		said.pids[s.Name] = s.PID
		said.ready[s.Name] = a.ask(ctx, s.Name)
		switch {
		case said.ready[s.Name] != nil:
			answered[s.Name] = s.PID
		case a.answered[s.Name] == s.PID:
			answered[s.Name] = s.PID
			said.silent[s.Name] = sinceOr(f.said.silent[s.Name], asked)
		default:
			said.young = said.young || asked.Sub(s.Started) < youth
			said.mute = said.mute || f.gen.answers(s.Name)
		}
	}
	a.answered = answered
	return said
}

// tellOccupied logs whose an address is that a workload waits for, once (OBS-4).
func (a *attendant) tellOccupied(before, now voices) {
	for name, r := range now.ready {
		if r == nil {
			continue
		}
		for _, addr := range r.Waiting {
			if by := now.occupied[addr]; by != "" && by != before.occupied[addr] {
				a.log.Warn("a workload cannot listen, the address is in use", "workload", name, "listen", addr, "by", by)
			}
		}
	}
}

func sinceOr(since, now time.Time) time.Time {
	if since.IsZero() {
		return now
	}
	return since
}

// see takes a look's sight in, unless another set became active meanwhile.
func (f *facts) see(seen sight, said voices, late []string) {
	f.said = said
	if f.gen.version == seen.version {
		f.obstacles, f.late = seen.obstacles, late
	}
}

// ask gives what a workload serves as ready, nil when it serves nothing.
func (a *attendant) ask(ctx context.Context, name string) *program.Readiness {
	ready, err := program.DialControl(a.host.socket(name)).Ready(ctx)
	if err != nil {
		return nil
	}
	return &ready
}

// obstacles names what keeps the active set from being confirmed.
func (a *attendant) obstacles(f facts, said voices) []string {
	if f.activated != f.gen.version {
		return []string{"the supervisor has not been given it yet"}
	}
	return unconfirmed(lives(f.gen, a.sup.Status(), said), f.gen.syncNeeds())
}

// lateness gives the obstacles once a request would have been told "failed".
func (f facts) lateness(obstacles []string, within time.Duration) []string {
	if f.state.Pending == 0 || time.Since(f.activatedAt) < within {
		return nil
	}
	return obstacles
}

// lives joins the active inventory with what the supervisor and the workloads
// tell, in list order.
func lives(g *generation, statuses []supervise.Status, said voices) []liveness {
	list := make([]liveness, 0, len(g.agent.Workloads))
	for _, w := range g.agent.Workloads {
		l := liveness{name: w.Name, needs: g.needs[w.Name]}
		for _, s := range statuses {
			if s.Name == w.Name {
				l.state, l.reason, l.runs = s.State, reasonFor(s), versionOf(s.Tag)
				l.ready, l.silent = said.of(s)
			}
		}
		list = append(list, l)
	}
	return list
}

// reasonFor says why a workload is as it is: the supervisor's words, or how its
// last process ended.
func reasonFor(s supervise.Status) string {
	if s.Reason == "" && s.LastExit != nil && s.State != supervise.Up {
		return s.LastExit.Reason
	}
	return s.Reason
}

// confirm moves the mark to the active set when a look at it found nothing in
// its way, and is false where that failed. Then, also where it is unknown whether
// it did (SET-2), the same mark is written again after the next look.
func (a *attendant) confirm(seen sight) bool {
	f := a.board.read()
	if len(seen.obstacles) > 0 || f.state.Pending != seen.version || f.gen.version != seen.version {
		return true
	}
	state, err := a.vault.confirm(seen.version)
	if err != nil {
		a.hinder(f, seen.version, err.Error())
		return false
	}
	a.log.Info("set confirmed", "version", seen.version)
	a.board.update(func(now *facts) { now.confirm(seen.version, state) })
	return true
}

// hinder notes why the mark could not be written, once for each cause (OBS-4).
func (a *attendant) hinder(f facts, version uint64, cause string) {
	if f.unwritten == cause {
		return
	}
	a.log.Error("mark not moved, tried again", "version", version, "error", cause)
	a.board.update(func(now *facts) { now.unwritten = cause })
}

// confirm enters a moved mark, and turns a sync that was told "failed" for want
// of it into what it has become.
func (f *facts) confirm(version uint64, state store.State) {
	f.state, f.late, f.unwritten = state, nil, ""
	if f.last == nil || f.last.Offered != version || f.last.Reason != string(NotConfirmed) {
		return
	}
	done := *f.last
	done.Result, done.Reason, done.Code, done.Message = control.Applied, "", "", ""
	f.last = &done
}
