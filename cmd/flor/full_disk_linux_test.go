package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/florete/flor/envelope"
	"github.com/florete/flor/envelope/envelopetest"
	"github.com/florete/flor/supervise/control"
)

const (
	// smallDisk is the size of the disk, of which a node takes some 200 KiB.
	smallDisk = "4m"
	// aloneEnv is set for the process that may mount.
	aloneEnv = "FLOR_TEST_ALONE"
)

// TestAWorkloadThatFillsTheDisk has a workload fill the disk that the agent
// keeps its sets on. What runs goes on, status says what could not be written,
// also to an agent that is started on a full disk, and once there is room again
// the newest set is applied by itself (SET-2, AGT-4, AGT-10).
func TestAWorkloadThatFillsTheDisk(t *testing.T) {
	if on := os.Getenv(aloneEnv); on != "" {
		onSmallDisk(t, on)
		return
	}
	t.Parallel()
	for _, tt := range []struct{ name, on string }{
		{"that has the state directory", "state"},
		{"that has everything, the runtime directory and the log as well", "."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			runAlone(t, "TestAWorkloadThatFillsTheDisk", tt.on)
		})
	}
}

// onSmallDisk has a node with its state, or everything, on a small disk.
func onSmallDisk(t *testing.T, on string) {
	if on == "." {
		mountSmall(t, os.TempDir())
	}
	f := newFilled(t, newStation(t))
	if on == "state" {
		mountSmall(t, filepath.Join(f.dir, on))
	}
	f.run()
}

// runAlone runs a test in a process that has mounts of its own, which end with
// it, and a directory for temporary files.
func runAlone(t *testing.T, test, env string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	temporary, err := os.MkdirTemp("", "fld")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(temporary) })
	cmd := exec.Command(self, "-test.run=^"+test+"$", "-test.v")
	cmd.Env = append(os.Environ(), aloneEnv+"="+env, "TMPDIR="+temporary)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	if os.Getuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
	}
	out, err := cmd.CombinedOutput()
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.ENOSPC) {
		t.Skip("a disk of its own needs root, or a kernel that lets this user have namespaces: ", err)
	}
	if err != nil || !strings.Contains(string(out), "--- PASS: "+test) {
		t.Errorf("%v\n%s", err, out)
	}
}

// mountSmall puts a small disk at dir.
func mountSmall(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "mode=0700,size="+smallDisk); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
}

// filled is a node on a small disk.
type filled struct {
	*station
	rete rete
	from *coordinator
}

func newFilled(t *testing.T, i *station) *filled {
	return &filled{station: i, rete: newRete("demo"), from: newCoordinator(t)}
}

// set has a vertex and a filler.
func (f *filled) set(version uint64, fill bool) [][]byte {
	agent := f.rete.authority.AgentPayload("alpha", envelopetest.Block(f.rete.signer), "flor", "app")
	agent.Workloads[0].Run, agent.Workloads[1].Run = []string{"flor-vertex"}, []string{"filler"}
	agent.Inbounds[0].Via.Addr = f.from.addr
	agent.Sync.PollInterval = "1s"
	return [][]byte{
		f.rete.signer.Sign("alpha", envelope.AgentName, version, agent),
		f.rete.signer.Sign("alpha", "flor", version, f.rete.vertex("1.0")),
		f.rete.signer.Sign("alpha", "app", version, map[string]any{"schema_version": "1.0", "fill": fill}),
	}
}

func (f *filled) publish(version uint64, fill bool) {
	f.from.publish(version, document(f.set(version, fill)))
}

func (f *filled) run() {
	f.enrol(f.rete.bundleOf(f.set(1, false)))
	f.publish(1, false)
	f.start()
	f.until("all well", func(doc control.StatusDoc) bool { return len(doc.Health) == 0 && !doc.LastContact.IsZero() })

	f.publish(2, true)
	f.sees("the mark cannot be moved", 2, 1, "set v2 is active, but its mark cannot be written", "no space left on device")
	f.publish(3, false)
	before := f.sees("the next set cannot be staged", 2, 1, "FL1406 not-staged", "no space left on device")
	f.says(exitCould, "FL1406 not-staged", "agent", "sync")
	f.says(exitCould, "FL1406 not-staged", "agent", "sync", "--from", f.bigFile("v3.json", document(f.set(3, false))))
	after := f.until("what runs", func(control.StatusDoc) bool { return true })
	if diff := cmp.Diff(processes(before), processes(after)); diff != "" {
		f.t.Errorf("a full disk restarted somebody: %s", diff)
	}
	f.noHalfSet()

	f.agent.Process.Kill()
	f.agent.Wait()
	f.start()
	f.sees("a start on a full disk after a kill", 2, 1, "FL1406 not-staged", "no space left on device")
	f.stop()
	room := filepath.Join(f.dir, "state/retes/demo/workloads/app/fill")
	if err := fill(room); !errors.Is(err, syscall.ENOSPC) { // what the agent has given back
		f.t.Fatal(err)
	}
	f.start()
	f.sees("a start on a full disk after a stop", 2, 1, "FL1406 not-staged", "no space left on device")
	f.noHalfSet()

	if err := os.Remove(room); err != nil {
		f.t.Fatal(err)
	}
	f.until("the newest set, once there is room", func(doc control.StatusDoc) bool {
		return doc.Set.Active == 3 && doc.Set.Mark == 3 && len(doc.Health) == 0
	})
	f.stop()
}

// sees waits until the disk is full, all workloads run on the active set, and
// health says each of words.
func (f *filled) sees(what string, active, mark uint64, words ...string) control.StatusDoc {
	f.t.Helper()
	return f.until(what, func(doc control.StatusDoc) bool {
		health := strings.Join(doc.Health, "\n")
		return doc.Agent.PID == f.agent.Process.Pid && doc.Set.Active == active && doc.Set.Mark == mark && !doc.Set.TrustStateLost &&
			len(doc.Workloads) == 2 && !slices.ContainsFunc(doc.Workloads, func(w control.Workload) bool { return w.State != "up" }) &&
			doc.Workloads[1].Ready != nil && slices.Contains(doc.Workloads[1].Ready.Listening, full) &&
			!slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(health, w) })
	})
}

// bigFile is a file on another disk than the full one.
func (f *filled) bigFile(name string, text []byte) string {
	f.t.Helper()
	path := filepath.Join("/dev/shm", filepath.Base(f.dir)+name)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { os.Remove(path) })
	return path
}

// noHalfSet checks that what could not be staged is not there in part.
func (f *filled) noHalfSet() {
	f.t.Helper()
	left, err := filepath.Glob(filepath.Join(f.dir, "state/retes/demo/artifacts/mgmt/sets/v3*/*"))
	if err != nil || len(left) > 0 {
		f.t.Errorf("of v3 there is %v, %v", left, err)
	}
}
