package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/florete/flor/supervise/control"
)

// patience is how long a test waits for what should happen at once; machines are
// busy at times.
const patience = time.Minute

// station is a flor of its own, with a node of scope demo and its agent, each a
// real process.
type station struct {
	t   testing.TB
	dir string
	lib string
	log *os.File
	// attr is how agents are started.
	attr *syscall.SysProcAttr
	// env are variables beside those of the directories.
	env []string

	agent *exec.Cmd
}

// newStation has the programs of this test's binary.
func newStation(t testing.TB) *station {
	t.Helper()
	flor, err := exec.LookPath("flor")
	if err != nil {
		t.Fatal(err)
	}
	return newStationOf(t, filepath.Dir(flor))
}

// newStationOf has the programs in lib, flor among them.
func newStationOf(t testing.TB, lib string) *station {
	t.Helper()
	dir, err := os.MkdirTemp("", "flk")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	i := &station{t: t, dir: dir, lib: lib}
	if i.log, err = os.Create(dir + "/log"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		i.log.Close()
		if text, err := os.ReadFile(dir + "/log"); err == nil && t.Failed() {
			t.Logf("end of the log:\n%s", text[max(0, len(text)-8<<10):])
		}
	})
	return i
}

// command is a flor command in this install.
func (i *station) command(args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(i.lib, "flor"), args...)
	cmd.Env = append(os.Environ(),
		"FLOR_STATE_HOME="+i.dir+"/state", "FLOR_CONFIG_HOME="+i.dir+"/config", "FLOR_RUNTIME_DIR="+i.dir+"/run", "FLOR_LIB_DIR="+i.lib)
	cmd.Env = append(cmd.Env, i.env...)
	return cmd
}

// flor runs a command to its end.
func (i *station) flor(args ...string) (out string, code int) {
	i.t.Helper()
	var text bytes.Buffer
	cmd := i.command(args...)
	cmd.Stdout, cmd.Stderr = &text, &text
	err := cmd.Run()
	if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended {
		i.t.Fatal(err)
	}
	return text.String(), cmd.ProcessState.ExitCode()
}

func (i *station) enrol(bundle []byte) {
	i.t.Helper()
	if out, code := i.flor("enroll", i.file("node.bundle", bundle), "--no-start"); code != 0 {
		i.t.Fatalf("enroll: exit code %d\n%s", code, out)
	}
}

// file writes a file of this install and gives its path.
func (i *station) file(name string, text []byte) string {
	i.t.Helper()
	path := filepath.Join(i.dir, name)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		i.t.Fatal(err)
	}
	return path
}

func (i *station) start() {
	i.t.Helper()
	i.startWith("agent", "run", "--log-stderr")
}

// startWith runs the agent by another command.
func (i *station) startWith(args ...string) {
	i.t.Helper()
	agent := i.command(args...)
	agent.Stdout, agent.Stderr = i.log, i.log
	agent.SysProcAttr = i.attr
	if err := agent.Start(); err != nil {
		i.t.Fatal(err)
	}
	i.agent = agent
	i.t.Cleanup(func() { i.end(agent) })
}

// end stops an agent that a test has left running, so that its workloads go, too.
func (i *station) end(agent *exec.Cmd) {
	if agent.ProcessState == nil && agent.Process.Signal(syscall.SIGTERM) == nil {
		agent.Wait()
	}
}

func (i *station) stop() {
	i.t.Helper()
	i.agent.Process.Signal(syscall.SIGTERM)
	if err := i.agent.Wait(); err != nil {
		i.t.Errorf("a clean stop: %v", err)
	}
}

func (i *station) client() *control.Client {
	return control.NewClient(filepath.Join(i.dir, "run/demo", agentSocket))
}

// until follows the agent's status until it is as wanted.
func (i *station) until(what string, wanted func(control.StatusDoc) bool) (last control.StatusDoc) {
	i.t.Helper()
	ctx, cancel := context.WithTimeout(i.t.Context(), patience)
	defer cancel()
	for ctx.Err() == nil {
		for doc, err := range i.client().Watch(ctx) {
			if err != nil {
				break
			}
			if last = doc; wanted(doc) {
				return doc
			}
		}
	}
	text, _ := json.MarshalIndent(last, "", " ")
	i.t.Fatalf("not seen: %s; last status: %s", what, text)
	return last
}
