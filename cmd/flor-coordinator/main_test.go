package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/florete/flor/conformance/lab/loopback"
	"github.com/florete/flor/envelope/envelopetest"
	"github.com/florete/flor/relay"
	"github.com/florete/flor/relay/client"
	"github.com/florete/flor/relay/config"
	"github.com/florete/flor/supervise/program"
)

// asProgram makes the test's own binary behave as flor-coordinator.
const asProgram = "BE_FLOR_COORDINATOR"

func TestMain(m *testing.M) {
	switch {
	case os.Getenv(asCrowd) != "":
		os.Exit(crowdMain(os.Args[1:]))
	case os.Getenv(asProgram) != "":
		go tellMemory(os.Getenv(memoryFile))
		main()
	}
	os.Exit(m.Run())
}

var signer = envelopetest.NewAuthority("demo").Signer("primary")

// place is what a coordinator is given: an artifact, a state directory and a
// socket.
type place struct {
	t                       *testing.T
	artifact, state, socket string
	listen                  config.Listen
	binary                  string
	attr                    *syscall.SysProcAttr // nil: as who runs the tests
	launch                  launcher
}

// launcher starts a process where it is to run.
type launcher func(*exec.Cmd) error

// here is on this machine.
var here launcher = (*exec.Cmd).Start

func newPlace(t *testing.T) *place {
	t.Helper()
	run, err := os.MkdirTemp("", "fc") // short, for the socket's path
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(run) })
	p := &place{
		t: t, artifact: filepath.Join(run, "coordinator.json"), state: t.TempDir(), socket: filepath.Join(run, "c.sock"),
		binary: os.Args[0], launch: here,
		listen: config.Listen{Sync: loopback.Address(t), Publish: loopback.Address(t)},
	}
	p.give(config.Config{SchemaVersion: config.SchemaVersion, Listen: p.listen})
	return p
}

// give writes the artifact with this payload.
func (p *place) give(payload any) {
	p.t.Helper()
	if err := os.WriteFile(p.artifact, signer.Sign("mgmt01", "coordinator", 1, payload), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) memoryFile() string { return p.artifact + ".memory" }

func (p *place) command(args ...string) *exec.Cmd {
	cmd := exec.Command(p.binary, args...)
	cmd.SysProcAttr = p.attr
	cmd.Env = append(os.Environ(), asProgram+"=1", memoryFile+"="+p.memoryFile(), "FLORWL_SCOPE=demo", "FLORWL_NAME=coordinator",
		"FLORWL_MGMT_ARTIFACT="+p.artifact, "FLORWL_STATE_DIR="+p.state, "FLORWL_CONTROL_SOCKET="+p.socket)
	return cmd
}

// run runs the program to its end.
func (p *place) run(args ...string) (code int, stdout, stderr string) {
	p.t.Helper()
	return finish(p.t, p.command(args...))
}

func finish(t *testing.T, cmd *exec.Cmd) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Start()
	if err == nil {
		// One that serves where it should have refused would never end.
		limit := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
		defer limit.Stop()
		err = cmd.Wait()
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// running is a coordinator that serves.
type running struct {
	*place
	cmd             *exec.Cmd
	errs            *bytes.Buffer
	sync, publisher *client.Client
}

func (p *place) start() *running {
	p.t.Helper()
	r := &running{place: p, cmd: p.command(), errs: new(bytes.Buffer)}
	r.cmd.Stderr = r.errs
	if err := p.launch(r.cmd); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = r.cmd.Process.Kill(); _ = r.cmd.Wait() })
	r.sync, r.publisher = p.client(p.listen.Sync), p.client(p.listen.Publish)
	r.awaitReady()
	return r
}

func (p *place) client(address string) *client.Client {
	p.t.Helper()
	c, err := client.New(client.Options{BaseURL: "http://" + address})
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(c.Close)
	return c
}

// awaitReady asks on the control channel until the program serves (SUP-11).
func (r *running) awaitReady() (ready program.Readiness) {
	r.t.Helper()
	r.poll("readiness", func(ctx context.Context) bool {
		var err error
		ready, err = program.DialControl(r.socket).Ready(ctx)
		return err == nil && ready.Ready
	})
	return ready
}

func (r *running) poll(what string, done func(context.Context) bool) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), time.Minute)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !done(ctx) {
		select {
		case <-tick.C:
		case <-ctx.Done():
			r.t.Fatalf("no %s in a minute", what)
		}
	}
}

