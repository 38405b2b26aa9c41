package supervise

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Spec says how one child is run. The zero values of all fields but Name and
// Path are usable.
type Spec struct {
	// Name tells the child from its siblings, in status and in the record of
	// children. It is not empty, holds no slash and no control character, and
	// does not begin with "beside:" (see [Supervisor.RunBeside]).
	Name string
	// Path is the absolute path of the executable. It is run as it stands;
	// no search path is consulted (SUP-2).
	Path string
	// Args follow argv[0], which is Path.
	Args []string
	// Env is the whole environment of the child; nothing is added (SUP-1).
	// Nil is an empty environment, not the supervisor's.
	Env []string
	// Marker is an entry of Env, "KEY=value", that no other Spec and nothing
	// else on this machine has. What a child leaves carries it, and is found
	// by it (SUP-5, SUP-9; see [Options].Subreaper). Empty leaves only process
	// group and cgroup.
	Marker string
	// Dir is the working directory; empty means the supervisor's.
	Dir string

	// Out becomes fd 1 and fd 2. Nil (and no OpenOut) is the null device.
	Out *os.File
	// OpenOut, if set, is called before each spawn in place of Out, and what
	// it returns is closed once the child has it. Its error counts as exit 69
	// of the child: retried, never towards crash-looping (OBS-1).
	OpenOut func() (*os.File, error)

	// Check, if set, is called before each spawn, for whatever reason. Its error
	// keeps the child from being spawned: it is reported as Unverified with
	// these words until it is restarted or given anew (SET-5). It must not wait for the
	// supervisor.
	Check func() error

	// Policy is when it is restarted; the zero Policy has the defaults.
	Policy Policy
	// Classify judges how a process ended; nil is [Classify].
	Classify func(*os.ProcessState) Verdict

	// Revision names what the child runs on. Apply leaves a running child
	// alone while its Revision stays the same, whatever else changed, and
	// uses the new Spec from the next spawn on. Empty compares Path, Args,
	// Env and Dir instead.
	Revision string
	// Tag is shown in Status as what the running process was given ("v42").
	Tag string
	// Refused, if not empty, keeps the child from being spawned: it is
	// reported as Unverified with this reason (SUP-7).
	Refused string

	// Offer, if set, is asked when the Revision of a running child changes:
	// true means that the process has taken the new Spec over and goes on; false or
	// an error means it is restarted (SUP-11). Apply waits for it.
	Offer func(context.Context) (swapped bool, err error)
	// Drain, if set, is called before the SIGTERM of a restart and not of a
	// stop. Its context ends with the restart's grace (SUP-4).
	Drain func(context.Context) error
}

// Verdict is what the end of a process means to the policy (SUP-3).
type Verdict int

const (
	// VerdictCrash is retried and counts towards crash-looping.
	VerdictCrash Verdict = iota
	// VerdictUnavailable is retried and does not count: a host service was
	// missing.
	VerdictUnavailable
	// VerdictRejected is not retried: the child cannot serve this
	// configuration.
	VerdictRejected
)

// Exit codes of the supervised-program contract (SUP-3).
const (
	ExitUnavailable = 69
	ExitRejected    = 78
)

// Classify judges by exit code: 78 is VerdictRejected, 69 is
// VerdictUnavailable, all else is VerdictCrash, exit 0 and signals included (SUP-3). The supervisor asks
// only about processes that it had not told to stop.
func Classify(ps *os.ProcessState) Verdict {
	switch ps.ExitCode() {
	case ExitRejected:
		return VerdictRejected
	case ExitUnavailable:
		return VerdictUnavailable
	default:
		return VerdictCrash
	}
}

// String returns the verdict as a word for logs and status.
func (v Verdict) String() string {
	switch v {
	case VerdictUnavailable:
		return "unavailable"
	case VerdictRejected:
		return "rejected"
	default:
		return "crash"
	}
}

