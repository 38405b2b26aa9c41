package agent

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/florete/flor/store/identity"
	"github.com/florete/flor/supervise"
)

const (
	// expirySoon is how long before its end a certificate becomes a problem.
	expirySoon = 14 * 24 * time.Hour
	// slowStop is how long a stop may take before status says who holds it
	// (SUP-8).
	slowStop = time.Second
)

// condition is what the agent knows about itself when it is asked how it is.
type condition struct {
	node string
	// now is by the clock of the timers, clock by the one that certificates are
	// judged by.
	now, clock time.Time
	// stopping is since when the agent is ending, zero while it is not.
	stopping  time.Time
	workloads []observed
	// recovered: the active set is not the newest one admitted (SET-5).
	// trustLost: state.json is gone (SET-6).
	recovered, trustLost bool
	active, mark         uint64
	// late names what keeps the active set from being confirmed, once a request
	// would have been told "failed".
	late []string
	// unwritten is why the mark of the active set could not be written.
	unwritten string
	// untidy is what of the scope could not be put in order on disk.
	untidy string
	// trouble is the last sync's code, reason and words when it did not end well,
	// and since is when that began.
	trouble string
	since   time.Time
	// sinkTrouble says why the log destination could not be opened.
	sinkTrouble string
	// strays are processes that workloads left and nobody may end (SUP-5).
	strays []supervise.Stray
	// occupied is by whom an address is in use that a workload waits for, inbound
	// the one that sync needs.
	occupied map[string]string
	inbound  string
	// certificates are those of the identity store, unreadable says what of it
	// could not be read.
	certificates []certificate
	unreadable   []error
}

// observed is one workload with what the supervisor tells of it.
type observed struct {
	liveness
	since   time.Time
	pid     int
	nextTry time.Time
	// active: it belongs to the active set. answers: its program serves a control
	// channel whenever it serves.
	active, answers bool
}

// certificate is what health needs of one in the store.
type certificate struct {
	id                  string
	notBefore, notAfter time.Time
}

// health lists what is wrong, each with what to do about it, in the order in
// which a person should look: what other problems may come of stands first. It
// is empty when all is well, and a function of values (AGT-10).
func health(c condition) []string {
	problems := append([]string{}, c.stopProblems()...)
	problems = append(problems, c.certificateProblems()...)
	problems = append(problems, c.trustProblems()...)
	for _, w := range c.workloads {
		problems = append(problems, w.problems(c)...)
	}
	problems = append(problems, c.setProblems()...)
	if c.trouble != "" {
		problems = append(problems, fmt.Sprintf("sync: %s, since %s", c.trouble, stamp(c.since)))
	}
	if c.sinkTrouble != "" {
		problems = append(problems, "log: "+c.sinkTrouble)
	}
	for _, s := range c.strays {
		problems = append(problems, fmt.Sprintf("process %d (%s) was left by a workload and cannot be told whose it is: end it by hand", s.PID, s.Command))
	}
	for _, cert := range c.certificates {
		problems = append(problems, cert.soon(c.clock)...)
	}
	return problems
}

// stopProblems tells that the agent ends, whatever still serves.
func (c condition) stopProblems() []string {
	if c.stopping.IsZero() {
		return nil
	}
	return []string{fmt.Sprintf("the agent is being stopped since %s, and its workloads with it", stamp(c.stopping))}
}

// certificateProblems tells what keeps this node from proving who it is.
func (c condition) certificateProblems() []string {
	var problems []string
	for _, fault := range c.unreadable {
		problems = append(problems, fmt.Sprintf("identity: %v; remedy: %s", fault, c.newBundle()))
	}
	for _, cert := range c.certificates {
		problems = append(problems, cert.invalid(c)...)
	}
	return problems
}

func (c condition) trustProblems() []string {
	if !c.trustLost {
		return nil
	}
	return []string{"trust-state-lost: agent/state.json is gone, so no set can be admitted; workloads run on; remedy: flor enroll with a new bundle"}
}

func (w observed) problems(c condition) []string {
	if !w.silent.IsZero() {
		return []string{fmt.Sprintf("%s: %s since %s, process %d hangs or is stopped; to start another: flor agent restart %s", w.name, noAnswer, stamp(w.silent), w.pid, w.name)}
	}
	switch w.state {
	case supervise.Starting:
		return append(w.oldProblems(c), w.startProblems(c)...)
	case supervise.Up:
		return append(w.oldProblems(c), w.portProblems(c)...)
	case supervise.Stopping:
		return w.stopProblems(c)
	}
	return []string{w.standing()}
}

// oldProblems tells of a process that was not yet given what the active set brings:
// the change is on its way to it.
func (w observed) oldProblems(c condition) []string {
	if w.pid == 0 || w.runs >= w.needs {
		return nil
	}
	return []string{fmt.Sprintf("%s: still runs on v%d, and v%d is active", w.name, w.runs, c.active)}
}

// stopProblems tells of a workload that is needed and is being restarted, and of any
// whose stop takes long.
func (w observed) stopProblems(c condition) []string {
	stops := fmt.Sprintf("%s: is being stopped since %s", w.name, stamp(w.since))
	switch {
	case c.now.Sub(w.since) >= slowStop:
		return []string{fmt.Sprintf("%s, process %d holds it", stops, w.pid)}
	case w.active:
		return []string{stops}
	}
	return nil
}

// standing says how a workload that is not known to serve stands, since when, why,
// and what to do about it.
func (w observed) standing() string {
	return fmt.Sprintf("%s: %s since %s%s", w.name, withReason(w.state, w.reason), stamp(w.since), w.remedy())
}