func (r *running) stop() (code int, stderr string) {
	r.t.Helper()
	if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		r.t.Fatal(err)
	}
	_ = r.cmd.Wait()
	return r.cmd.ProcessState.ExitCode(), r.errs.String()
}

func tree(version uint64) string {
	return fmt.Sprintf("{\"artifacts\":[\n%s\n]}\n", signer.Sign("alpha", "agent", version, map[string]any{"schema_version": "1.0"}))
}

func (r *running) publish(text string) client.Result {
	r.t.Helper()
	result, err := r.tryPublish(text)
	if err != nil {
		r.t.Fatal(err)
	}
	return result
}

func (r *running) tryPublish(text string) (client.Result, error) {
	return r.publisher.Publish(r.t.Context(), strings.NewReader(text), int64(len(text)))
}

// CRD-1, CRD-4, CRD-6, CRD-7: publish, fetch, watch, SIGTERM, and what is there
// after a start.
func TestACoordinatorServesStopsAndServesAgain(t *testing.T) {
	t.Parallel()
	p, text := newPlace(t), tree(3)
	first := p.start()
	if diff := cmp.Diff(client.Result{Result: "accepted", Nodes: 1, Changed: []string{"alpha"}}, first.publish(text)); diff != "" {
		t.Error(diff)
	}
	watch := make(chan client.Reply, 1)
	go func() {
		reply, err := first.sync.Fetch(t.Context(), "alpha", 3, time.Minute)
		if err != nil {
			t.Error(err)
		}
		watch <- reply
	}()
	first.awaitHeld(1)
	begun := time.Now()
	if code, stderr := first.stop(); code != 0 {
		t.Errorf("exit %d: %s", code, stderr)
	}
	if reply := <-watch; reply.Status != client.NotModified || time.Since(begun) > 20*time.Second {
		t.Errorf("the watch ended with %v after %s", reply.Status, time.Since(begun))
	}
	second := p.start()
	reply, err := second.sync.Fetch(t.Context(), "alpha", 0, 0)
	if err != nil || string(reply.Document) != text || reply.Version != 3 {
		t.Errorf("after a start: %s, %v", reply.Document, err)
	}
}

