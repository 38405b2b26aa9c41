package host

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/florete/flor/conformance/internal/trial"
	"github.com/florete/flor/envelope/envelopetest"
)

// Program is what is checked.
type Program struct {
	Argv    []string // its command line
	Env     []string // added to its environment
	Name    string   // of the workload
	Payload string   // of its artifact, JSON; {{address}} stands for a free address each
}

// Grace is how long a program has to end after SIGTERM (SUP-4).
const Grace = 10 * time.Second

// liveness is how long a run must last to have come up (SUP-6), for a program
// that says nothing on a control channel.
const liveness = 3 * time.Second

// refuseIn is how long a program has to refuse what it cannot serve.
const refuseIn = 20 * time.Second

// Host runs one program in one case. It is for the goroutine of the case.
type Host struct {
	*trial.T
	Program Program
	Dir     string            // of everything here
	Vars    map[string]string // the environment by the contract; an empty value: not set
	Payload string            // the program's, with addresses
	Log     *os.File          // what fds 1 and 2 are; nil: a file

	signer *envelopetest.Identity
}

// New makes a place for a program with everything as it should be: an artifact at
// version 1, a state directory, a path for the control channel, the shared sink.
func New(t *trial.T, p Program) *Host {
	h := &Host{T: t, Program: p, Dir: t.Dir(), signer: envelopetest.NewAuthority("rete-lovers").Signer("alice")}
	h.Payload = h.fill(p.Payload)
	state := h.Mkdir("workloads/" + p.Name)
	h.Vars = map[string]string{
		"FLORWL_SCOPE": "lovers", "FLORWL_NAME": p.Name, "FLORWL_STATE_DIR": state,
		"FLORWL_MGMT_ARTIFACT":  h.WriteArtifact(1, h.Artifact(1, h.Payload)),
		"FLORWL_CONTROL_SOCKET": filepath.Join(h.Mkdir("run"), p.Name+".sock"),
		"FLORWL_LOG_SINK":       "shared",
	}
	return h
}

// Placeholder stands for a free loopback address in a payload.
const Placeholder = "{{address}}"

// fill puts an address for each placeholder.
func (h *Host) fill(payload string) string {
	host := h.Host()
	for strings.Contains(payload, Placeholder) {
		payload = strings.Replace(payload, Placeholder, h.Address(host), 1)
	}
	return payload
}

// Mkdir makes a directory below Dir and returns its path.
func (h *Host) Mkdir(name string) string {
	path := filepath.Join(h.Dir, filepath.FromSlash(name))
	h.Check(os.MkdirAll(path, 0o700), "make a directory")
	return path
}

// Artifact signs an artifact of this workload with a payload in JSON.
func (h *Host) Artifact(version uint64, payload string) []byte {
	return h.ArtifactOf(h.Program.Name, version, payload)
}

// ArtifactOf signs an artifact of any workload.
func (h *Host) ArtifactOf(name string, version uint64, payload string) []byte {
	return h.signer.Sign("alpha", name, version, []byte(payload))
}

// WriteArtifact writes a text as an artifact of a version, in a directory that
// another version does not have, and returns its path.
func (h *Host) WriteArtifact(version uint64, text []byte) string {
	dir := h.Mkdir("sets/v" + string(rune('0'+version)))
	path := filepath.Join(dir, h.Program.Name+".json")
	h.Check(os.WriteFile(path, text, 0o600), "write the artifact")
	return path
}

// SetArtifact has the program started on another text.
func (h *Host) SetArtifact(text []byte) { h.Vars["FLORWL_MGMT_ARTIFACT"] = h.WriteArtifact(1, text) }

// State is the program's state directory.
func (h *Host) State() string { return h.Vars["FLORWL_STATE_DIR"] }

// Environ is the environment of the program (SUP-1).
func (h *Host) Environ() []string {
	var env []string
	for _, item := range os.Environ() {
		if !strings.HasPrefix(item, "FLOR") {
			env = append(env, item)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(h.Vars)) {
		if h.Vars[name] != "" {
			env = append(env, name+"="+h.Vars[name])
		}
	}
	return append(env, h.Program.Env...)
}

// Start starts the program, with arguments after its own.
func (h *Host) Start(args ...string) *trial.Process {
	return h.Launch(trial.Launch{
		Argv: slices.Concat(h.Program.Argv, args), Env: h.Environ(), Dir: h.Mkdir("cwd"), Log: h.Log,
	})
}

// Serve starts the program and waits until it serves.
func (h *Host) Serve() *trial.Process {
	p := h.Start()
	h.AwaitServing(p)
	return p
}

// AwaitServing waits until the program serves: it says so on its control channel,
// or, where it has none, its run has outlived the liveness window (SUP-6).
func (h *Host) AwaitServing(p *trial.Process) {
	begun := time.Now()
	h.Await("the program must say on its control channel that it is ready", func() bool {
		if p.Ended() {
			h.Fatalf("%s", endedUnasked(p.Ending()))
		}
		ready, answered := h.ready()
		if answered || time.Since(begun) > liveness {
			h.Served()
		}
		return answered && ready.Ready || !answered && time.Since(begun) > liveness
	})
}

// endedUnasked says what to do about a program that does not serve.
func endedUnasked(e trial.Ending) string {
	if e.Code == 78 {
		return "it refused its artifact (exit 78); if the payload that the suite made up is not for it, give one that it can serve with --payload"
	}
	return e.Unasked()
}

// Stop sends SIGTERM and requires a clean end within the grace (SUP-3, SUP-4).
func (h *Host) Stop(p *trial.Process) {
	p.Signal(termination)
	ending, ended := p.EndsIn(Grace)
	switch {
	case !ended:
		h.Fatalf("it still runs %s after SIGTERM, when its agent kills the whole process group and what was under way is lost: handle SIGTERM, finish, and exit with 0", Grace)
	case ending.Signal == termination:
		h.Fatalf("SIGTERM killed it: handle SIGTERM, finish what is under way, and exit with 0")
	case ending != trial.Ending{}:
		h.Fatalf("it ended with %s after SIGTERM: a clean stop is exit 0", ending)
	}
}

// Refused requires that the program, started on what it cannot serve, exits with
// 78 (SUP-3).
func (h *Host) Refused(p *trial.Process, what string) {
	ending, ended := p.EndsIn(refuseIn)
	if !ended {
		h.Fatalf("it runs on with %s: exit with 78, which tells its agent that trying again is of no use", what)
	}
	if ending.Code != 78 {
		h.Fatalf("it ended with %s on %s: exit with 78, which tells its agent that trying again is of no use", ending, what)
	}
}