// remedy is what to do about a workload that does not run.
func (w observed) remedy() string {
	switch w.state {
	case supervise.Backoff:
		return ", tried again at " + stamp(w.nextTry)
	case supervise.CrashLooping:
		return fmt.Sprintf(", tried again at %s; its log says why; at once: flor agent restart %s", stamp(w.nextTry), w.name)
	case supervise.Rejected:
		return fmt.Sprintf("; it cannot serve its artifact and is not tried again: publish one that it can; to try this one: flor agent restart %s", w.name)
	}
	return ""
}

// startProblems is what a workload that has not outlived its liveness window waits
// for. One that has not said that it is ready is not known to serve, and whoever is
// told "healthy" goes on to use it.
func (w observed) startProblems(c condition) []string {
	waits := w.waitProblems(c)
	if len(waits) > 0 || w.ready != nil && w.ready.Ready {
		return waits
	}
	return []string{w.standing()}
}

// portProblems is what keeps a workload that is up from serving.
func (w observed) portProblems(c condition) []string {
	if w.ready == nil && w.answers {
		return []string{fmt.Sprintf("%s: runs, but process %d has not answered on its control channel yet; its log says why; to start another: flor agent restart %s", w.name, w.pid, w.name)}
	}
	if w.ready != nil && !w.ready.Ready && len(w.ready.Waiting) == 0 {
		return []string{w.name + ": runs, but is not ready"}
	}
	return w.waitProblems(c)
}

// waitProblems is what a workload says that it waits for. It counts as soon as
// it says so, also while the supervisor is not sure of the process yet.
func (w observed) waitProblems(c condition) []string {
	if w.ready == nil || len(w.ready.Waiting) == 0 {
		return nil
	}
	var words, remedies []string
	for _, entry := range w.ready.Waiting {
		word, remedy := c.awaited(entry)
		words = append(words, word)
		if remedy != "" && !slices.Contains(remedies, remedy) {
			remedies = append(remedies, remedy)
		}
	}
	problem := w.name + ": waits for " + strings.Join(words, ", ")
	if len(remedies) > 0 {
		problem += "; remedy: " + strings.Join(remedies, "; ")
	}
	return []string{problem}
}

// awaited spells what a workload waits for, and what to do about it, empty where
// another problem says that.
func (c condition) awaited(entry string) (words, remedy string) {
	if id, ok := strings.CutPrefix(entry, "identity "); ok {
		return c.awaitedIdentity(id)
	}
	by := c.occupied[entry]
	switch {
	case by == "":
		return entry, ""
	case entry == c.inbound:
		return fmt.Sprintf("%s (the address is in use by %s, and sync goes through it)", entry, by), otherAddress
	}
	return fmt.Sprintf("%s (the address is in use by %s)", entry, by), otherAddress
}

// otherAddress is what to do where somebody else has an address.
const otherAddress = "end that process, or publish another address"

// awaitedIdentity names a principal whose identity a workload lacks. One that is
// in the store and usable by its looks was refused for another reason, which the
// workload's log has.
func (c condition) awaitedIdentity(id string) (words, remedy string) {
	for _, cert := range c.certificates {
		switch {
		case cert.id == id && len(cert.invalid(c)) > 0:
			return "identity " + id + " (not valid now, see above)", ""
		case cert.id == id:
			return "identity " + id + " (refused, its log says why)", c.newBundle()
		}
	}
	return fmt.Sprintf("identity %s (%s %s)", id, identity.Absent.Code(), identity.Absent), c.newBundle()
}

// newBundle is how a node gets identities.
func (c condition) newBundle() string {
	return fmt.Sprintf("retectl issue-bundle --node %s, then flor enroll", c.node)
}

func (c condition) setProblems() []string {
	var problems []string
	if c.recovered {
		problems = append(problems, fmt.Sprintf("recovered: the set v%d was damaged on disk, an older or partial one runs (v%d); the next sync that brings v%d or newer mends it", c.mark, c.active, c.mark))
	}
	if len(c.late) > 0 {
		problems = append(problems, fmt.Sprintf("set v%d is active but not confirmed: %s", c.active, strings.Join(c.late, "; ")))
	}
	if c.unwritten != "" {
		problems = append(problems, fmt.Sprintf("set v%d is active, but its mark cannot be written: %s; tried again until it can", c.active, c.unwritten))
	}
	if c.untidy != "" {
		problems = append(problems, "the scope cannot be put in order on disk: "+c.untidy+"; tried again at each sync")
	}
	return problems
}

// invalid tells of a certificate that nobody accepts now, and what the clock has
// to do with it. One of the future means that the clock is wrong, since enrolment
// has checked it; one of the past may mean it as well, and a new one would be no
// remedy then.
func (c certificate) invalid(of condition) []string {
	window := fmt.Sprintf("the clock says %s, but the certificate of %s is valid from %s to %s", stamp(of.clock), c.id, stamp(c.notBefore), stamp(c.notAfter))
	switch {
	case of.clock.Before(c.notBefore):
		return []string{window + ": set the clock"}
	case !of.clock.Before(c.notAfter):
		return []string{window + ": set the clock if it is wrong; if it is right, the certificate has expired: " + of.newBundle()}
	}
	return nil
}

// soon tells of one that is about to expire.
func (c certificate) soon(clock time.Time) []string {
	left := c.notAfter.Sub(clock)
	if clock.Before(c.notBefore) || left <= 0 || left > expirySoon {
		return nil
	}
	return []string{fmt.Sprintf("the certificate of %s expires at %s, in %d days: flor enroll with a new bundle before", c.id, stamp(c.notAfter), int(left.Hours()/24))}
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