// Status is how one child is doing at one moment.
type Status struct {
	Name  string
	State State
	// Since is when State was entered.
	Since time.Time
	// PID is the main process, 0 when there is none. In Stopping it is the
	// process that holds the stop, since Since (SUP-8).
	PID int
	// Started is when that process was spawned, zero when there is none.
	Started time.Time
	// Tag is that of the Spec the running process has (or had).
	Tag string
	// Swapped tells that the process got Tag by an Offer, not by its spawn.
	Swapped bool
	// Restarts counts the spawns after the first one.
	Restarts int
	// LastExit is how the last process ended; nil when none has.
	LastExit *Exit
	// NextTry is when the next spawn is due; zero when none is.
	NextTry time.Time
	// Reason says in words why the state is what it is, when there is
	// something to say: the refusal, or why it could not be spawned.
	Reason string
}

// Exit is how a process ended.
type Exit struct {
	// Code is the exit code, -1 when a signal ended the process or when it
	// could not be spawned.
	Code int
	// Signal is the name of that signal ("killed"), empty otherwise.
	Signal string
	At     time.Time
	// Verdict is what the policy made of it; meaningless when Told.
	Verdict Verdict
	// Told is true when the process had been told to stop.
	Told bool
	// Reason says it in words.
	Reason string
}

func checkSpecs(specs []Spec) error {
	named, marked := make(map[string]bool, len(specs)), make(map[string]string, len(specs))
	for _, s := range specs {
		if err := s.check(); err != nil {
			return err
		}
		if strings.HasPrefix(s.Name, besidePrefix) {
			return refuse("FL2301", "bad-spec", "name %q: %q is kept for what runs beside the list", s.Name, besidePrefix)
		}
		if named[s.Name] {
			return refuse("FL2301", "bad-spec", "two specs are named %q: give each its own name", s.Name)
		}
		if other, taken := marked[s.Marker]; taken && s.Marker != "" {
			return refuse("FL2301", "bad-spec", "%s and %s have the marker %q: give each its own", other, s.Name, s.Marker)
		}
		named[s.Name], marked[s.Marker] = true, s.Name
	}
	return nil
}

func (s *Spec) check() error {
	if s.Name == "" || strings.ContainsFunc(s.Name, func(r rune) bool { return r < ' ' || r == '/' || r == 0x7f }) {
		return refuse("FL2301", "bad-spec", "name %q: want one without slash and control characters", s.Name)
	}
	if s.Refused == "" && !filepath.IsAbs(s.Path) {
		return refuse("FL2301", "bad-spec", "%s: executable %q is not an absolute path", s.Name, s.Path)
	}
	if slices.ContainsFunc(slices.Concat([]string{s.Path, s.Dir}, s.Args, s.Env), hasNUL) {
		return refuse("FL2301", "bad-spec", "%s: a NUL in path, directory, arguments or environment", s.Name)
	}
	if s.Marker != "" && (!strings.Contains(s.Marker, "=") || !slices.Contains(s.Env, s.Marker)) {
		return refuse("FL2301", "bad-spec", "%s: marker %q is no entry of its environment", s.Name, s.Marker)
	}
	return nil
}

func hasNUL(s string) bool { return strings.ContainsRune(s, 0) }

// clone copies specs with the texts that they refer to: what a child was given is
// compared with what it is given next, and is used again at its next spawn.
func clone(specs []Spec) []Spec {
	specs = slices.Clone(specs)
	for i := range specs {
		specs[i].Args, specs[i].Env = slices.Clone(specs[i].Args), slices.Clone(specs[i].Env)
	}
	return specs
}

// sameAs reports whether a process spawned from s need not change for n.
func (s *Spec) sameAs(n *Spec) bool {
	if s.Revision != "" || n.Revision != "" {
		return s.Revision == n.Revision
	}
	return s.Path == n.Path && s.Dir == n.Dir && slices.Equal(s.Args, n.Args) && slices.Equal(s.Env, n.Env)
}

// describe says in words how the process ended.
func (e *Exit) describe() string {
	if e.Signal != "" {
		return "signal: " + e.Signal
	}
	return "exit code " + strconv.Itoa(e.Code)
}