// CRD-6, SUP-4: a drain on the control channel comes before the SIGTERM. Held
// questions are answered at once, new ones are not held, and what needs no holding
// is served on.
func TestADrainOnTheControlChannelEndsTheWatches(t *testing.T) {
	t.Parallel()
	r := newPlace(t).start()
	r.publish(tree(3))
	watch := make(chan error, 1)
	go func() {
		reply, err := r.sync.Fetch(t.Context(), "alpha", 3, time.Minute)
		if err == nil && reply.Status != client.NotModified {
			err = fmt.Errorf("answered %v", reply.Status)
		}
		watch <- err
	}()
	r.awaitHeld(1)
	if err := program.DialControl(r.socket).Drain(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	var unavailable *client.Unavailable
	if reply, err := r.sync.Fetch(t.Context(), "alpha", 3, time.Second); !errors.As(err, &unavailable) {
		t.Errorf("a question that wants to be held by one that drains: %v, %v", reply.Status, err)
	}
	if err := <-watch; err != nil {
		t.Errorf("the question that was held: %v", err)
	}
	r.serves(tree(3))
}

// awaitHeld waits until so many questions are being held, which the counters tell
// (OBS-6).
func (r *running) awaitHeld(want int) {
	r.t.Helper()
	gauge := fmt.Sprintf("\nflor_coordinator_held_answers %d\n", want)
	r.poll(strings.TrimSpace(gauge), func(ctx context.Context) bool {
		text, err := program.DialControl(r.socket).Metrics(ctx)
		return err == nil && strings.Contains(string(text), gauge)
	})
}

// CRD-1, SUP-3: what can never be served exits 78 and says why; --check agrees.
func TestWhatCannotBeServedExits78(t *testing.T) {
	t.Parallel()
	good := config.Listen{Sync: "127.0.0.1:9000", Publish: "127.0.0.1:9001"}
	cases := map[string]struct {
		payload any
		says    []string
	}{
		"a newer minor":     {config.Config{SchemaVersion: "1.1", Listen: good}, []string{"FL3402", "upgrade flor-coordinator"}},
		"an unknown member": {map[string]any{"schema_version": "1.0", "listen": good, "store": "/tmp"}, []string{"FL3401", "store"}},
		"one port for both": {config.Config{SchemaVersion: "1.0", Listen: config.Listen{Sync: good.Sync, Publish: good.Sync}}, []string{"FL3405", "a listener each"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.give(c.payload)
			for _, args := range [][]string{nil, {"--check", p.artifact}} {
				code, _, stderr := p.run(args...)
				if code != 78 {
					t.Errorf("%q: exit %d: %s", args, code, stderr)
				}
				for _, word := range c.says {
					if !strings.Contains(stderr, word) {
						t.Errorf("%q: %q does not say %q", args, stderr, word)
					}
				}
			}
		})
	}
}

// AGT-4.3: a check needs no port, no state and no environment.
func TestCheckOfAServablePayloadIsZero(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	busy, err := net.Listen("tcp", p.listen.Sync)
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	cmd := exec.Command(os.Args[0], "--check", p.artifact)
	cmd.Env = []string{asProgram + "=1"}
	if code, _, stderr := finish(t, cmd); code != 0 {
		t.Errorf("exit %d: %s", code, stderr)
	}
}

// CRD-1: a busy port may free up, so that it is a crash.
func TestABusyPortIsACrash(t *testing.T) {
	t.Parallel()
	for _, which := range []string{"sync", "publish"} {
		p := newPlace(t)
		address := map[string]string{"sync": p.listen.Sync, "publish": p.listen.Publish}[which]
		busy, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		code, _, stderr := p.run()
		if err := busy.Close(); err != nil {
			t.Fatal(err)
		}
		if code != 1 || !strings.Contains(stderr, which+" listener") || !strings.Contains(stderr, address) {
			t.Errorf("%s: exit %d: %s", which, code, stderr)
		}
	}
}

// CRD-7: state that a newer program wrote is not touched, and no state directory
// is nothing to try again with.
func TestStateThatCannotBeUsedExits78(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	if err := os.WriteFile(filepath.Join(p.state, "floors.json"), []byte(`{"schema_version":"2.0"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := p.run(); code != 78 || !strings.Contains(stderr, "FL3125") {
		t.Errorf("newer state: exit %d: %s", code, stderr)
	}
	p.state = ""
	if code, _, stderr := p.run(); code != 78 || !strings.Contains(stderr, "FLORWL_STATE_DIR") {
		t.Errorf("no state: exit %d: %s", code, stderr)
	}
}

// CRD-7: damage is loud in the log and in what status shows, until a publish.
func TestADamagedTreeIsSaidUntilAPublishRepairsIt(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	if err := os.WriteFile(filepath.Join(p.state, "tree.json"), []byte("\x00\x00"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := p.start()
	waiting := strings.Join(r.awaitReady().Waiting, "; ")
	if !strings.Contains(waiting, "a publish: tree.json was damaged and is set aside as tree.json.corrupt-") {
		t.Errorf("status waits for %q", waiting)
	}
	if reply, err := r.sync.Fetch(t.Context(), "alpha", 0, 0); err != nil || reply.Status != client.NotPublished {
		t.Errorf("%v, %v", reply.Status, err)
	}
	r.publish(tree(1))
	if waiting := r.awaitReady().Waiting; len(waiting) != 0 {
		t.Errorf("after the cure, status waits for %q", waiting)
	}
	if _, stderr := r.stop(); !strings.Contains(stderr, "ERROR") || !strings.Contains(stderr, "FL3123") {
		t.Errorf("the log has no error: %s", stderr)
	}
}

// CRD-3: a reset needs the workload stopped, forgets everything, and says what
// that means.
func TestResetForgetsEverythingOfAStoppedCoordinator(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	r := p.start()
	r.publish(tree(9))
	if code, stdout, stderr := p.run("reset"); code != 1 || stdout != "" || !strings.Contains(stderr, "FL3126") || !strings.Contains(stderr, "stop it first") {
		t.Errorf("beside a running one: exit %d: %s%s", code, stdout, stderr)
	}
	if reply, err := r.sync.Fetch(t.Context(), "alpha", 9, 0); err != nil || reply.Status != client.NotModified {
		t.Errorf("the running one after a refused reset: %v, %v", reply.Status, err)
	}
	r.stop()
	code, stdout, stderr := p.run("reset")
	if code != 0 || stdout != "floors.json\ntree.json\n" || !strings.Contains(stderr, "An agent still\n    refuses what is older") {
		t.Errorf("exit %d: %s%s", code, stdout, stderr)
	}
	if code, stdout, stderr := p.run("reset"); code != 0 || stdout != "" || !strings.Contains(stderr, "nothing was stored") {
		t.Errorf("a second time: exit %d: %s%s", code, stdout, stderr)
	}
	if result := p.start().publish(tree(1)); result.Result != "accepted" {
		t.Errorf("a lower version after a reset: %+v", result)
	}
}

// CRD-3: a rete that is far beyond the largest jump finds its way into a
// coordinator that has nothing on record: a new one, one that was reset, and one
// whose state was lost. From then on the limit binds.
func TestAnOldReteFindsItsWayIntoACoordinatorWithoutARecord(t *testing.T) {
	t.Parallel()
	const old = 5 * relay.MaxJump
	p := newPlace(t)
	r := p.start()
	r.publish(tree(old))
	var conflict *client.VersionConflict
	if _, err := r.tryPublish(tree(2*old + 1)); !errors.As(err, &conflict) {
		t.Errorf("a jump of %d: %v", old+1, err)
	}
	r.stop()
	if code, _, stderr := p.run("reset"); code != 0 {
		t.Fatalf("reset: exit %d: %s", code, stderr)
	}
	r = p.start()
	r.publish(tree(old + 1))
	r.stop()
	for _, name := range []string{"tree.json", "floors.json"} {
		if err := os.WriteFile(filepath.Join(p.state, name), make([]byte, 100), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r = p.start()
	if result := r.publish(tree(old + 1)); result.Result != "accepted" {
		t.Errorf("after a loss of both files: %+v", result)
	}
}

// The runbook: two files, copied from a coordinator that runs, are all that another
// machine needs; the floors of departed nodes come with them.
func TestABackupServesOnAnotherMachine(t *testing.T) {
	t.Parallel()
	here, there := newPlace(t), newPlace(t)
	old := here.start()
	old.publish(manyNodes(2, 2, 7))
	old.publish(tree(3))
	for _, name := range []string{"floors.json", "tree.json"} {
		text, err := os.ReadFile(filepath.Join(here.state, name))
		err = errors.Join(err, os.WriteFile(filepath.Join(there.state, name), text, 0o600))
		if err != nil {
			t.Fatal(err)
		}
	}
	restored := there.start()
	restored.serves(tree(3))
	var conflict *client.VersionConflict
	if _, err := restored.tryPublish(manyNodes(2, 2, 6)); !errors.As(err, &conflict) || len(conflict.Nodes) != 2 {
		t.Errorf("departed nodes below their floor: %v", err)
	}
}

func TestResetRefusesWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	for _, args := range [][]string{{"reset", "now"}, {"reset", "--force"}} {
		if code, _, stderr := p.run(args...); code != 2 || stderr == "" {
			t.Errorf("%q: exit %d: %s", args, code, stderr)
		}
	}
	if code, _, stderr := p.run("reset", "--rete", "nowhere"); code != 1 || !strings.Contains(stderr, "nowhere") {
		t.Errorf("an unknown scope: exit %d: %s", code, stderr)
	}
}

// Running by hand, flags override the environment (SUP-1): the set that is named
// is the one that is judged.
func TestByHandTheNamedSetIsRun(t *testing.T) {
	t.Parallel()
	p, home := newPlace(t), t.TempDir()
	mgmt := filepath.Join(home, "retes", "demo", "artifacts", "mgmt")
	payload := config.Config{SchemaVersion: "9.0"}
	for _, err := range []error{
		os.MkdirAll(filepath.Join(mgmt, "sets", "v7"), 0o700),
		os.MkdirAll(filepath.Join(home, "retes", "demo", "identity"), 0o700),
		os.WriteFile(filepath.Join(mgmt, "sets", "v7", "coordinator.json"), signer.Sign("mgmt01", "coordinator", 7, payload), 0o600),
		os.WriteFile(filepath.Join(mgmt, "current"), []byte("v7\n"), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"--rete", "demo", "--set", "v7"}, {"--rete", "demo"}} {
		cmd := p.command(args...)
		cmd.Env = append(cmd.Env, "FLOR_STATE_HOME="+home)
		if code, _, stderr := finish(t, cmd); code != 78 || !strings.Contains(stderr, "schema_version 9.0") {
			t.Errorf("%q: exit %d: %s", args, code, stderr)
		}
	}
	cmd := p.command("--rete", "demo", "--set", "v8")
	cmd.Env = append(cmd.Env, "FLOR_STATE_HOME="+home)
	if code, _, stderr := finish(t, cmd); code == 0 || !strings.Contains(stderr, "v8") {
		t.Errorf("a set that is not there: exit %d: %s", code, stderr)
	}
}
