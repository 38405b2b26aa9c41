package agent

import (
	"cmp"
	"time"

	"github.com/florete/flor/supervise/control"
)

const (
	// watchFor is how long a coordinator is asked to hold an answer (AGT-4.1).
	watchFor = 55 * time.Second
	// firstPause is the time between the first two fetches while a workload that
	// may carry them is starting.
	firstPause = 25 * time.Millisecond
	// firstRetry is the delay after the first fault or refusal.
	firstRetry = 250 * time.Millisecond
	// heldAtLeast tells an answer that was held from one that came at once: a
	// relay that drains answers watches immediately and must not be asked again
	// immediately.
	heldAtLeast = 500 * time.Millisecond
	// shortWatch is the first watch after an answer that is a problem.
	shortWatch = time.Second
	// jitterShare is the largest part by which a delay is varied, up or down.
	jitterShare = 0.1
)

// answer is how a fetch ended, as far as the pace of the next one goes.
type answer struct {
	// bad is set after a fault (no answer, or not one of the contract) and after
	// a refused set, digest then being the refused document's.
	bad    bool
	digest string
	// empty is an answer without a set: 304, 404, 503. wanting is one of the
	// last two.
	empty, wanting bool
	// watches says that the coordinator knows how to hold an answer; watched,
	// that it was asked to; took, how long it did.
	watches, watched bool
	took             time.Duration
}

// of adds what became of the set that the answer brought. Only a refusal is the
// set's own doing and will be repeated with it; one that found no room on disk,
// or whose check broke, is tried again like any fault.
func (a answer) of(o outcome) answer {
	a.bad = o.digest != ""
	if o.Result == control.Refused {
		a.digest = o.digest
	}
	return a
}

// pacer decides when the next fetch is due and whether it is a watch (AGT-4.1).
// It is a function of values: the random source and the interval come in.
// The zero value is ready for use.
type pacer struct {
	retry  time.Duration
	digest string
	// hold is how long the next fetch may be held; wanting is that of the last
	// answer.
	hold    time.Duration
	wanting bool
}

// after takes the answer of a fetch and gives the time to the next one.
// jitter is a number in [0,1).
func (p *pacer) after(a answer, interval time.Duration, jitter float64) time.Duration {
	p.hold, p.wanting = p.nextHold(a), a.wanting && !a.bad
	switch {
	case a.bad && a.digest != "" && a.digest == p.digest:
		return vary(interval, jitter)
	case a.bad || a.empty && !worthAsking(a):
		p.digest = cmp.Or(a.digest, p.digest)
		return vary(p.backoff(interval), jitter)
	}
	p.retry, p.digest = 0, ""
	if p.hold > 0 {
		return 0
	}
	return vary(interval, jitter)
}

// nextHold is how long the fetch after this answer may be held. After a fault it
// is not, so that status tells as soon as the trouble is over. While the
// coordinator lacks what we want, watches begin short and grow: a publish that
// brings just the version we have ends none of them.
func (p *pacer) nextHold(a answer) time.Duration {
	switch {
	case a.bad || !a.watches:
		return 0
	case a.wanting && p.wanting:
		return min(2*p.hold, watchFor)
	case a.wanting:
		return shortWatch
	}
	return watchFor
}

// wait is how long the next fetch, if nobody asks for it, may be held.
func (p *pacer) wait() time.Duration { return p.hold }

// worthAsking tells an empty answer after which the next fetch follows the
// ordinary pace from one that came too soon.
func worthAsking(a answer) bool {
	return !a.watched || !a.watches || a.took >= heldAtLeast
}

func (p *pacer) backoff(limit time.Duration) time.Duration {
	p.retry = min(max(2*p.retry, firstRetry), max(limit, firstRetry))
	return p.retry
}

func vary(d time.Duration, jitter float64) time.Duration {
	return time.Duration(float64(d) * (1 + jitterShare*(2*jitter-1)))
}
