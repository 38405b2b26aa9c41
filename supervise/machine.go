package supervise

import "time"

// State is where a child stands (SUP-7).
type State string

// The states of a child. Rejected and Unverified are refusals, CrashLooping
// is a failure.
const (
	// Starting: it runs, and has not outlived its liveness window yet.
	Starting State = "starting"
	// Up: it runs.
	Up State = "up"
	// Backoff: it ended, and is started again after a delay.
	Backoff State = "backoff"
	// Stopping: it was told to end and has not yet.
	Stopping State = "stopping"
	// Stopped: it ended and is not wanted.
	Stopped State = "stopped"
	// Rejected: it said that it cannot serve its configuration.
	Rejected State = "rejected"
	// CrashLooping: it crashed too often, and is tried now and then.
	CrashLooping State = "crash-looping"
	// Unverified: the caller refuses to have it run.
	Unverified State = "unverified"
)

// action is what the machine wants done at once.
type action int

const (
	nothing action = iota
	// spawn starts a process. If that fails, exited is reported.
	spawn
	// terminate asks the process to end.
	terminate
	// kill ends the process group.
	kill
)

// machine decides about one child (SUP-6, SUP-4). It is pure: whoever drives
// it reports what happened and when, does the action that comes back, and
// calls tick when wake is due. Times need a monotonic reading only to be
// compared with each other.
type machine struct {
	policy Policy
	// jitter returns a number in [-1, 1).
	jitter func() float64

	state State
	since time.Time
	// wake is when tick is due; zero when nothing is.
	wake time.Time
	// wanted: a process should run, rest is the state to be in otherwise.
	wanted bool
	rest   State
	// alive from the spawn until exited.
	alive   bool
	spawned time.Time
	// retries since the last forgiveness, of which crashes count.
	retries, crashes int
}

func newMachine(p Policy, jitter func() float64, now time.Time) *machine {
	return &machine{policy: p.withDefaults(), jitter: jitter, state: Stopped, rest: Stopped, since: now}
}

// start makes the child wanted. One that is wanted already goes on as it does.
func (m *machine) start(now time.Time) action {
	if m.wanted {
		return nothing
	}
	return m.restart(now)
}

// restart ends the process, if there is one, for another to come; all earlier
// failures are forgiven.
func (m *machine) restart(now time.Time) action {
	m.wanted = true
	m.forgive()
	switch {
	case m.state == Stopping:
		m.hurry(now.Add(m.policy.RestartGrace))
		return nothing
	case m.alive:
		m.enter(Stopping, now, m.policy.RestartGrace)
		return terminate
	default:
		return m.spawnNow(now)
	}
}

// stop ends the child for good.
func (m *machine) stop(now time.Time) action { return m.unwant(now, Stopped) }

// refuse ends the child for good and reports it as unverified.
func (m *machine) refuse(now time.Time) action { return m.unwant(now, Unverified) }

// withheld reports that the caller's check refused the spawn that was due.
func (m *machine) withheld(now time.Time) action {
	m.alive = false
	return m.refuse(now)
}

func (m *machine) unwant(now time.Time, rest State) action {
	again := !m.wanted
	m.wanted, m.rest = false, rest
	switch {
	case m.state == Stopping:
		if !again && !m.wake.IsZero() {
			m.wake = now.Add(m.policy.StopGrace)
		}
		return nothing
	case m.alive:
		m.enter(Stopping, now, m.policy.StopGrace)
		return terminate
	case m.state != rest:
		m.enter(rest, now, 0)
	}
	return nothing
}

// exited reports that the process ended, or could not be spawned. The verdict
// counts only when nobody had told it to end.
func (m *machine) exited(now time.Time, v Verdict) action {
	told := m.state == Stopping
	m.alive = false
	switch {
	case told && m.wanted:
		return m.spawnNow(now)
	case told:
		m.enter(m.rest, now, 0)
		return nothing
	}
	if now.Sub(m.spawned) >= m.policy.ResetAfter {
		m.forgive()
	}
	m.holdBack(now, v)
	return nothing
}

// holdBack chooses the state after an end that nobody had asked for.
func (m *machine) holdBack(now time.Time, v Verdict) {
	if v == VerdictCrash {
		m.crashes++
	}
	switch {
	case v == VerdictRejected:
		m.enter(Rejected, now, 0)
	case v == VerdictCrash && m.crashes >= m.policy.LoopAfter:
		m.enter(CrashLooping, now, m.policy.LoopDelay)
	default:
		m.enter(Backoff, now, m.nextDelay())
	}
}

// tick reports that time has passed. It does nothing before wake.
func (m *machine) tick(now time.Time) action {
	if m.wake.IsZero() || now.Before(m.wake) {
		return nothing
	}
	switch m.state {
	case Backoff, CrashLooping:
		return m.spawnNow(now)
	case Stopping:
		m.wake = time.Time{}
		return kill
	default:
		m.enter(Up, now, 0)
		return nothing
	}
}

// nextTry is when a spawn is due, zero when none is.
func (m *machine) nextTry() time.Time {
	if m.state == Backoff || m.state == CrashLooping {
		return m.wake
	}
	return time.Time{}
}

func (m *machine) spawnNow(now time.Time) action {
	m.alive, m.spawned = true, now
	m.enter(Starting, now, m.policy.Liveness)
	return spawn
}

// enter changes the state; after is when tick is due, 0 for never.
func (m *machine) enter(s State, now time.Time, after time.Duration) {
	m.state, m.since, m.wake = s, now, time.Time{}
	if after > 0 {
		m.wake = now.Add(after)
	}
}

// hurry brings a wake that is set forward.
func (m *machine) hurry(deadline time.Time) {
	if m.wake.After(deadline) {
		m.wake = deadline
	}
}

func (m *machine) forgive() { m.retries, m.crashes = 0, 0 }

// nextDelay doubles from MinDelay to MaxDelay, and varies by Jitter.
func (m *machine) nextDelay() time.Duration {
	delay := m.policy.MinDelay
	for range m.retries {
		if delay >= m.policy.MaxDelay {
			break
		}
		delay *= 2
	}
	m.retries++
	delay = min(delay, m.policy.MaxDelay)
	return delay + time.Duration(float64(delay)*max(m.policy.Jitter, 0)*m.jitter())
}
